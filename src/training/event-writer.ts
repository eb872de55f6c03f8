import type { Database, Queries } from '../storage/database.ts'
import { type Lease, underLease } from '../storage/leases.ts'
import { countEvents, insertEvent } from '../storage/training-jobs.ts'
import type { TrainProgress } from './engine.ts'

export interface EventWriterOptions {
  database: Database
  lease: Lease
  /** Runs in the transaction that writes the event of an optimiser step. */
  onStep(queries: Queries, data: Record<string, number>): Promise<void>
}

/**
 * Writes progress as events, in order, while the engine goes on; a failed write shows at `drain`. What an earlier attempt of the job
 * wrote, the events of the same numbers, is not written again.
 */
export class EventWriter {
  #options: EventWriterOptions
  #written: number
  #next = 0
  #tail: Promise<void> = Promise.resolve()
  /** Names of all metrics that came with steps, of those that are skipped too. */
  readonly metricNames = new Set<string>()

  private constructor(options: EventWriterOptions, written: number) {
    this.#options = options
    this.#written = written
  }

  static async open(options: EventWriterOptions): Promise<EventWriter> {
    return new EventWriter(options, await countEvents(options.database, options.lease.jobId))
  }

  push(progress: TrainProgress): void {
    const number = this.#next++
    const isStep = progress.type === 'step'
    if (isStep) for (const name of Object.keys(progress.data)) this.metricNames.add(name)
    if (number < this.#written) return
    const { database, lease, onStep } = this.#options
    this.#tail = this.#tail.then(() =>
      underLease(database, lease, async queries => {
        const type = isStep ? 'gradient_step' : 'training_started'
        await insertEvent(queries, lease.jobId, number, type, progress.data)
        if (isStep) await onStep(queries, progress.data)
      }),
    )
    this.#tail.catch(() => {})
  }

  async drain(): Promise<void> {
    await this.#tail
  }
}
