/**
 * The contract tests: written once, run against this checkout by `npm test` and against any deployment by `npm run contract`.
 * One file runs them all, so that they share one client and the coverage can be judged at the end.
 */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { CoverageReport } from '../../src/contract/coverage.ts'
import { findMissing } from '../../src/contract/coverage.ts'
import { toFindingLines } from '../../src/contract/report.ts'
import type { Operation } from '../../src/spec/document.ts'
import { operations } from '../../src/spec/document.ts'
import { cleanUp, coverage, inProcess, notShown, prepare, target } from './setup.ts'
import './health.contract.ts'
import './router.contract.ts'
import './every-operation.contract.ts'
import './chat.contract.ts'
import './chat-fields.contract.ts'
import './chat-rules.contract.ts'
import './chat-streams.contract.ts'
import './models.contract.ts'
import './artifacts.contract.ts'
import './registries.contract.ts'
import './runs.contract.ts'
import './scorers.contract.ts'
import './training.contract.ts'
import './training-jobs.contract.ts'
import './usage.contract.ts'
import './teams.contract.ts'
import './automations.contract.ts'
import './webhooks.contract.ts'
import './faults.contract.ts'

/** These need a service that is in trouble, which cannot be arranged from outside. */
const NEEDS_FAULTS = [413, 429, 500, 503]

/** Setting up may load a model for the first time. */
const PREPARE_TIMEOUT_MS = 120_000

beforeAll(prepare, PREPARE_TIMEOUT_MS)

afterAll(async () => {
  const left = await cleanUp()
  const report: CoverageReport & { left: string[] } = { counts: coverage.counts, findings: coverage.findings, left }
  const path = inject('contractReport') as string | undefined
  if (path) writeFileSync(path, JSON.stringify(report))
  else expect(left).toEqual([])
}, PREPARE_TIMEOUT_MS)

describe('at the end', () => {
  test('every-operation/keeps-to-the-contract', () => {
    expect(toFindingLines(coverage.findings)).toEqual([])
  })

  test.skipIf(target.isMock)('every-operation/was-exercised-with-every-declared-status', () => {
    const isExcepted = ({ operationId }: Operation, status: number) =>
      (!inProcess && NEEDS_FAULTS.includes(status)) || notShown.has(`${operationId} ${status}`)
    expect(findMissing(operations, coverage, isExcepted)).toEqual([])
  })

  test.runIf(target.isMock)('every-operation/was-exercised', () => {
    const isExcepted = (_: Operation, status: number) => status !== 200
    expect(findMissing(operations, coverage, isExcepted)).toEqual([])
  })
})
