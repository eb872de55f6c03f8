/** What a run would do, in words: each check with its level, its source, what it needs, and how many requests it sends. */
import type { Check, Need } from './check.ts'
import { NEEDS } from './check.ts'
import { toProfile } from './severity.ts'
import { toSpecLine } from './spec-line.ts'
import type { Target } from './target.ts'

export interface RequestCount {
  requests: number
  /** Some of them may change the deployment. */
  writes: boolean
}

/** Measured on our own service; undefined for what was not measured. */
export type CountOf = (checkId: string) => RequestCount | undefined

/** These ask again and again until something has happened. */
const POLLING: readonly Need[] = ['training', 'job', 'retries', 'receiver']
/** Reaching, preparing and cleaning up. */
const REQUESTS_AROUND = 9

export function isPolling({ needs }: Check): boolean {
  return needs.some(need => POLLING.includes(need))
}

/** A check that writes only where what it is about was not given. */
export function makesWhatIsGiven(needs: readonly Need[]): boolean {
  return needs.includes('job')
}

/** One line for each check that would run, then the sums. */
export function describeRun(
  checks: readonly Check[],
  { countOf, isMet, target }: { countOf: CountOf; isMet(need: Need): boolean; target: Target },
): string {
  const lines: string[] = []
  const skipped = new Map<string, number>()
  let total = 0
  let unknown = 0
  for (const check of checks) {
    const reason = whyNot(check, { countOf, isMet, target })
    if (reason !== null) {
      skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
      continue
    }
    const requests = check.requests ?? countOf(check.id)?.requests
    total += requests ?? 0
    if (requests === undefined) unknown++
    lines.push(toLine(check, requests, target))
  }
  const around = lines.length > 0 ? REQUESTS_AROUND + Math.round(total * CLEANING_SHARE) : 0
  const checksText = `${lines.length} ${lines.length === 1 ? 'check' : 'checks'}`
  return [
    ...lines,
    ...[...skipped].map(([reason, times]) => `${times} skipped: ${reason}`),
    `${checksText}, about ${total} requests, and about ${around} to prepare and clean up`,
    ...(unknown > 0 ? [`Of ${unknown} of them the number of requests is not known`] : []),
  ].join('\n')
}

/** Of the requests of the checks, those that clean up after them: one for each thing that they make. */
const CLEANING_SHARE = 0.02

function whyNot(
  check: Check,
  { countOf, isMet, target }: { countOf: CountOf; isMet(need: Need): boolean; target: Target },
): string | null {
  const { disabled } = toProfile(check, target.profile)
  if (disabled !== null) return disabled
  if (target.isReadOnly && countOf(check.id)?.writes && !makesWhatIsGiven(check.needs)) return NEEDS.writes
  const missing = check.needs.find(need => !isMet(need))
  return missing ? NEEDS[missing] : null
}

function toLine(check: Check, requests: number | undefined, target: Target): string {
  const { id, source, needs } = check
  const isAbout = check.requests === null && (target.isMock || isPolling(check))
  const number = requests === undefined ? 'unknown' : `${isAbout ? 'about ' : ''}${requests}`
  return [
    toProfile(check, target.profile).level.padEnd(6),
    `${number} ${requests === 1 ? 'request' : 'requests'}`.padEnd(18),
    id,
    `[${toSpecLine(source)}]`,
    ...(needs.length > 0 ? [`needs ${[...new Set(needs)].join(', ')}`] : []),
  ].join('  ')
}
