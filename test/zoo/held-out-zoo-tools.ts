/** What the held-out faults share: reading and changing bodies, queries, lists and streams. */
import { randomUUID } from 'node:crypto'
import { changeJson, type Fault, type ZooContext, type ZooReply, type ZooRequest } from './fault.ts'

export type Json = Record<string, unknown>

export const chatOperations = ['createChatCompletion', 'createChatCompletionSlash']

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects in a value that should be a list of them. */
export function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The JSON object in a body, or an empty one where there is none. */
export function bodyOf(message: { body: Buffer }): Json {
  try {
    const value: unknown = JSON.parse(message.body.toString('utf8'))
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

export function withBody(request: ZooRequest, value: unknown): ZooRequest {
  const body = Buffer.from(JSON.stringify(value))
  const { 'transfer-encoding': _, ...headers } = request.headers
  return { ...request, headers: { ...headers, 'content-length': String(body.length) }, body }
}

/** The request without its body's keys of the names given. */
export function withoutKeys(body: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))
}

type BodyChange = (body: Json, request: ZooRequest, context: ZooContext) => Json | undefined

/** A request hook that changes JSON bodies of some operations; undefined leaves the bytes as they came. */
export function onBody(operations: readonly string[], change: BodyChange): Fault['onRequest'] {
  return (request, context) => {
    if (!operations.includes(context.operationId)) return request
    const changed = change(bodyOf(request), request, context)
    return changed ? withBody(request, changed) : request
  }
}

type ReplyChange = (value: Json, request: ZooRequest, context: ZooContext) => unknown

/** A reply hook that changes the JSON of successes of some operations; every operation when none is given. */
export function onSuccess(operations: readonly string[], change: ReplyChange): Fault['onReply'] {
  return (reply, request, context) => {
    if (reply.status !== 200) return reply
    if (operations.length > 0 && !operations.includes(context.operationId)) return reply
    return changeJson<unknown>(reply, value => (isObject(value) ? change(value, request, context) : value))
  }
}

/** A reply hook that changes things wherever they are shown, alone or in a list. */
export function onThings(
  operations: readonly string[],
  change: (thing: Json, context: ZooContext) => Json,
): Fault['onReply'] {
  return onSuccess(operations, (value, _, context) =>
    isList(value)
      ? withItems(
          value,
          objectsOf(value['data']).map(thing => change(thing, context)),
        )
      : change(value, context),
  )
}

const types: Record<number, string> = { 401: 'authentication_error', 403: 'permission_error', 404: 'not_found_error' }

/** An error as the contract wants errors to be, so that nothing but its being there is wrong. */
export function refusal(request: ZooRequest, status: number, message: string, loc: string[] = ['body']): ZooReply {
  const error = { message, type: types[status] ?? 'invalid_request_error', param: loc[1] ?? null, code: null }
  const detail = status === 422 ? [{ loc, msg: message, type: 'value_error' }] : message
  const headers: ZooReply['headers'] = {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': request.headers['x-request-id'] ?? randomUUID(),
  }
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="trainyard"'
  return { status, headers, body: Buffer.from(JSON.stringify({ detail, error })) }
}

/** A success that the fault makes up itself. */
export function answer(request: ZooRequest, value: unknown): ZooReply {
  return { ...refusal(request, 200, ''), body: Buffer.from(JSON.stringify(value)) }
}

/** The error with another status and type, its words as they were. */
export function asStatus(reply: ZooReply, status: number, type: string): ZooReply {
  return changeJson<Json>({ ...reply, status }, body => ({ ...body, error: { ...(body['error'] as Json), type } }))
}

export function queryOf(request: ZooRequest): URLSearchParams {
  const start = request.path.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : request.path.slice(start + 1))
}

export function withQuery(request: ZooRequest, query: URLSearchParams): ZooRequest {
  const [path] = request.path.split('?')
  return { ...request, path: query.size > 0 ? `${path}?${query}` : path! }
}

/** The request with one parameter of the query set, or taken out. */
export function withParameter(request: ZooRequest, name: string, value: string | undefined): ZooRequest {
  const query = queryOf(request)
  if (value === undefined) query.delete(name)
  else query.set(name, value)
  return withQuery(request, query)
}

/** Another path of the same service, under whatever prefix this request came. `path` begins with `/v1` or `/v2`. */
export function beside(request: ZooRequest, path: string): string {
  const [own] = request.path.split('?')
  const start = own!.search(/\/v[12]\//)
  return own!.slice(0, Math.max(start, 0)) + path
}

/** Reads something of the healthy service with the caller's own credentials. */
export async function look(request: ZooRequest, context: ZooContext, path: string): Promise<ZooReply> {
  const headers: Record<string, string> = {}
  for (const name of ['authorization', 'host']) if (request.headers[name]) headers[name] = request.headers[name]
  return context.send({ method: 'GET', path, headers, body: Buffer.alloc(0) })
}

export function isList(value: Json): boolean {
  return value['object'] === 'list' && 'has_more' in value && Array.isArray(value['data'])
}

/** The page with other items, and the ids that belong to them. */
export function withItems(page: Json, data: Json[]): Json {
  return { ...page, data, first_id: data[0]?.['id'] ?? '', last_id: data.at(-1)?.['id'] ?? '' }
}

/** A set that a fault remembers under a name. */
export function remembered<Value>(context: ZooContext, name: string): Map<string, Value> {
  const known = context.memory.get(name)
  if (known) return known as Map<string, Value>
  const made = new Map<string, Value>()
  context.memory.set(name, made)
  return made
}

/** Changes the JSON of each event of a stream; comments and the literal end pass as they are. */
export async function* changeEvents(
  pieces: AsyncIterable<Buffer>,
  change: (event: Json) => Json[],
): AsyncIterable<Buffer> {
  for await (const block of blocks(pieces)) {
    const text = block.startsWith('data: ') ? block.slice('data: '.length).trimEnd() : ''
    if (!text.startsWith('{')) yield Buffer.from(block)
    else for (const event of change(JSON.parse(text) as Json)) yield Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
  }
}

/** The blocks of a stream, each with the empty line that ends it. */
export async function* blocks(pieces: AsyncIterable<Buffer>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield text.slice(0, end + 2)
      text = text.slice(end + 2)
    }
  }
  if (text !== '') yield text
}
