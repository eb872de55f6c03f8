/** How many requests each check sends, as far as it was measured. */
import type { Check } from '../../src/contract/check.ts'
import { isPolling, type RequestCount } from '../../src/contract/dry-run.ts'
import type { CheckResult } from '../../src/contract/run-check.ts'
import { READING, WRITING } from './request-counts.ts'

/** Undefined for a check that was not measured. */
export function countOf(id: string): RequestCount | undefined {
  const requests = READING[id] ?? WRITING[id]
  return requests === undefined ? undefined : { requests, writes: id in WRITING }
}

/**
 * Answers that differ are asked for once more, and two that straddle a second of the clock differ; a list that changed meanwhile is read
 * again. On a busy machine that happens often.
 */
const MOST_REPEATS = 2

const isNear = (requests: number, known: number) => requests >= known && requests <= MOST_REPEATS * (known + 1)

/** Checks whose numbers are not those that are written down; of those that ask until something has happened, only those not there. */
export function findDrift(checks: readonly Check[], results: readonly CheckResult[]): string[] {
  const polling = new Set(checks.filter(isPolling).map(({ id }) => id))
  const declared = new Map(checks.map(check => [check.id, check.requests]))
  const drifted = results.filter(({ id, verdict, requests, writes }) => {
    const known = countOf(id)
    const said = declared.get(id)
    if (verdict === 'skip' || verdict === 'disabled') return false
    if (said !== undefined && said !== null && !isNear(requests, said)) return true
    return !known || known.writes !== writes || (!isNear(requests, known.requests) && !polling.has(id))
  })
  const gone = [...Object.keys(READING), ...Object.keys(WRITING)].filter(id => !checks.some(check => check.id === id))
  return [...drifted.map(({ id, requests }) => `${id} sends ${requests}`), ...gone.map(id => `${id} is no more`)]
}
