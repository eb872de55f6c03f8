/** The worker's side of the protocol: runs the methods it is given when the main thread calls them. */
import { parentPort } from 'node:worker_threads'
import { type FromWorker, type ToWorker, toErrorOnWire } from './worker-protocol.ts'

export interface CallContext {
  /** Sends a part of the answer. What is sent in one go travels as one message. */
  emit(part: unknown): void
  signal: AbortSignal
}

export type Method = (argument: never, context: CallContext) => unknown

export function serveWorker(methods: Record<string, Method>): void {
  const port = parentPort
  if (!port) throw new Error('serveWorker runs in worker threads only')
  const running = new Map<number, AbortController>()
  let outgoing: FromWorker[] = []
  const send = (message: FromWorker) => {
    outgoing.push(message)
    if (outgoing.length > 1) return
    queueMicrotask(() => {
      port.postMessage(outgoing)
      outgoing = []
    })
  }
  port.on('message', async (message: ToWorker) => {
    if ('abort' in message) {
      running.get(message.abort)?.abort()
      return
    }
    const { id, method, argument } = message
    const controller = new AbortController()
    running.set(id, controller)
    try {
      const run = methods[method]
      const emit = (part: unknown) => send({ id, part })
      send({ id, result: await run(argument as never, { emit, signal: controller.signal }) })
    } catch (error) {
      send({ id, error: toErrorOnWire(error) })
    } finally {
      running.delete(id)
    }
  })
}
