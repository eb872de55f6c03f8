/** Runs one check and gives the verdict on it, with the exchanges that led there. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Check, type Level, NEEDS, type Need, SkipError } from './check.ts'
import type { Exchange } from './conforming-fetch.ts'

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
  /** The last ones, at most KEPT_EXCHANGES. */
  exchanges: Exchange[]
  requests: number
  milliseconds: number
}

/** Exchanges that a result keeps: the last ones before a failure tell most. */
const KEPT_EXCHANGES = 5

interface Record {
  exchanges: Exchange[]
  requests: number
}

const current = new AsyncLocalStorage<Record>()

/** Attributes an exchange to the check that is running. */
export function recordExchange(exchange: Exchange): void {
  const record = current.getStore()
  if (!record) return
  record.requests++
  record.exchanges.push(exchange)
  if (record.exchanges.length > KEPT_EXCHANGES) record.exchanges.shift()
}

/** Never throws. `isMet` tells whether the deployment and the command line offer what a check needs. */
export async function runCheck(check: Check, isMet: (need: Need) => boolean): Promise<CheckResult> {
  const { id, source, level } = check
  const record: Record = { exchanges: [], requests: 0 }
  const start = performance.now()
  const end = (verdict: Verdict, message: string | null): CheckResult => ({
    id,
    source,
    level,
    verdict,
    message,
    ...record,
    milliseconds: Math.round(performance.now() - start),
  })
  const missing = check.needs.find(need => !isMet(need))
  if (missing) return end('skip', NEEDS[missing])
  let timer: NodeJS.Timeout | undefined
  try {
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`It took longer than ${check.timeoutMs} ms`)), check.timeoutMs)
    })
    await Promise.race([current.run(record, check.run), timeout])
    return end('pass', null)
  } catch (error) {
    if (error instanceof SkipError) return end('skip', error.message)
    return end(level === 'MUST' ? 'fail' : 'warn', error instanceof Error ? error.message : String(error))
  } finally {
    clearTimeout(timer)
  }
}
