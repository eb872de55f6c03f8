/**
 * The main thread's side of the protocol. The worker starts with the first call, again after a crash (which fails the
 * calls under way and no others), and keeps the process alive only while it has calls.
 */
import { Worker } from 'node:worker_threads'
import { type FromWorker, fromErrorOnWire, type ToWorker } from './worker-protocol.ts'

export interface CallOptions<Part> {
  onPart?: (part: Part) => void
  /** Tells the worker to stop; the call settles when it has. */
  signal?: AbortSignal
  /** A call that takes longer fails with TimeLimitError, and the worker with everything it runs is ended. */
  limitMs?: number
}

export interface WorkerOptions {
  /** What the worker gets as workerData. */
  data?: unknown
  /** Without calls for this long the worker is ended and its memory freed; absent: never. */
  idleMs?: number
}

interface PendingCall {
  onPart: (part: unknown) => void
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

export class TimeLimitError extends Error {
  override name = 'TimeLimitError' as const
}

export class WorkerClient {
  readonly #file: URL
  readonly #options: WorkerOptions
  #worker: Worker | null = null
  #pending = new Map<number, PendingCall>()
  #nextId = 1
  #isClosed = false
  #idleTimer: NodeJS.Timeout | null = null
  /** Counts the workers started: what one has loaded, the next has not. */
  generation = 0

  constructor(file: URL, options: WorkerOptions = {}) {
    this.#file = file
    this.#options = options
  }

  async call<Result, Part = never>(
    method: string,
    argument: unknown,
    options: CallOptions<Part> = {},
  ): Promise<Result> {
    const { onPart, signal, limitMs } = options
    signal?.throwIfAborted()
    const worker = this.#start()
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(id, { onPart: onPart as (part: unknown) => void, resolve, reject })
    this.#updateIdle()
    const post = (message: ToWorker) => worker.postMessage(message)
    const onAbort = () => post({ abort: id })
    signal?.addEventListener('abort', onAbort, { once: true })
    const onLimit = () => this.#end(worker, new TimeLimitError(`${method} took longer than ${limitMs} ms`))
    const timer = limitMs === undefined ? undefined : setTimeout(onLimit, limitMs)
    post({ id, method, argument })
    try {
      return (await promise) as Result
    } catch (error) {
      // the worker's reason has lost its class on the way
      throw signal?.aborted ? signal.reason : error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      this.#pending.delete(id)
      this.#updateIdle()
    }
  }

  /** Ends the worker; calls under way fail, and so do later ones. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    const worker = this.#worker
    if (worker) await this.#end(worker, new Error('The engine was closed'))
  }

  #start(): Worker {
    if (this.#isClosed) throw new Error('The engine is closed')
    if (this.#worker) return this.#worker
    const worker = new Worker(this.#file, { workerData: this.#options.data })
    const name = this.#file.pathname.split('/').at(-1)
    worker.on('message', (messages: FromWorker[]) => {
      if (worker === this.#worker) for (const message of messages) this.#receive(message)
    })
    worker.on('error', (error: Error) =>
      this.#end(worker, new Error(`${name} crashed: ${error.message}`, { cause: error })),
    )
    worker.on('exit', code => this.#end(worker, new Error(`${name} ended with code ${code}`)))
    this.#worker = worker
    this.generation += 1
    return worker
  }

  #receive(message: FromWorker): void {
    const call = this.#pending.get(message.id)
    if (!call) return
    if ('part' in message) call.onPart(message.part)
    else if ('error' in message) call.reject(fromErrorOnWire(message.error))
    else call.resolve(message.result)
  }

  async #end(worker: Worker, error: Error): Promise<void> {
    if (worker !== this.#worker) return
    this.#worker = null
    for (const call of this.#pending.values()) call.reject(error)
    this.#pending.clear()
    await worker.terminate()
  }

  #updateIdle(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    const worker = this.#worker
    if (!worker) return
    if (this.#pending.size > 0) {
      worker.ref()
      return
    }
    worker.unref()
    const { idleMs } = this.#options
    if (idleMs === undefined) return
    this.#idleTimer = setTimeout(() => this.#end(worker, new Error('The worker was idle')), idleMs)
    this.#idleTimer.unref()
  }
}

/** The file of a worker beside the file that names it: source in the repository, compiled in the package. */
export function workerFile(name: string, importer: string): URL {
  return new URL(`./${name}${importer.endsWith('.ts') ? '.ts' : '.js'}`, importer)
}
