/** The requests that other tools are given: of each operation a good one, and the bad ones that anyone would think of. */
import type { OperationId } from '../../src/contract/client.ts'
import { type Operation, operationById, operations } from '../../src/spec/document.ts'
import { goodRequest } from '../contract/good-requests.ts'
import { unknownId } from '../contract/setup.ts'
import type { Things } from './peer-things.ts'

type Values = Record<string, string | number>

/** What an operation takes, filled in so that the healthy service answers 200. */
export interface PeerExample {
  operation: Operation
  path: Record<string, string>
  query: Values
  /** JSON; undefined where there is none. */
  body: Record<string, unknown> | undefined
  form: FormData | undefined
}

export interface PeerRequest {
  /** Says the operation and what is special about the request; unique among the requests. */
  name: string
  operation: Operation
  path: Record<string, string>
  query: Values
  headers: Record<string, string>
  /** JSON, or a form; undefined where there is none. */
  body: unknown
  /** Status that the healthy service answers with. */
  expected: number
}

const METHODS = ['POST', 'PUT', 'GET', 'PATCH', 'DELETE']

/** In an order in which each finds what it names: what deletes comes last. */
export function toExamples(things: Things, ids: ReadonlySet<OperationId>): PeerExample[] {
  return operations
    .filter(({ operationId }) => ids.has(operationId as OperationId))
    .toSorted((one, other) => METHODS.indexOf(one.method) - METHODS.indexOf(other.method))
    .map(({ operationId }) => toExample(operationId as OperationId, things))
}

function toExample(id: OperationId, things: Things): PeerExample {
  const operation = operationById(id)
  const { query = {}, body, form } = goodRequest(id)
  const made = things.path(id)
  const listed = (place: string) => operation.parameters.filter(parameter => parameter.in === place)
  // Of the query only what is needed: other filters would find nothing.
  const needed = listed('query').filter(({ required }) => required)
  return {
    operation,
    path: Object.fromEntries(listed('path').map(({ name }) => [name, made[name]!])),
    query: Object.fromEntries(needed.map(({ name }) => [name, made[name] ?? query[name]])) as Values,
    body: things.body(id) ?? (body as PeerExample['body']),
    form,
  }
}

export function toRequests(examples: readonly PeerExample[], apiKey: string): PeerRequest[] {
  return examples.flatMap(example => toRequestsOf(example, apiKey))
}

function toRequestsOf({ operation, path, query, body, form }: PeerExample, apiKey: string): PeerRequest[] {
  const { operationId: id, security, parameters, requestBody, responses } = operation
  const headers: Record<string, string> = security.length > 0 ? { authorization: `Bearer ${apiKey}` } : {}
  const good = { name: `${id}-good`, operation, path, query, headers, body: body ?? form, expected: 200 }
  const bad: PeerRequest[] = []
  if (security.length > 0) bad.push({ ...good, name: `${id}-without-key`, headers: {}, expected: 401 })
  const uuid = parameters.find(({ in: place, schema }) => place === 'path' && isUuid(schema))?.name
  if (uuid) bad.push({ ...good, name: `${id}-unknown-id`, path: { ...path, [uuid]: unknownId }, expected: 404 })
  if (body !== undefined && requestBody?.required)
    bad.push({ ...good, name: `${id}-bad-body`, body: ['a list'], expected: 422 })
  if (parameters.some(({ name }) => name === 'limit'))
    bad.push({ ...good, name: `${id}-bad-limit`, query: { ...query, limit: 0 }, expected: 422 })
  const isStreamed = responses.get(200)?.content.has('text/event-stream') === true
  const stream = { ...good, name: `${id}-stream`, body: { ...body, stream: true } }
  // The bad ones first: behind a good one that deletes, they would find nothing.
  return [...bad, good, ...(isStreamed ? [stream] : [])]
}

function isUuid(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'format' in schema && schema.format === 'uuid'
}

/** For fetch; the address has no slash at its end. */
export function toFetch(request: PeerRequest, address: string): [url: string, init: RequestInit] {
  const { operation, path, query, headers, body } = request
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!))
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const url = `${address}${filled}${search.size > 0 ? `?${search}` : ''}`
  const init = { method: operation.method, headers }
  if (body === undefined) return [url, init]
  if (body instanceof FormData) return [url, { ...init, body }]
  return [url, { ...init, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }]
}
