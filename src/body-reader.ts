import { Worker } from 'node:worker_threads'
import { ApiError } from './errors.ts'
import type { BodyResult } from './spec/validate.ts'
import type { TrajectorySummary } from './training/trajectory-summary.ts'

/** A thread that has had nothing to read for this long ends, and gives its memory back. */
const IDLE_MS = 30_000
/** Bodies nest and repeat: this much heap is enough for the largest body allowed by default. */
const HEAP_MB = 4096

export interface ReadResult {
  /** Of an operation with trajectories, the value lacks `trajectory_groups`: copying it back would block the main thread. */
  result: BodyResult
  summary: TrajectorySummary | null
  /** Of logTrajectories: the trajectory file beside the body, with its size in bytes. */
  trajectories: { file: string; size: number } | null
}

interface Pending {
  operationId: string
  file: string
  resolve(result: ReadResult): void
  reject(error: Error): void
}

/** Parses and validates spooled bodies one after the other in a worker thread, which starts at the first one. */
export class BodyReader {
  #worker: Worker | null = null
  #queue: Pending[] = []
  #idle: NodeJS.Timeout | null = null

  read(operationId: string, file: string): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ operationId, file, resolve, reject })
      if (this.#queue.length === 1) this.#next()
    })
  }

  async close(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle)
    // Let go of first: whatever comes while it ends gets a worker of its own.
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #next(): void {
    if (this.#idle) clearTimeout(this.#idle)
    const pending = this.#queue[0]
    if (!pending) {
      this.#idle = setTimeout(() => this.close(), IDLE_MS).unref()
      return
    }
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#worker.postMessage({ operationId: pending.operationId, file: pending.file })
  }

  #start(): Worker {
    const script = import.meta.url.endsWith('.ts') ? './body-reader-worker.ts' : './body-reader-worker.js'
    const worker = new Worker(new URL(script, import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
    worker.on('message', (message: ReadResult | { failure: string }) => {
      this.#settle(pending =>
        'failure' in message ? pending.reject(new Error(message.failure)) : pending.resolve(message),
      )
    })
    worker.on('error', error => {
      this.#worker = null
      const outOfMemory = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#settle(pending =>
        pending.reject(
          outOfMemory ? new ApiError(413, 'payload_too_large', 'The body is too large to be read') : (error as Error),
        ),
      )
    })
    return worker
  }

  #settle(act: (pending: Pending) => void): void {
    const pending = this.#queue.shift()
    if (pending) act(pending)
    this.#worker?.unref()
    this.#next()
  }
}
