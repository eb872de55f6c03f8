/** The checks as tests, against this checkout. `trainyard contract` runs the very same ones against any deployment. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectChecks } from '../../src/contract/check.ts'
import type { CheckResult } from '../../src/contract/run-check.ts'
import { CANNOT_BE_DELETED } from '../../src/contract/run-report.ts'
import { findUnaccounted, readRows } from './database-rows.ts'
import { startInProcess } from './in-process.ts'
import { findDrift } from './known-requests.ts'
import { createRunner } from './run-suite.ts'
import { configure, prepare, takeAllAway, withPrepared } from './setup.ts'

/** Setting up may load a model for the first time. */
const PREPARE_TIMEOUT_MS = 120_000
/** Checks have limits of their own, which say more. */
const MARGIN_MS = 5000

const inProcess = await startInProcess()
const before = await readRows(inProcess.service.database)
configure(inProcess)
const checks = collectChecks()
const run = createRunner(null, true)
const results: CheckResult[] = []

beforeAll(() => prepare(), PREPARE_TIMEOUT_MS)

afterAll(() => inProcess.close(), PREPARE_TIMEOUT_MS)

for (const check of checks) {
  test(check.id, { timeout: check.timeoutMs + MARGIN_MS }, async context => {
    const result = await run(withPrepared(check))
    results.push(result)
    if (result.verdict === 'skip') context.skip(result.message ?? '')
    if (result.verdict !== 'pass') throw new Error(`${result.message}\n[${result.source}]`)
  })
}

test('the numbers of requests that a dry run tells are those that are sent', context => {
  if (results.length < checks.length || results.some(({ verdict }) => verdict === 'fail'))
    context.skip('only known when every check was run and passed')
  expect(findDrift(checks, results)).toEqual([])
})

test(
  'what was made is deleted, and the database is as it was but for what the report tells',
  async () => {
    const left = await takeAllAway()
    expect(left.filter(line => !line.startsWith(CANNOT_BE_DELETED))).toEqual([])
    expect(findUnaccounted(before, await readRows(inProcess.service.database), left)).toEqual([])
  },
  PREPARE_TIMEOUT_MS,
)
