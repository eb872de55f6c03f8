import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Database } from '../storage/database.ts'
import { claimJob } from '../storage/leases.ts'
import { type RunServices, runJob } from './run-job.ts'

/** How often the queue is looked at when nobody wakes the worker: other processes may have queued a job or died with one. */
const POLL_MS = 1000
/** After a failure of the worker itself, such as a full disk. */
const BACK_OFF_MS = 2000
/** A worker that has not gone round its loop or beaten for this long is taken for dead. */
const SILENCE_MS = 30_000

export interface JobWorkerOptions extends RunServices {
  database: Database
  log: Logger
  leaseMs: number
}

/** Runs training jobs, one at a time: claim, run, look again. Several processes on one database share the queue. */
export class JobWorker {
  #options: JobWorkerOptions
  #owner = randomUUID()
  #stop = new AbortController()
  #wake = new AbortController()
  #loop: Promise<void> | null = null
  #lastBeat = Date.now()

  constructor(options: JobWorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Looks at the queue now. */
  wake(): void {
    this.#wake.abort()
  }

  /** Stops before the next training step and gives the job back to the queue. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#wake.abort()
    await this.#loop
  }

  /** Throws when the worker is not running or has been silent. */
  check(): void {
    if (!this.#loop || this.#stop.signal.aborted) throw new Error('The job worker is not running')
    const silent = Date.now() - this.#lastBeat
    if (silent > SILENCE_MS) throw new Error(`The job worker has been silent for ${Math.round(silent / 1000)} s`)
  }

  async #run(): Promise<void> {
    const { database, log, leaseMs } = this.#options
    while (!this.#stop.signal.aborted) {
      this.#lastBeat = Date.now()
      this.#wake = new AbortController()
      try {
        const claimed = await claimJob(database, this.#owner, leaseMs)
        if (claimed) await runJob(this.#options, claimed, this.#stop.signal, () => (this.#lastBeat = Date.now()))
        else await this.#pause(POLL_MS)
      } catch (error) {
        log.error({ error }, 'the job worker failed')
        await this.#pause(BACK_OFF_MS)
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#wake.signal }).catch(() => {})
  }
}
