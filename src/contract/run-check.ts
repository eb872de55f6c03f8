/** Runs one check and gives the verdict on it, with the exchanges that led there. */
import { type Check, type Level, NEEDS, type Need, SkipError, WarnError } from './check.ts'
import type { KeptExchange } from './kept-exchange.ts'
import { redact } from './redact.ts'
import { createRecord, type RunningCheck, runRecorded } from './running-check.ts'
import { toProfile } from './severity.ts'
import { withSpecLines } from './spec-line.ts'
import type { Profile } from './target.ts'

/**
 * pass: it holds. fail: it does not, and must. warn: it does not, and should. skip: it could not be judged, for the reason given.
 * disabled: it was left out on purpose (a filter, a profile).
 */
export type Verdict = 'pass' | 'fail' | 'warn' | 'skip' | 'disabled'

export interface CheckResult {
  id: string
  source: string
  level: Level
  verdict: Verdict
  /** What is wrong, or why it was skipped; null for a pass. */
  message: string | null
  /** What an assertion wanted and what it found, as text; null where it was none. */
  expected: string | null
  seen: string | null
  /** Of a check in the file of expected failures: the reason, '' without one. */
  expectedFailure?: string
  /** The last ones; none of a pass. */
  exchanges: KeptExchange[]
  requests: number
  /** It sent something that may change the deployment. */
  writes: boolean
  milliseconds: number
}

/** Never throws. `isMet` tells whether the deployment and the command line offer what a check needs. */
export async function runCheck(
  check: Check,
  isMet: (need: Need) => boolean,
  profile: Profile = 'full',
): Promise<CheckResult> {
  const { id, source } = check
  const { level, disabled } = toProfile(check, profile)
  const record = createRecord()
  const start = performance.now()
  const end = (verdict: Verdict, message: string | null, error?: unknown): CheckResult => ({
    id,
    source,
    level,
    verdict,
    message: message === null ? null : redact(withSpecLines(message)),
    ...toComparison(error),
    exchanges: verdict === 'pass' ? [] : record.exchanges,
    requests: record.requests,
    writes: record.writes,
    milliseconds: Math.round(performance.now() - start),
  })
  if (disabled !== null) return end('disabled', disabled)
  const missing = check.needs.find(need => !isMet(need))
  if (missing) return end('skip', NEEDS[missing])
  const limit = createTimeLimit(check.timeoutMs, record)
  try {
    await Promise.race([runRecorded(record, check.run), limit.reached])
    return record.skip === null ? end('pass', null) : end('skip', record.skip)
  } catch (error) {
    if (record.skip !== null) return end('skip', record.skip)
    if (error instanceof SkipError) return end('skip', error.message)
    const message = error instanceof Error ? error.message : String(error)
    return end(level === 'MUST' && !(error instanceof WarnError) ? 'fail' : 'warn', message, error)
  } finally {
    limit.clear()
  }
}

/** The result of a check that was not run. */
export function toUnrun({ id, source, level }: Check, verdict: 'skip' | 'disabled', message: string): CheckResult {
  return {
    id,
    source,
    level,
    verdict,
    message,
    expected: null,
    seen: null,
    exchanges: [],
    requests: 0,
    writes: false,
    milliseconds: 0,
  }
}

/** Rejects when the time is over; what the suite waits on purpose comes on top. */
function createTimeLimit(milliseconds: number, record: RunningCheck): { reached: Promise<never>; clear(): void } {
  let timer: NodeJS.Timeout
  let granted = milliseconds
  const reached = new Promise<never>((_, reject) => {
    const onTime = () => {
      const more = milliseconds + record.waitedMs - granted
      granted += more
      if (more > 0) timer = setTimeout(onTime, more)
      else reject(new Error(`It took longer than ${milliseconds} ms`))
    }
    timer = setTimeout(onTime, milliseconds)
  })
  return { reached, clear: () => clearTimeout(timer) }
}

/** Of either side of a comparison, in characters. */
const KEPT_COMPARISON = 2000

function toComparison(error: unknown): Pick<CheckResult, 'expected' | 'seen'> {
  if (!(error instanceof Error) || !('expected' in error && 'actual' in error)) return { expected: null, seen: null }
  return { expected: toText(error.expected), seen: toText(error.actual) }
}

function toText(value: unknown): string {
  const redacted = redact(typeof value === 'string' ? value : toJson(value))
  return redacted.length > KEPT_COMPARISON ? `${redacted.slice(0, KEPT_COMPARISON)}…` : redacted
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, null, 1) ?? String(value)
  } catch {
    // A circle, or a number beyond JSON.
    return String(value)
  }
}
