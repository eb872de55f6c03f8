/**
 * The client of the contract tests: calls an operation by its id. What goes against the contract in a reply is recorded as a finding of
 * its operation, and the check goes on: one wrong property would fail every check that happens to see it.
 */
import type { operations as ContractOperations, components } from '../../generated/schema.d.ts'
import type { Operation } from '../spec/document.ts'
import { operationById } from '../spec/document.ts'
import type { ConformingInit, Exchange } from './conforming-fetch.ts'
import { createConformingFetch } from './conforming-fetch.ts'
import type { Coverage } from './coverage.ts'
import { findBreaches } from './laws.ts'
import { createLeakFinder } from './leaks.ts'
import { patiently } from './patience.ts'
import { noteCredentials, noteSecretsOf } from './redact.ts'
import { createRequestIdJudge } from './request-ids.ts'
import { countingFetch, isCheckRunning, recordExchange, skipRunning } from './running-check.ts'
import { isRefusal, isSuccess } from './severity.ts'
import type { Target } from './target.ts'

/** Operations that a client calls; deliveries go the other way. */
export type OperationId = Exclude<keyof ContractOperations, 'automationDelivery'>

type Json<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : unknown
export type Success<Id extends OperationId> = Json<ContractOperations[Id]['responses'][200]>
export type Refusal = components['schemas']['ErrorBody'] | components['schemas']['ValidationErrorBody']

export type Credentials = { bearer: string } | { basic: string } | { authorization: string } | 'none'

type QueryValue = string | number | boolean | string[] | undefined

export interface CallOptions {
  path?: Record<string, string>
  query?: Record<string, QueryValue>
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  form?: FormData
  /** Sent as it is, with the content type of `headers`. */
  raw?: string | Uint8Array<ArrayBuffer>
  /** Default: the first key, by the first scheme that the operation takes. */
  as?: Credentials
  /** The request is meant to be bad: it is not judged before it is sent. */
  bad?: boolean
  /** Through the inference address instead of the service's. */
  inference?: boolean
  signal?: AbortSignal
  /** A 429 or 503 is what is wanted: it is handed on at once, instead of waited out. */
  impatient?: boolean
}

/** For requests that no operation describes. */
export interface RequestOptions extends ConformingInit {
  impatient?: boolean
}

export interface Answer {
  status: number
  headers: Headers
  bytes: Uint8Array
  text: string
  /** The parsed JSON body, undefined where the body is not JSON. */
  body: unknown
}

/** Carries what assertions do, so that a report can show both sides. */
class StatusError extends Error {
  override name = 'StatusError' as const
  readonly expected: string
  readonly actual: string

  constructor(id: OperationId, expected: number, { status, text }: Answer) {
    super(`${id} answered ${status} instead of ${expected}: ${text}`)
    this.expected = `status ${expected}`
    this.actual = `status ${status}`
  }
}

/** Longest time for one reply to begin, and for one that is no stream to end, in milliseconds. */
const REPLY_TIMEOUT_MS = 45_000

export type ContractClient = ReturnType<typeof createContractClient>

