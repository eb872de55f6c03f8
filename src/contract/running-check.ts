/** What belongs to the check that is running, however deep within it one stands, and also where checks run side by side. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { SkipError } from './check.ts'
import type { Exchange } from './conforming-fetch.ts'
import { type KeptExchange, toKeptExchange } from './kept-exchange.ts'

/** Exchanges that a result keeps: the last ones before a failure tell most. */
const KEPT_EXCHANGES = 5

export interface RunningCheck {
  exchanges: KeptExchange[]
  requests: number
  /** It sent something that may change the deployment. */
  writes: boolean
  /** Why it cannot be judged, whatever it made of that. */
  skip: string | null
  /** Time that the suite let pass on purpose, which the check is not charged for, in milliseconds. */
  waitedMs: number
}

const current = new AsyncLocalStorage<RunningCheck>()

/** Runs it with a record of its own, which fills meanwhile. */
export function runRecorded<Result>(record: RunningCheck, run: () => Result): Result {
  return current.run(record, run)
}

export function createRecord(): RunningCheck {
  return { exchanges: [], requests: 0, writes: false, skip: null, waitedMs: 0 }
}

/** Attributes an exchange to the check that is running. */
export function recordExchange(exchange: Exchange): void {
  const record = current.getStore()
  if (!record) return
  record.exchanges.push(toKeptExchange(exchange))
  if (record.exchanges.length > KEPT_EXCHANGES) record.exchanges.shift()
}

/** fetch, which counts for the check that is running. */
export const countingFetch: typeof fetch = (input, init) => {
  const record = current.getStore()
  if (record) {
    record.requests++
    record.writes ||= !isSafe(init?.method ?? 'GET')
  }
  return fetch(input, init)
}

/** False while a run prepares and cleans up. */
export function isCheckRunning(): boolean {
  return current.getStore() !== undefined
}

/** Methods that change nothing (RFC 9110, 9.2.1). */
export function isSafe(method: string): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method.toUpperCase())
}

/** Ends the check that is running without a verdict. Always throws. */
export function skipRunning(reason: string): never {
  const record = current.getStore()
  if (record) record.skip ??= reason
  throw new SkipError(reason)
}

/** Waits, at no cost for the check that is running. */
export async function waitUncharged(milliseconds: number): Promise<void> {
  const record = current.getStore()
  if (record) record.waitedMs += milliseconds
  await new Promise(resolve => setTimeout(resolve, milliseconds))
}
