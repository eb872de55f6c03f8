/**
 * Laws that hold for every exchange, whatever a check sent it for: what was sent comes back, pages are pages, ids and times are
 * written as the contract says, counts add up. They cost no request.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Operation } from '../spec/document.ts'
import { type Components, resolveSchema, type Schema } from '../spec/document.ts'
import type { Violation } from './conform.ts'
import type { Exchange } from './conforming-fetch.ts'
import { checkJobs } from './job-laws.ts'
import { isSame, type Json, toBreach } from './law-breach.ts'
import { createMatcher } from './match-operation.ts'
import { checkPage } from './page-laws.ts'
import { checkStream } from './stream-laws.ts'
import { checkValues, MOST_SECONDS } from './value-laws.ts'

const IDS = '/info/description#Ids, times and null'
const ERROR_TYPE = '/components/schemas/ErrorDetail/properties/type/description'
const ERROR_DETAIL = '/components/schemas/ErrorBody/properties/detail/description'
const USAGE = '/components/schemas/ChatCompletionUsage/description'

const FIRST_ERROR = 400

/** By status, as the contract says. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  ...{ 400: 'invalid_request_error', 405: 'invalid_request_error', 413: 'invalid_request_error' },
  ...{ 415: 'invalid_request_error', 422: 'invalid_request_error', 401: 'authentication_error' },
  ...{ 403: 'permission_error', 404: 'not_found_error', 429: 'rate_limit_error' },
  ...{ 500: 'server_error', 503: 'server_error' },
}

/** Path parameters that name a thing in one of several ways, so that the reply may name it otherwise. */
const LOOSE_NAMES = new Set(['version', 'path', 'alias', 'tag'])
/** Properties of requests that come back as what they lead to. */
const NOT_KEPT = new Set(['artifact'])

export function findBreaches(exchange: Exchange): Violation[] {
  const { operation, replyBody, replyHeaders, status } = exchange
  if (status === 200 && replyHeaders['content-type']?.startsWith('text/event-stream')) return checkStream(replyBody)
  const body = toObject(replyBody)
  if (body === null) return []
  if (status >= FIRST_ERROR) return checkError(status, body)
  if (operation === null || status !== 200) return []
  return [
    ...checkEcho(operation, exchange, body),
    ...checkPage(exchange, body),
    ...checkValues(operation, body),
    ...checkJobs(operation.operationId, body),
    ...checkChat(operation, exchange, body),
  ]
}

/** Null for all but an object of JSON. */
function toObject(text: string | null): Json | null {
  if (!text?.startsWith('{')) return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

function checkError(status: number, { error, detail }: Json): Violation[] {
  const { type, message } = (error ?? {}) as Json
  const expected = ERROR_TYPES[status]
  const found: Violation[] = []
  if (expected !== undefined && typeof type === 'string' && type !== expected)
    found.push(toBreach(ERROR_TYPE, `the error of a ${status} is a ${type}, not ${expected}`, '/error/type'))
  if (typeof detail === 'string' && typeof message === 'string' && detail !== message)
    found.push(toBreach(ERROR_DETAIL, `detail and error.message are not the same text: ${detail}`, '/detail'))
  return found
}

/** What the path and the body named comes back under the same name. */
function checkEcho(operation: Operation, { url, requestBody }: Exchange, body: Json): Violation[] {
  const path = pathOf(operation, url)
  const records = Array.isArray(body.data) ? (body.data as Json[]) : [body]
  const found: Violation[] = []
  const last = Object.keys(path).at(-1)
  for (const record of records.filter(one => typeof one === 'object' && one !== null)) {
    for (const [name, value] of Object.entries(path)) {
      const key =
        record[name] === undefined && name === last && name.endsWith('_id') && records[0] === body ? 'id' : name
      const given = record[key]
      if (typeof given !== 'string' || LOOSE_NAMES.has(name) || isSame(given, value)) continue
      found.push(toBreach(IDS, `the path says ${name} ${value}, the reply ${given}`, `/${key}`))
    }
  }
  return [...found, ...checkBodyEcho(operation, requestBody, body)]
}

function checkBodyEcho(operation: Operation, requestBody: string | null, body: Json): Violation[] {
  const sent = toObject(requestBody)
  if (sent === null || operation.method === 'GET' || operation.method === 'DELETE') return []
  const schema = resolveSchema(
    operation.requestBody?.content.get('application/json')?.schema ?? false,
    operation.components,
  )
  const declared = typeof schema === 'object' ? (schema.properties as Json | undefined) : undefined
  const isLoose = operation.operationId.startsWith('createChatCompletion')
  return (
    Object.keys(declared ?? {})
      .filter(name => !NOT_KEPT.has(name) && sent[name] != null && name in body)
      // A chat has fields of one name that ask for something and bring it; one whose model is empty names none.
      .filter(name => !isLoose || (sent[name] !== '' && typeof sent[name] === typeof body[name]))
      .filter(name => !isKept(body[name], sent[name], isFree(declared![name], operation.components)))
      .map(name =>
        toBreach(
          IDS,
          `${name} was sent as ${JSON.stringify(sent[name])} and came back as ${JSON.stringify(body[name])}`,
          `/${name}`,
        ),
      )
  )
}

/** Whether the caller may put whatever keys into it. */
function isFree(schema: unknown, components: Components): boolean {
  const resolved = resolveSchema(schema as Schema, components)
  return typeof resolved === 'object' && resolved.additionalProperties === true
}

/** Lists of names may come back in an order of their own, each once; records with further keys, unless they are the caller's alone. */
function isKept(told: unknown, sent: unknown, isExact: boolean): boolean {
  if (sent === null) return true
  if (typeof sent !== 'object') return isSame(told, sent)
  if (isExact || typeof told !== 'object' || told === null) return isDeepStrictEqual(told, sent)
  if (Array.isArray(sent)) return Array.isArray(told) && isDeepStrictEqual(new Set(told), new Set(sent))
  return Object.entries(sent).every(([key, value]) => isKept((told as Json)[key], value, false))
}

function checkChat(
  { operationId }: Operation,
  { requestBody }: Exchange,
  { usage, choices, created }: Json,
): Violation[] {
  if (!operationId.startsWith('createChatCompletion')) return []
  const found: Violation[] = []
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = (usage ?? {}) as Json
  if (
    [prompt, completion, total].every(one => typeof one === 'number') &&
    (prompt as number) + (completion as number) !== total
  )
    found.push(toBreach(USAGE, `${prompt} and ${completion} tokens are not ${total} in all`, '/usage/total_tokens'))
  const wanted = (toObject(requestBody)?.n ?? 1) as number
  const indices = Array.isArray(choices) ? choices.map(choice => (choice as Json | null)?.index) : []
  if (indices.join() !== Array.from({ length: wanted }, (_, index) => index).join())
    found.push(
      toBreach(
        '/components/schemas/ChatCompletionRequest/properties/n',
        `the indices of ${wanted} choices are ${indices.join()}`,
        '/choices',
      ),
    )
  if (typeof created === 'number' && created > MOST_SECONDS)
    found.push(toBreach(IDS, `created is no time in seconds: ${created}`, '/created'))
  return found
}

const matchers = new WeakMap<Operation, ReturnType<typeof createMatcher>>()

/** The path parameters as the caller meant them. */
function pathOf(operation: Operation, url: string): Readonly<Record<string, string>> {
  const match = matchers.get(operation) ?? createMatcher([operation])
  matchers.set(operation, match)
  return match(operation.method, new URL(url).pathname)?.path ?? {}
}
