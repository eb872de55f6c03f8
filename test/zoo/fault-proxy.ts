/**
 * A deployment with one fault: an HTTP proxy on a free port of this machine in front of a healthy service. Requests are read whole, event
 * streams pass piece by piece, everything else is passed on as it comes unless the fault wants to see it.
 */
import { createHash, type Hash } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Target } from '../../src/contract/target.ts'
import { createDeliveryRoute } from './delivery-route.ts'
import type { Fault, ZooContext, ZooReply, ZooRequest } from './fault.ts'
import { isReply } from './fault.ts'
import { findOperation } from './find-operation.ts'
import { plainHeaders, readWhole, sendReply, toHead, toZooReply } from './zoo-http.ts'

export interface FaultProxy {
  /** The same deployment, seen through the proxy. */
  target: Target
  /** How often the fault changed something that can be seen in a request, a reply or a stream. */
  changes(): number
  /** How often it had a stream or a webhook call in its hands, whose times it may have changed only. */
  touches(): number
  /** Everything passes unchanged until `resume`. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

/** `memory` is shared where one deployment has several addresses. */
export async function startFaultProxy(
  upstream: Target,
  fault: Fault | null,
  memory: Map<string, unknown> = new Map(),
): Promise<FaultProxy> {
  const origin = new URL(upstream.baseUrl).origin
  const agent = new http.Agent({ keepAlive: true })
  const deliveries = createDeliveryRoute(() => current)
  let current = fault
  let changes = 0
  let touches = 0

  const server = http.createServer((incoming, outgoing) => {
    // Where a hook throws or the service breaks off, the client sees a connection that ends too early.
    answer(incoming, outgoing).catch(() => outgoing.destroy())
  })

  async function answer(incoming: http.IncomingMessage, outgoing: http.ServerResponse): Promise<void> {
    const received: ZooRequest = {
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers: plainHeaders(incoming.headers),
      body: await readWhole(incoming),
    }
    const context: ZooContext = {
      ...findOperation(received.method, received.path),
      keys: { first: upstream.apiKey, second: upstream.secondApiKey ?? '' },
      memory,
      send: async request => {
        changes++
        return toZooReply(await forward(request))
      },
    }
    if (deliveries.isFor(received)) {
      if (current?.onDelivery || current?.onReceipt) touches++
      sendReply(outgoing, await deliveries.deliver(received, context), received.method)
      return
    }
    const changed = current?.onRequest ? await current.onRequest(received, context) : received
    if (changed !== received) changes++
    if (isReply(changed)) {
      sendReply(outgoing, changed, received.method)
      return
    }
    const response = await forward(deliveries.redirect(changed, context.operationId), outgoing)
    await passOn(response, received, context, outgoing)
  }

  async function passOn(
    response: http.IncomingMessage,
    request: ZooRequest,
    context: ZooContext,
    outgoing: http.ServerResponse,
  ): Promise<void> {
    const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
    const restore = deliveries.restorer(response)
    const isSeen = current?.onReply !== undefined || (isStream && current?.onEvents !== undefined) || restore !== null
    if (!isSeen) {
      await stream(response.statusCode ?? 502, plainHeaders(response.headers), response, outgoing)
      return
    }
    const reply = isStream ? toHead(response) : await toZooReply(response)
    const restored = restore ? restore(reply) : reply
    const changed = current?.onReply ? await current.onReply(restored, request, context) : restored
    if (!isSame(changed, restored)) changes++
    if (isStream && changed.body.length === 0) {
      await stream(changed.status, changed.headers, changeEvents(response, request, context), outgoing)
    } else sendReply(outgoing, changed, request.method)
  }

  async function* changeEvents(
    pieces: AsyncIterable<Buffer>,
    request: ZooRequest,
    context: ZooContext,
  ): AsyncIterable<Buffer> {
    if (!current?.onEvents) {
      yield* pieces
      return
    }
    touches++
    const before = createHash('sha256')
    const after = createHash('sha256')
    try {
      for await (const piece of current.onEvents(hashed(pieces, before), request, context)) {
        after.update(piece)
        yield piece
      }
    } finally {
      if (before.digest('hex') !== after.digest('hex')) changes++
    }
  }

  /** Ends the request to the service when the client goes away. */
  function forward(request: ZooRequest, outgoing?: http.ServerResponse): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { host: _, ...headers } = request.headers
      if (request.body.length > 0 || 'content-length' in headers) headers['content-length'] = `${request.body.length}`
      const outbound = http.request(origin + request.path, { method: request.method, headers, agent }, resolve)
      outbound.on('error', reject)
      outgoing?.on('close', () => {
        if (!outgoing.writableFinished) outbound.destroy()
      })
      outbound.end(request.body)
    })
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  deliveries.standsAt(own)
  return {
    target: {
      ...upstream,
      baseUrl: upstream.baseUrl.replace(origin, own),
      inferenceUrl: upstream.inferenceUrl.replace(origin, own),
    },
    changes: () => changes,
    touches: () => touches,
    pause() {
      current = null
    },
    resume() {
      current = fault
    },
    async close() {
      agent.destroy()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function stream(
  status: number,
  headers: ZooReply['headers'],
  pieces: AsyncIterable<Buffer>,
  outgoing: http.ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) outgoing.setHeader(name, value)
  outgoing.writeHead(status)
  outgoing.flushHeaders()
  await pipeline(Readable.from(pieces), outgoing)
}

async function* hashed(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncIterable<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

function isSame(one: ZooReply, other: ZooReply): boolean {
  return (
    one === other ||
    (one.status === other.status &&
      one.body.equals(other.body) &&
      JSON.stringify(one.headers) === JSON.stringify(other.headers))
  )
}
