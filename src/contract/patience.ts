/** Waits as a deployment asks that has too much to do: `Retry-After` on a 429 or 503. */
import { waitUncharged } from './running-check.ts'

const BUSY_STATUSES = [429, 503]
/** A request is sent at most once more than this. */
const MOST_WAITS = 3
/** What is asked to wait for longer is handed on, in seconds. */
const LONGEST_WAIT_S = 60

/** The first reply that asks for no waiting, or the last one. */
export async function patiently(send: () => Promise<Response>): Promise<Response> {
  for (let waits = 0; ; waits++) {
    const response = await send()
    const seconds = waits < MOST_WAITS ? secondsToWait(response) : null
    if (seconds === null) return response
    await response.body?.cancel()
    await waitUncharged(seconds * 1000)
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3); null for neither, and where it is too long. */
function secondsToWait({ status, headers }: Response): number | null {
  const value = headers.get('retry-after')
  if (!BUSY_STATUSES.includes(status) || value === null) return null
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return seconds <= LONGEST_WAIT_S ? Math.max(0, seconds) : null
}
