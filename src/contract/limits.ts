/** What a run may send, and how fast. Every request of the checks passes here. */
import { NEEDS } from './check.ts'
import { countingFetch, isSafe, skipRunning, waitUncharged } from './running-check.ts'

export interface LimitOptions {
  /** Between the beginnings of two requests, in milliseconds. */
  delayMs: number
  /** Null: as many as the checks need. */
  maxRequests: number | null
  /** Only methods that change nothing. */
  isReadOnly: boolean
  /** Requests that count although they were sent before. */
  sentBefore: number
}

export const NO_LIMITS: LimitOptions = { delayMs: 0, maxRequests: null, isReadOnly: false, sentBefore: 0 }

export interface Limits {
  /** Ends the check that is running with a reason (SkipError) instead of sending what may not be sent. */
  fetch: typeof fetch
  /** Requests sent so far. */
  sent(): number
  /** From now on nothing is sent, for the reason given. */
  stop(reason: string): void
  /** Why nothing more is sent; null: it is. */
  stopped(): string | null
  /** From now on cleaning up is all that is sent, which only the delay holds back. */
  lift(): void
}

export function createLimits({ delayMs, maxRequests, isReadOnly, sentBefore }: LimitOptions): Limits {
  let sent = sentBefore
  let next = 0
  let stopped: string | null = null
  let isLifted = false

  function refuse(method: string): void {
    if (isLifted) return
    if (maxRequests !== null && sent >= maxRequests)
      stopped ??= `the limit of ${maxRequests} requests was reached (--max-requests)`
    if (stopped !== null) skipRunning(stopped)
    if (isReadOnly && !isSafe(method)) skipRunning(NEEDS.writes)
  }

  /** Hands out one moment after the other. */
  async function takeTurn(): Promise<void> {
    if (delayMs === 0) return
    const now = performance.now()
    const turn = Math.max(now, next)
    next = turn + delayMs
    if (turn > now) await waitUncharged(turn - now)
  }

  return {
    async fetch(input, init) {
      refuse(init?.method ?? 'GET')
      await takeTurn()
      refuse(init?.method ?? 'GET')
      sent++
      return countingFetch(input, init)
    },
    sent: () => sent,
    stop(reason) {
      stopped ??= reason
    },
    stopped: () => stopped,
    lift() {
      isLifted = true
    },
  }
}
