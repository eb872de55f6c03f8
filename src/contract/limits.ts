/** What a run may send, and how fast. Every request of the checks passes here. */
import { AsyncLocalStorage } from 'node:async_hooks'
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
  /**
   * Runs what cleans up, which only the delay holds back. From now on nothing else is sent: a check that ran out of time, or was left
   * behind when the run was stopped, may still be going on. Begins when the requests that were sent have their replies.
   */
  clean<Result>(run: () => Promise<Result>): Promise<Result>
}

/** For requests that were sent before cleaning up begins. */
const LONGEST_WAIT_MS = 10_000

/** True within what cleans up. */
const cleaning = new AsyncLocalStorage<true>()

export function createLimits({ delayMs, maxRequests, isReadOnly, sentBefore }: LimitOptions): Limits {
  let sent = sentBefore
  let next = 0
  let stopped: string | null = null
  let isOver = false
  const open = new Set<Promise<unknown>>()

  function refuse(method: string): void {
    if (cleaning.getStore()) return
    if (isOver) skipRunning('the run is over')
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
      const reply = countingFetch(input, init)
      open.add(reply)
      return reply.finally(() => open.delete(reply))
    },
    sent: () => sent,
    stop(reason) {
      stopped ??= reason
    },
    stopped: () => stopped,
    async clean(run) {
      isOver = true
      const late = new Promise(resolve => setTimeout(resolve, LONGEST_WAIT_MS).unref())
      await Promise.race([Promise.allSettled(open), late])
      return cleaning.run(true, run)
    },
  }
}
