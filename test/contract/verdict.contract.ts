/** What is known at the end, when every operation was exercised by all the others. */
import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import { findMissing } from '../../src/contract/coverage.ts'
import { toFindingLines } from '../../src/contract/report.ts'
import type { Operation } from '../../src/spec/document.ts'
import { operations } from '../../src/spec/document.ts'
import { coverage, inProcess, target } from './setup.ts'

/** These need a service that is in trouble, which cannot be arranged from outside. */
const NEEDS_FAULTS = [413, 429, 500, 503]

section('At the end', { last: true }, () => {
  for (const { operationId, pointer } of operations) {
    check(`${operationId}/keeps-to-the-contract`, { source: `${pointer}/responses` }, () => {
      if (!coverage.counts[operationId]) throw new SkipError('nothing called it')
      const findings = coverage.findings.filter(finding => finding.check.startsWith(`${operationId}/`))
      expect(findings.length, toFindingLines(findings).join('\n')).toBe(0)
    })
  }

  check('unknown-path/keeps-to-the-contract', { source: '/info/description#Errors' }, () => {
    const known = new Set(operations.map(({ operationId }) => operationId))
    const findings = coverage.findings.filter(({ check }) => !known.has(check.slice(0, check.lastIndexOf('/'))))
    expect(findings.length, toFindingLines(findings).join('\n')).toBe(0)
  })

  check('every-operation/was-exercised-with-every-declared-status', { needs: ['inside'], source: '/paths' }, () => {
    expect(findMissing(operations, coverage, () => false)).toEqual([])
  })

  check('every-operation/was-exercised', { needs: ['everything'], source: '/paths' }, () => {
    const isExcepted = (_: Operation, status: number) =>
      target.isMock ? status !== 200 : !inProcess && NEEDS_FAULTS.includes(status)
    expect(findMissing(operations, coverage, isExcepted)).toEqual([])
  })
})