/** `whyNot` tells why no check can call an operation here; null: it can. */
export function createContractClient(
  target: Target,
  coverage: Coverage,
  baseFetch: typeof fetch = countingFetch,
  whyNot: (operation: Operation) => string | null = () => null,
) {
  const { profile } = target
  noteCredentials(target)
  const exchanges: Exchange[] = []
  const findLeaks = createLeakFinder(target)
  const judgeRequestId = createRequestIdJudge()
  let calls = 0
  const conformingFetch = createConformingFetch(baseFetch, {
    onExchange: exchange => {
      // The replies of a mock are examples.
      const found = [
        ...findLeaks(exchange),
        ...(target.isMock ? [] : [...judgeRequestId(exchange), ...findBreaches(exchange)]),
      ]
      const judged = found.length > 0 ? { ...exchange, violations: [...exchange.violations, ...found] } : exchange
      noteSecretsOf(judged)
      coverage.record(judged)
      recordExchange(judged)
      exchanges.push(judged)
    },
  })

  /** Fetches any URL below the service's address, such as one that no operation has. */
  async function request(url: string, { impatient = false, ...init }: RequestOptions = {}): Promise<Answer> {
    const before = exchanges.length
    const send = () =>
      conformingFetch(url, { signal: AbortSignal.timeout(REPLY_TIMEOUT_MS), redirect: 'manual', ...init })
    const response = await (impatient ? send() : patiently(send)).catch(error => {
      const isTimeout = (error as Error).name === 'TimeoutError'
      throw isTimeout ? new Error(`${init.method ?? 'GET'} ${url} gave no answer in ${REPLY_TIMEOUT_MS} ms`) : error
    })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const text = new TextDecoder().decode(bytes)
    // Requests may run side by side: only what is about this very URL is taken for ours.
    refuseFaults(exchanges.slice(before).filter(exchange => exchange.url === new URL(url).href))
    return { status: response.status, headers: response.headers, bytes, text, body: toJson(text) }
  }

  async function call(id: OperationId, options: CallOptions = {}): Promise<Answer> {
    const { url, init } = toRequest(judgeable(id), options, target)
    // Whether a reply bears the id that its request has is judged everywhere, and so is one without. Chats are named after it.
    if (calls++ % 2 === 0 && !id.startsWith('createChatCompletion') && !init.headers.has('x-request-id'))
      init.headers.set('x-request-id', `contract-${calls}`)
    return request(url, { ...init, impatient: options.impatient ?? false })
  }

  /** Ends the running check for what another implementation of the interface need not have, or this caller may not use. */
  function judgeable(id: OperationId): Operation {
    const operation = operationById(id)
    const reason = isCheckRunning() ? whyNot(operation) : null
    if (reason !== null) skipRunning(reason)
    if (profile === 'interface' && operation.origin === 'extension' && isCheckRunning())
      skipRunning(`it needs ${id}, which the interface does not have`)
    return operation
  }

  /** The body of a 200, in the interface profile that of any success. */
  async function ok<Id extends OperationId>(id: Id, options: CallOptions = {}): Promise<Success<Id>> {
    const answer = await call(id, options)
    if (!isSuccess(answer.status, profile)) throw new StatusError(id, 200, answer)
    return answer.body as Success<Id>
  }

  /** The error body of the status that must come, in the interface profile of any like it. A 415 or 422 is taken to be meant to come. */
  async function refused(id: OperationId, status: number, options: CallOptions = {}): Promise<Refusal> {
    const bad = options.bad ?? (status === 415 || status === 422)
    const impatient = options.impatient ?? (status === 429 || status === 503)
    const answer = await call(id, { ...options, bad, impatient })
    if (!isRefusal(answer.status, status, profile)) throw new StatusError(id, status, answer)
    return answer.body as Refusal
  }

  /** The reply as it comes, for streams. Judged once it is read to its end. */
  async function open(id: OperationId, options: CallOptions = {}): Promise<Response> {
    const { url, init } = toRequest(judgeable(id), options, target)
    const send = () => conformingFetch(url, { redirect: 'manual', ...init })
    return options.impatient ? send() : patiently(send)
  }

  return { request, call, ok, refused, open }
}

function toRequest(operation: Operation, options: CallOptions, target: Target) {
  const headers = new Headers(options.headers)
  if (options.body !== undefined) headers.set('content-type', 'application/json')
  const authorization = toAuthorization(options.as ?? defaultCredentials(operation, target))
  if (authorization !== null) headers.set('authorization', authorization)
  const body = options.body === undefined ? (options.form ?? options.raw) : JSON.stringify(options.body)
  const init = {
    method: operation.method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(options.bad ? { bad: true } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  }
  return { url: toUrl(operation, options, target), init }
}

/** Throws where a path parameter is not given: an empty one would be another path. */
function toUrl(operation: Operation, { path = {}, query = {}, inference }: CallOptions, target: Target): string {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name]
    if (!value) throw new Error(`${operation.operationId} needs the path parameter ${name}`)
    return encodeURIComponent(value)
  })
  const url = new URL(inference ? target.inferenceUrl + filled.replace(/^\/v1/, '') : target.baseUrl + filled)
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined) url.searchParams.append(name, String(item))
  }
  return url.href
}

function defaultCredentials(operation: Operation, target: Target): Credentials {
  if (operation.security.length === 0) return 'none'
  return operation.security[0] === 'basic' ? { basic: target.basic } : { bearer: target.apiKey }
}

function toAuthorization(credentials: Credentials): string | null {
  if (credentials === 'none') return null
  if ('bearer' in credentials) return `Bearer ${credentials.bearer}`
  if ('basic' in credentials) return `Basic ${Buffer.from(credentials.basic).toString('base64')}`
  return credentials.authorization
}

/** A bad request that was not meant to be one is a fault of the suite. */
function refuseFaults(exchanges: Exchange[]): void {
  const faults = exchanges.flatMap(({ requestFaults }) => requestFaults)
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
