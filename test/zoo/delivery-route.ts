/**
 * Webhook calls take the way through the proxy too: the endpoint URLs that the client gives are replaced by addresses of the proxy, which
 * hands each call on to the receiver, and put back in what the service answers.
 */
import type http from 'node:http'
import type { Fault, ZooContext, ZooReply, ZooRequest } from './fault.ts'

const PREFIX = '/zoo-delivery/'
/** Only receivers on this machine: a test may name other places to see them refused. */
const LOCAL_HOST = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/
const SETTERS = ['createWebhook', 'updateWebhook']
/** Longest time for a receiver's answer, in milliseconds; the service's own limit is the one that counts. */
const RECEIVER_TIMEOUT_MS = 60_000

export interface DeliveryRoute {
  standsAt(origin: string): void
  isFor(request: ZooRequest): boolean
  /** The request with the endpoint URL that it sets, if any, replaced. */
  redirect(request: ZooRequest, operationId: string): ZooRequest
  /** Puts endpoint URLs back in a reply; null where no URL was replaced, or the reply is no JSON. */
  restorer(response: Pick<http.IncomingMessage, 'headers'>): ((reply: ZooReply) => ZooReply) | null
  /** Hands a call on to the receiver and gives what the service is to be answered. */
  deliver(call: ZooRequest, context: ZooContext): Promise<ZooReply>
}

export function createDeliveryRoute(getFault: () => Fault | null): DeliveryRoute {
  const receivers: string[] = []
  let own = ''

  /** The address of the proxy that stands for the origin of a receiver, with the path and query of the URL. */
  function replace(url: string): string {
    const { origin } = new URL(url)
    if (!receivers.includes(origin)) receivers.push(origin)
    return `${own}${PREFIX}${receivers.indexOf(origin)}${url.slice(origin.length)}`
  }

  function isReplaceable(url: unknown): url is string {
    if (typeof url !== 'string' || !URL.canParse(url)) return false
    const { origin, hostname } = new URL(url)
    return LOCAL_HOST.test(hostname) && url.startsWith(`${origin}/`)
  }

  async function call(request: ZooRequest): Promise<ZooReply> {
    const [, index, rest] = /^\/zoo-delivery\/(\d+)(.*)$/.exec(request.path)!
    const headers = without(request.headers, ['host', 'content-length'])
    const response = await fetch(receivers[Number(index)]! + (rest || '/'), {
      method: request.method,
      headers,
      ...(request.body.length > 0 ? { body: new Uint8Array(request.body) } : {}),
      redirect: 'manual',
      signal: AbortSignal.timeout(RECEIVER_TIMEOUT_MS),
    })
    const body = Buffer.from(await response.arrayBuffer())
    // Fetch has undone a content encoding, and what is about the connection is not passed on.
    const kept = without(Object.fromEntries(response.headers), ['content-encoding', 'transfer-encoding', 'connection'])
    return { status: response.status, headers: kept, body }
  }

  return {
    standsAt(origin) {
      own = origin
    },
    isFor: ({ path }) => path.startsWith(PREFIX),
    redirect(request, operationId) {
      if (!SETTERS.includes(operationId)) return request
      const body = parse(request.body)
      if (!isReplaceable(body?.endpoint_url)) return request
      return { ...request, body: Buffer.from(JSON.stringify({ ...body, endpoint_url: replace(body.endpoint_url) })) }
    },
    restorer(response) {
      if (receivers.length === 0 || !String(response.headers['content-type']).includes('json')) return null
      return reply => {
        const text = reply.body.toString('utf8')
        const restored = receivers.reduce(
          (all, origin, index) => all.replaceAll(`${own}${PREFIX}${index}/`, `${origin}/`),
          text,
        )
        return restored === text ? reply : { ...reply, body: Buffer.from(restored) }
      }
    },
    async deliver(received, context) {
      const fault = getFault()
      const calls = fault?.onDelivery ? await fault.onDelivery(received, context) : [received]
      let receipt: ZooReply = { status: 200, headers: {}, body: Buffer.alloc(0) }
      for (const one of calls) receipt = await call(one)
      return fault?.onReceipt ? fault.onReceipt(receipt, received, context) : receipt
    },
  }
}

function without(headers: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

function parse(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
