/** Hooks that change replies: each gives the part of a fault that does it. */
import type { Fault, ZooContext, ZooReply } from './fault.ts'
import { changeJson } from './fault.ts'

/** A JSON object whose members nobody looks at before changing them. */
// biome-ignore lint/suspicious/noExplicitAny: replies of every operation, broken on purpose
export type Json = any

type Hook = Required<Pick<Fault, 'onReply'>>

/** `ids`: operations, or '*' for whatever is asked. */
export function isOf(ids: string, { operationId }: ZooContext): boolean {
  return ids === '*' || ids.split(' ').includes(operationId)
}

/** `change` may alter the body in place, or give another one. */
export function replyJson(
  ids: string,
  change: (body: Json, context: ZooContext) => unknown,
  statuses: readonly number[] = [200],
): Hook {
  return {
    onReply: (reply, _, context) =>
      isOf(ids, context) && statuses.includes(reply.status)
        ? changeJson<Json>(reply, body => change(body, context) ?? body)
        : reply,
  }
}

/** Changes each item of a list, or the only thing that comes. */
export function replyItems(ids: string, change: (item: Json) => unknown): Hook {
  return replyJson(ids, body => {
    if (!Array.isArray(body.data)) return change(body) ?? body
    body.data = body.data.map((item: Json) => change(item) ?? item)
    return body
  })
}

export function replyText(ids: string, change: (text: string) => string, statuses: readonly number[] = [200]): Hook {
  return {
    onReply: (reply, _, context) =>
      isOf(ids, context) && statuses.includes(reply.status) && reply.body.length > 0
        ? { ...reply, body: Buffer.from(change(reply.body.toString('utf8'))) }
        : reply,
  }
}

export function replyStatus(ids: string, from: number, to: number): Hook {
  return {
    onReply: (reply, _, context) => (isOf(ids, context) && reply.status === from ? { ...reply, status: to } : reply),
  }
}

export function replyHeaders(
  ids: string,
  change: (headers: ZooReply['headers'], status: number) => ZooReply['headers'],
): Hook {
  return {
    onReply: (reply, _, context) =>
      isOf(ids, context) ? { ...reply, headers: { ...reply.headers, ...change(reply.headers, reply.status) } } : reply,
  }
}

/** An answer in the form of an error, as the service itself would give it. */
export function toError(status: number, message: string, more: Json = {}): ZooReply {
  const type = status === 404 ? 'not_found_error' : status === 401 ? 'authentication_error' : 'invalid_request_error'
  const detail = status === 422 ? [{ loc: ['body'], msg: message, type: 'value_error' }] : message
  return toJsonReply(status, { detail, error: { message, type, param: null, code: null, ...more } })
}

export function toJsonReply(status: number, body: unknown): ZooReply {
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': '01990c5e-0000-7000-8000-00000000000f' },
    body: Buffer.from(JSON.stringify(body)),
  }
}
