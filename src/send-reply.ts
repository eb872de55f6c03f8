import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from './context.ts'
import { validateResponse } from './contract/conform.ts'
import { toApiError } from './errors.ts'
import type { Operation } from './spec/document.ts'
import { toEventStream } from './sse.ts'

interface AnyReply {
  status: number | string | symbol
  headers?: Record<string, string>
  body?: unknown
  events?: AsyncIterable<unknown>
  bytes?: Readable
}

const JSON_TYPE = 'application/json'

/** Writes what a handler answered: JSON, a stream of events, or bytes. With STRICT, a reply that breaks the contract becomes a 500. */
export async function sendReply(
  answer: AnyReply,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  { settings }: Service,
): Promise<FastifyReply> {
  // Bytes that cannot be read become a proper failure, with none of their headers.
  if (answer.bytes) await once(answer.bytes, 'readable')
  reply.code(Number(answer.status)).headers(answer.headers ?? {})
  if (answer.bytes) return reply.type('application/octet-stream').send(answer.bytes)
  if (answer.events) {
    const onFailure = (error: unknown) => {
      const { operationId } = operation
      if (!reply.raw.destroyed) request.log.error({ requestId: request.id, operationId, error }, 'a stream failed')
      return { error: toApiError(error).toBody().error }
    }
    reply.type('text/event-stream').header('cache-control', 'no-cache').header('x-accel-buffering', 'no')
    return reply.send(toEventStream(answer.events, onFailure, settings.keepAliveMs))
  }
  const text = JSON.stringify(answer.body)
  if (settings.strict)
    requireConforming(operation, Number(answer.status), { ...answer.headers, 'x-request-id': request.id }, text)
  return reply.type(JSON_TYPE).send(text)
}

function requireConforming(
  operation: Operation,
  status: number,
  headers: Record<string, string>,
  bodyText: string,
): void {
  const violations = validateResponse(operation, { status, headers, contentType: JSON_TYPE, bodyText })
  if (violations.length > 0)
    throw new Error(`${operation.operationId} answers against the contract: ${violations[0]!.message}`)
}
