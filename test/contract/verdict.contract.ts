/** What is known at the end, when every operation was exercised by all the others. */
import { expect } from 'vitest'
import { check, SkipError, section, WarnError } from '../../src/contract/check.ts'
import { type Finding, findMissing } from '../../src/contract/coverage.ts'
import { toFindingLines } from '../../src/contract/report/finding-lines.ts'
import type { Operation } from '../../src/spec/document.ts'
import { operations } from '../../src/spec/document.ts'
import { coverage, inProcess, notShown, target } from './setup.ts'

/** These need a service that is in trouble, which cannot be arranged from outside. */
const NEEDS_FAULTS = [413, 429, 500, 503]

/** Findings that bind the deployment fail, and others warn. */
function judge(findings: Finding[]): void {
  const lines = toFindingLines(findings.toSorted((a, b) => a.severity.localeCompare(b.severity))).join('\n')
  if (findings.some(({ severity }) => severity === 'fail')) throw new Error(lines)
  if (findings.length > 0) throw new WarnError(lines)
}

section('At the end', { last: true, home: false }, () => {
  for (const { operationId, pointer } of operations) {
    check(`${operationId}/keeps-to-the-contract`, { source: `${pointer}/responses` }, () => {
      if (!coverage.counts[operationId]) throw new SkipError('nothing called it')
      judge(coverage.findings.filter(finding => finding.check.startsWith(`${operationId}/`)))
    })
  }

  check('unknown-path/keeps-to-the-contract', { source: '/info/description#Errors' }, () => {
    const known = new Set(operations.map(({ operationId }) => operationId))
    judge(coverage.findings.filter(({ check }) => !known.has(check.slice(0, check.lastIndexOf('/')))))
  })

  check('every-operation/was-exercised-with-every-declared-status', { needs: ['inside'], source: '/paths' }, () => {
    expect(findMissing(operations, coverage, () => false)).toEqual([])
  })

  check('every-operation/was-exercised', { needs: ['everything'], source: '/paths' }, () => {
    const isExcepted = ({ operationId, origin }: Operation, status: number) => {
      if (target.profile === 'interface') return origin !== 'interface' || coverage.counts[operationId] !== undefined
      if (notShown.has(`${operationId} ${status}`)) return true
      return target.isMock ? status !== 200 : !inProcess && NEEDS_FAULTS.includes(status)
    }
    expect(findMissing(operations, coverage, isExcepted)).toEqual([])
  })
})
