/** A few processes that hunt faults, each for itself. */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { HuntReply, HuntRequest } from './zoo-worker.ts'

/** Longer than any run takes that comes to an end, in milliseconds. */
const HUNT_LIMIT_MS = 600_000
/** What the suite opens within the service stays open, so a process is not kept for ever. */
const HUNTS_OF_A_WORKER = 25

/** What became of one request; a text where the run itself came to nothing. */
export type Outcome = HuntReply | string

/** Hunts in order, `size` at a time. `onEnd` is told each outcome as it comes. */
export async function huntAll(
  requests: readonly HuntRequest[],
  size: number,
  onEnd: (request: HuntRequest, outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let next = 0

  async function work(): Promise<void> {
    let worker: ChildProcess | null = null
    let hunts = 0
    while (next < requests.length) {
      const place = next++
      worker ??= fork(join(import.meta.dirname, 'zoo-worker.ts'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      const outcome = await ask(worker, requests[place]!)
      outcomes[place] = outcome
      onEnd(requests[place]!, outcome)
      // What did not end goes on in its process, and would be in the way of the next one.
      if (typeof outcome === 'string' || outcome.isStuck) {
        worker.kill('SIGKILL')
        worker = null
      } else if (++hunts % HUNTS_OF_A_WORKER === 0) {
        worker.disconnect()
        worker = null
      }
    }
    worker?.disconnect()
  }

  await Promise.all(Array.from({ length: size }, work))
  return outcomes
}

function ask(worker: ChildProcess, request: HuntRequest): Promise<Outcome> {
  return new Promise(resolve => {
    const timer = setTimeout(() => end('the run did not end'), HUNT_LIMIT_MS)
    const onExit = (code: number | null) => end(`the process ended with code ${code}`)
    const onMessage = (message: unknown) => {
      const { reply, error } = message as { reply?: HuntReply; error?: string }
      end(reply ?? error ?? 'no answer')
    }
    function end(outcome: Outcome): void {
      clearTimeout(timer)
      worker.off('exit', onExit)
      worker.off('message', onMessage)
      resolve(outcome)
    }
    worker.on('exit', onExit)
    worker.on('message', onMessage)
    worker.send(request)
  })
}
