/** Mutations of statuses and headers. */
import { type Operation, operations, type Schema } from '../../src/spec/document.ts'
import { replyHeaders, replyStatus } from './change-replies.ts'
import { findByPath } from './find-operation.ts'
import { describe, REACHABLE_ERRORS } from './mutate-bodies.ts'
import type { Member } from './zoos.ts'

const INSTEAD_OF_SUCCESS = [201, 202, 204, 500]
/** A success without a body has none. */
const EMPTY = 204

export function toStatusMutations(): Member[] {
  return operations.flatMap(operation => {
    const { operationId, responses } = operation
    const success = INSTEAD_OF_SUCCESS.map(status => ({
      ...describe(operation, `200 to ${status}`, 'success status'),
      onReply: (reply, _, context) =>
        context.operationId === operationId && reply.status === 200
          ? { ...reply, status, ...(status === EMPTY ? { body: Buffer.alloc(0) } : {}) }
          : reply,
    })) satisfies Member[]
    const declared = REACHABLE_ERRORS.filter(status => responses.has(status))
    const errors = declared.flatMap(from =>
      [200, ...REACHABLE_ERRORS, 409, 500]
        .filter(to => to !== from && to !== 416)
        .map(to => ({
          ...describe(operation, `${from} to ${to}`, 'error status'),
          ...replyStatus(operationId, from, to),
        })),
    )
    return [...success, ...errors]
  })
}

export function toHeaderMutations(): Member[] {
  return operations.flatMap(operation => [
    ...statusesOf(operation).flatMap(status => headersOf(operation, status)),
    ...statusesOf(operation).map(status => ({
      ...describe(operation, `${status} content-type`, 'content type changed'),
      ...headerOf(operation, status, 'content-type', () => 'text/plain'),
    })),
    {
      ...describe(operation, '405 allow', 'header dropped'),
      onReply: (reply, request) =>
        reply.status === 405 && findByPath(request.path).includes(operation.operationId)
          ? { ...reply, headers: { ...reply.headers, allow: undefined } }
          : reply,
    } satisfies Member,
  ])
}

function statusesOf({ responses }: Operation): number[] {
  return [200, 206, ...REACHABLE_ERRORS].filter(status => responses.has(status))
}

function headersOf(operation: Operation, status: number): Member[] {
  return [...operation.responses.get(status)!.headers].flatMap(([name, { required, schema }]) => {
    const broken = toBroken(schema)
    return [
      ...(required && !isTransport(name)
        ? [
            {
              ...describe(operation, `${status} ${name}`, 'header dropped'),
              ...headerOf(operation, status, name, () => undefined),
            },
          ]
        : []),
      ...(broken && !isTransport(name)
        ? [
            {
              ...describe(operation, `${status} ${name}`, 'header broken'),
              ...headerOf(operation, status, name, broken),
            },
          ]
        : []),
    ]
  })
}

/** Set by whoever sends a body: without it there would be no reply. */
function isTransport(name: string): boolean {
  return name === 'content-length'
}

function headerOf(
  { operationId }: Operation,
  status: number,
  name: string,
  change: (value: string) => string | undefined,
): Pick<Member, 'onReply'> {
  return replyHeaders(operationId, (headers, seen) =>
    seen === status && headers[name] !== undefined ? { [name]: change(String(headers[name])) } : {},
  )
}

function toBroken(schema: Schema): ((value: string) => string) | null {
  if (typeof schema === 'boolean') return null
  if (schema.type === 'integer') return () => 'soon'
  if (schema.pattern !== undefined || schema.const !== undefined || schema.enum !== undefined)
    return value => `#${value}#`
  return null
}
