/**
 * The checks as tests: against this checkout in `npm test`, against any deployment in `trainyard contract`. One file runs them all, so
 * that they share one client and what they led to can be judged at the end.
 */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { collectChecks, type Need } from '../../src/contract/check.ts'
import type { CoverageReport } from '../../src/contract/coverage.ts'
import { type CheckResult, runCheck } from '../../src/contract/run-check.ts'
import type { Target } from '../../src/contract/target.ts'
import { cleanUp, configure, coverage, inProcess, prepare, target } from './setup.ts'
import './contract-files.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Absent in `npm test`, which runs the service itself. */
    contractTarget: Target
    /** File that gets the results as JSON. */
    contractReport: string
  }
}

/** Setting up may load a model for the first time. */
const PREPARE_TIMEOUT_MS = 120_000
/** Checks have limits of their own, which say more. */
const MARGIN_MS = 5000

const given = inject('contractTarget') as Target | undefined
configure(given ?? (await (await import('./in-process.ts')).startInProcess()))

const isMet: Record<Need, boolean> = {
  memory: !target.isMock,
  'second-key': target.secondApiKey !== null,
  training: true,
  retries: true,
  receiver: true,
  'team-admin': true,
  inside: inProcess !== null,
  writes: true,
  everything: true,
}

const results: CheckResult[] = []

beforeAll(prepare, PREPARE_TIMEOUT_MS)

afterAll(async () => {
  const left = await cleanUp()
  const report: CoverageReport & { results: CheckResult[]; left: string[] } = {
    results,
    counts: coverage.counts,
    findings: coverage.findings,
    left,
  }
  const path = inject('contractReport') as string | undefined
  if (path) writeFileSync(path, JSON.stringify(report))
  else expect(left).toEqual([])
}, PREPARE_TIMEOUT_MS)

for (const check of collectChecks()) {
  test(check.id, { timeout: check.timeoutMs + MARGIN_MS }, async context => {
    const result = await runCheck(check, need => isMet[need])
    results.push(result)
    if (result.verdict === 'skip') context.skip(result.message ?? '')
    if (result.verdict === 'fail') throw new Error(`${result.message}\n[${result.source}]`)
  })
}
