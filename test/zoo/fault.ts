/**
 * A deployment that is broken in one way: our own service behind a proxy that changes what passes through it. A fault says what it breaks,
 * and changes requests before the service gets them, replies before the client gets them, or webhook calls before the receiver gets them.
 * A hook that throws cuts the connection where it is.
 */
import type { Need } from '../../src/contract/check.ts'

export interface ZooRequest {
  method: string
  /** With the query and whatever prefix the service stands under; decoded nowhere. `context` knows the operation. */
  path: string
  /** Names in lower case. */
  headers: Record<string, string>
  /** As it came; multipart bodies too. */
  body: Buffer
}

export interface ZooReply {
  status: number
  /** Names in lower case. A value of undefined is not sent; `content-length` is set anew where a body changed. */
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** What a fault may do besides. */
export interface ZooContext {
  /** Operation that the request belongs to, '' for none. */
  operationId: string
  /** Path parameters by name, decoded. */
  path: Record<string, string>
  /** API keys that the healthy service takes: of the caller's team, and of another one. */
  keys: { first: string; second: string }
  /** Starts empty for each deployment: a fault may remember here what it has seen. */
  memory: Map<string, unknown>
  /** Sends a request of the fault's own to the healthy service, with the headers given. */
  send(request: ZooRequest): Promise<ZooReply>
}

export interface Fault {
  /** In kebab-case; unique in its zoo. */
  name: string
  /**
   * What has to be switched on for the fault to show: `training` runs real jobs, `retries` waits, `inside` puts our own service in trouble.
   * What is not named stays off while the fault is hunted first; only where nothing found it, everything is run.
   */
  needs?: readonly Need[]
  /** Operations without which the fault means nothing; it is left out while the contract lacks one of them. */
  operations?: readonly string[]
  /** Where the broken rule stands: an operationId and a part of it, a schema, or a section of the interface. */
  rule: string
  /** One sentence: how this deployment differs from a healthy one. */
  breaks: string
  /** The request as the service gets it; a reply instead answers without it. */
  onRequest?(request: ZooRequest, context: ZooContext): ZooRequest | ZooReply | Promise<ZooRequest | ZooReply>
  /**
   * The reply as the client gets it. Of an event stream it is only the head, with an empty body: where the body stays empty the stream
   * follows, through `onEvents`.
   */
  onReply?(reply: ZooReply, request: ZooRequest, context: ZooContext): ZooReply | Promise<ZooReply>
  /** A stream of server-sent events, piece by piece as it comes: gives the pieces that the client gets. */
  onEvents?(pieces: AsyncIterable<Buffer>, request: ZooRequest, context: ZooContext): AsyncIterable<Buffer>
  /** A webhook call as the receiver gets it, once for each call given; none is a call that never comes. */
  onDelivery?(delivery: ZooRequest, context: ZooContext): ZooRequest[] | Promise<ZooRequest[]>
  /** What the receiver answered to a webhook call, as the service gets it. A fault may fetch an address of the answer by itself. */
  onReceipt?(receipt: ZooReply, delivery: ZooRequest, context: ZooContext): ZooReply | Promise<ZooReply>
}

/** Whether a fault's `onRequest` answered by itself. */
export function isReply(value: ZooRequest | ZooReply): value is ZooReply {
  return 'status' in value
}

/** The reply with its JSON body changed; a body that is no JSON stays. */
export function changeJson<Value>(reply: ZooReply, change: (value: Value) => unknown): ZooReply {
  let value: Value
  try {
    value = JSON.parse(reply.body.toString('utf8')) as Value
  } catch {
    return reply
  }
  return { ...reply, body: Buffer.from(JSON.stringify(change(value))) }
}
