/** Hooks that change requests before the service gets them, as a service does that ignores, mistakes or forgives something. */

import { operationById } from '../../src/spec/document.ts'
import { validateRequest } from '../../src/spec/validate.ts'
import { isOf, type Json } from './change-replies.ts'
import { type Fault, isReply, type ZooContext, type ZooRequest } from './fault.ts'

type Hook = Required<Pick<Fault, 'onRequest'>>

/** What a probe uses is counted here, where nobody looks. */
const PROBE_PROJECT = 'default/zoo-probe'

/**
 * The change where the request is a good one; what the service refuses with a 422 is refused as before. So ignoring a field is not the same as
 * not judging it.
 */
export function whereGood({ onRequest }: Hook): Hook {
  return {
    async onRequest(request, context) {
      const changed = await onRequest(request, context)
      if (changed === request || isReply(changed)) return changed
      const isProbed = request.method === 'GET' || context.operationId.startsWith('createChatCompletion')
      if (!isProbed) return isValid(request, context) ? changed : request
      const headers: Record<string, string> = request.method === 'GET' ? {} : { 'vendor-project': PROBE_PROJECT }
      const probe = await context.send({ ...request, headers: { ...headers, ...request.headers } })
      return probe.status === 422 ? probe : changed
    },
  }
}

function isValid({ path: url, headers, body }: ZooRequest, { operationId, path }: ZooContext): boolean {
  const query: Record<string, string[]> = {}
  for (const [name, value] of new URLSearchParams(url.split('?')[1])) query[name] = [...(query[name] ?? []), value]
  const flat = Object.fromEntries(Object.entries(query).map(([name, all]) => [name, all.length > 1 ? all : all[0]!]))
  const json = body.length === 0 ? {} : { body: jsonOf({ body }) }
  return validateRequest(operationById(operationId), { path, query: flat, headers, ...json }).ok
}

export function jsonOf(request: Pick<ZooRequest, 'body'>): Json {
  try {
    return JSON.parse(request.body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** `change` alters the JSON object in place; anything else than an object stays. */
export function requestJson(ids: string, change: (body: Json, context: ZooContext) => void): Hook {
  return {
    onRequest(request, context) {
      const body = isOf(ids, context) ? jsonOf(request) : undefined
      if (typeof body !== 'object' || body === null || Array.isArray(body)) return request
      const before = JSON.stringify(body)
      change(body, context)
      const after = JSON.stringify(body)
      return after === before ? request : { ...request, body: Buffer.from(after) }
    },
  }
}

export function requestQuery(ids: string, change: (query: URLSearchParams, context: ZooContext) => void): Hook {
  return {
    onRequest(request, context) {
      const [path, text] = request.path.split('?') as [string, string | undefined]
      if (!isOf(ids, context) || text === undefined) return request
      const query = new URLSearchParams(text)
      change(query, context)
      const changed = query.toString()
      return changed === new URLSearchParams(text).toString()
        ? request
        : { ...request, path: changed === '' ? path : `${path}?${changed}` }
    },
  }
}

export function requestPath(ids: string, change: (path: string) => string): Hook {
  return {
    onRequest: (request, context) => (isOf(ids, context) ? { ...request, path: change(request.path) } : request),
  }
}

/** A header that is undefined afterwards is not sent. */
export function requestHeaders(
  ids: string,
  change: (headers: ZooRequest['headers'], context: ZooContext) => Record<string, string | undefined>,
): Hook {
  return {
    onRequest(request, context) {
      if (!isOf(ids, context)) return request
      const headers = Object.entries({ ...request.headers, ...change(request.headers, context) })
      return { ...request, headers: Object.fromEntries(headers.filter(isGiven)) }
    },
  }
}

function isGiven(entry: [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined
}
