/** A fetch that judges every exchange by the contract, both what goes out and what comes back. */
import type { Operation } from '../spec/document.ts'
import { operations } from '../spec/document.ts'
import { validateBodyPart, validateRequest } from '../spec/validate.ts'
import type { Reply, Violation } from './conform.ts'
import { UNDECLARED_STATUSES, validateErrorBody, validateHead, validateResponse } from './conform.ts'
import { createMatcher } from './match-operation.ts'
import { checkWire } from './wire.ts'

export interface ConformingInit extends RequestInit {
  /** The request is meant to be bad: it is sent as it is, unjudged. */
  bad?: boolean
}

export interface Exchange {
  /** Null: the path and method belong to no operation. */
  operation: Operation | null
  method: string
  url: string
  status: number
  /** What is wrong with the reply. */
  violations: Violation[]
  /** What is wrong with the request that our own side sent: a fault of the caller, not of the service. */
  requestFaults: string[]
  requestHeaders: Record<string, string>
  /** Null for none, and for forms. */
  requestBody: string | null
  replyHeaders: Record<string, string>
  /** Empty for binary bodies. */
  replyBody: string
}

export interface ConformingFetchOptions {
  /** Called once for each exchange, for a stream when it has ended. */
  onExchange: (exchange: Exchange) => void
}

export type ConformingFetch = (url: string | URL, init?: ConformingInit) => Promise<Response>

const match = createMatcher(operations)
const BODILESS = new Set([204, 205, 304])
const FIRST_ERROR = 400

/**
 * A reply other than a stream is read to its end and judged before it is handed on; a stream is judged when its reader has
 * reached the end, and not at all when the reader leaves earlier.
 */
export function createConformingFetch(
  baseFetch: typeof fetch,
  { onExchange }: ConformingFetchOptions,
): ConformingFetch {
  return async (url, { bad = false, ...init } = {}) => {
    const target = new URL(url)
    const method = (init.method ?? 'GET').toUpperCase()
    const found = match(method, target.pathname)
    const operation = found?.operation ?? null
    const requestFaults = found && !bad ? await judgeRequest(found.operation, found.path, target, init) : []
    const response = await baseFetch(target, init)
    const contentType = response.headers.get('content-type')
    const finish = (bytes: Uint8Array) => {
      const { status } = response
      const bodyText = contentType?.startsWith('application/octet-stream') ? '' : new TextDecoder().decode(bytes)
      const reply = { status, headers: Object.fromEntries(response.headers), contentType, bodyText }
      const judged = method === 'HEAD' ? judgeHead(target, reply) : judgeReply(operation, method, reply)
      const violations = [...judged, ...checkWire({ method, status, headers: reply.headers, bytes })]
      onExchange({
        operation,
        method,
        url: target.href,
        status: response.status,
        violations,
        requestFaults,
        requestHeaders: Object.fromEntries(new Headers(init.headers)),
        requestBody: typeof init.body === 'string' ? init.body : null,
        replyHeaders: reply.headers,
        replyBody: bodyText,
      })
    }
    if (response.body && contentType?.startsWith('text/event-stream'))
      return new Response(watch(response.body, finish), response)
    const bytes = await response.arrayBuffer()
    finish(new Uint8Array(bytes))
    return new Response(BODILESS.has(response.status) ? null : bytes, response)
  }
}

function judgeReply(operation: Operation | null, method: string, reply: Reply): Violation[] {
  if (operation && !UNDECLARED_STATUSES.includes(reply.status)) return validateResponse(operation, reply)
  // What is not in the contract is only judged when it is refused; CORS, for one, answers OPTIONS.
  const isOther = method === 'OPTIONS' && reply.status < FIRST_ERROR
  return isOther ? [] : validateErrorBody(operations[0]!.components, reply.bodyText)
}

function judgeHead({ pathname }: URL, reply: Reply): Violation[] {
  const found = match('GET', pathname)
  const isDeclared = found && !UNDECLARED_STATUSES.includes(reply.status)
  return isDeclared ? validateHead(found.operation, reply) : []
}

/** The same stream; its bytes go to `finish` when it has ended. */
function watch(body: ReadableStream<Uint8Array>, finish: (bytes: Uint8Array) => void): ReadableStream<Uint8Array> {
  const pieces: Uint8Array[] = []
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        pieces.push(chunk.slice())
        controller.enqueue(chunk)
      },
      flush() {
        finish(Buffer.concat(pieces))
      },
    }),
  )
}

async function judgeRequest(
  operation: Operation,
  path: Record<string, string>,
  url: URL,
  init: RequestInit,
): Promise<string[]> {
  const headers = Object.fromEntries(new Headers(init.headers))
  const query: Record<string, string[] | string> = {}
  for (const key of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(key)
    query[key] = values.length > 1 ? values : values[0]!
  }
  const form = init.body instanceof FormData ? await judgeForm(operation, init.body) : []
  const isJson = typeof init.body === 'string'
  const input = { path, query, headers, ...(isJson ? { body: JSON.parse(init.body as string) as unknown } : {}) }
  const result = validateRequest(operation, input)
  const faults = result.ok ? [] : result.detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
  return [...faults, ...form].map(fault => `${operation.operationId} was sent a bad request: ${fault}`)
}

async function judgeForm(operation: Operation, form: FormData): Promise<string[]> {
  const part = form.get('version')
  const text = typeof part === 'string' ? part : await part?.text()
  const result = validateBodyPart(operation, 'version', text === undefined ? undefined : (JSON.parse(text) as unknown))
  return result.ok ? [] : result.detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
}
