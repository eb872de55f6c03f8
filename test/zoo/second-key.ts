/** What faults between teams share: who asks, and asking as somebody else. The second key is of another team. */
import { isOf, type Json } from './change-replies.ts'
import { requestHeaders } from './change-requests.ts'
import type { Fault, ZooContext, ZooReply, ZooRequest } from './fault.ts'
import { remembered } from './held-out-zoo-tools.ts'

/** The team of the first key. */
export const HOME = 'default'

/** What another team asks for is answered as if the caller's own team had asked. */
export function seenByOthers(ids: string): Pick<Fault, 'onRequest'> {
  return requestHeaders(ids, ({ authorization = '' }, { keys }) =>
    isOfKey(authorization, keys.second) ? { authorization: `Bearer ${keys.first}` } : {},
  )
}

export function isOfKey(authorization: string, key: string): boolean {
  return authorization === `Bearer ${key}` || authorization.endsWith(Buffer.from(`api:${key}`).toString('base64'))
}

export function withFirstKey(request: ZooRequest, { keys }: ZooContext): ZooRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${keys.first}` } }
}

export function isBySecond({ headers }: ZooRequest, { keys }: ZooContext): boolean {
  return isOfKey(headers.authorization ?? '', keys.second)
}

/** Changes what the second key is answered, for one operation and status. */
export function toSecond(id: string, status: number, change: (reply: ZooReply) => ZooReply): Pick<Fault, 'onReply'> {
  return {
    onReply: (reply, request, context) =>
      isOf(id, context) && reply.status === status && isBySecond(request, context) ? change(reply) : reply,
  }
}

export function toJson({ body }: ZooReply): Json {
  return JSON.parse(body.toString('utf8'))
}

/** A list that a fault remembers under a name. */
export function listOf<Item>(context: ZooContext, name: string): Item[] {
  const lists = remembered<Item[]>(context, 'lists')
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}
