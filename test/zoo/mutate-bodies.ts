/** Mutations of the bodies of replies, of errors, and of the events of streams. */
import { type Operation, operations } from '../../src/spec/document.ts'
import type { Json } from './change-replies.ts'
import { chunks } from './change-streams.ts'
import { changeJson } from './fault.ts'
import { applyBreach, type Breach, REMOVED, toBreaches } from './schema-breaches.ts'
import type { Member } from './zoos.ts'

const JSON_TYPE = 'application/json'
/** Refusals that any deployment can be led to from outside. */
export const REACHABLE_ERRORS: readonly number[] = [400, 401, 403, 404, 415, 416, 422]

/**
 * Parts of replies that our own service never gives, so that a mutation of them changes nothing: no tool is called, nothing is refused or
 * spoken, and where the system check succeeds there are no errors.
 */
const NEVER_GIVEN =
  /(message|delta)\.(annotations|audio|function_call|tool_calls|refusal|reasoning)|errors\.\*|kv_transfer_params|datacenters\.\*/

export function isGiven({ at }: Breach): boolean {
  return !NEVER_GIVEN.test(at.join('.'))
}

export function toBodyMutations(): Member[] {
  return operations.flatMap(operation => {
    const schema = operation.responses.get(200)?.content.get(JSON_TYPE)?.schema
    if (!schema) return []
    return toBreaches(schema, operation.components)
      .filter(isGiven)
      .map(breach => ({
        ...describe(operation, `200 ${placeOf(breach)}`, breach.kind),
        ...replyBreach(operation, breach, 200),
      }))
  })
}

export function toEventMutations(): Member[] {
  return operations.flatMap(operation => {
    const schema = operation.responses.get(200)?.content.get('text/event-stream')?.itemSchema
    const chunk = operation.components.ChatCompletionChunk
    if (!schema || chunk === undefined) return []
    return toBreaches(chunk, operation.components)
      .filter(isGiven)
      .map(breach => ({
        ...describe(operation, `event ${placeOf(breach)}`, `event: ${breach.kind}`),
        ...onlyOf(
          operation,
          chunks(event => (event.choices ? applyBreach(event, breach) : event)),
        ),
      }))
  })
}

export function toErrorMutations(): Member[] {
  return operations.flatMap(operation =>
    REACHABLE_ERRORS.filter(status => operation.responses.has(status)).flatMap(status =>
      ERROR_BREACHES.filter(({ only }) => only === undefined || only.includes(status)).map(({ name, breach }) => ({
        ...describe(operation, `${status} ${name}`, 'error body'),
        ...replyBreach(operation, { kind: '', ...breach }, status),
      })),
    ),
  )
}

/** A reply in which the place is not is left as it is, to the byte. */
function replyBreach({ operationId }: Operation, breach: Breach, status: number): Pick<Member, 'onReply'> {
  return {
    onReply: (reply, _, context) =>
      context.operationId === operationId && reply.status === status
        ? changeJson<Json>(reply, body => applyBreach(body, breach))
        : reply,
  }
}

const NOT_422 = REACHABLE_ERRORS.filter(status => status !== 422)

const ERROR_BREACHES: { name: string; breach: Omit<Breach, 'kind'>; only?: readonly number[] }[] = [
  { name: 'detail dropped', breach: { at: ['detail'], change: () => REMOVED } },
  { name: 'detail as string', breach: { at: ['detail'], change: () => 'wrong' }, only: [422] },
  { name: 'detail as list', breach: { at: ['detail'], change: () => [] }, only: NOT_422 },
  { name: 'detail empty', breach: { at: ['detail'], change: () => [] }, only: [422] },
  { name: 'loc dropped', breach: { at: ['detail', '*', 'loc'], change: () => REMOVED }, only: [422] },
  { name: 'loc as string', breach: { at: ['detail', '*', 'loc'], change: (loc: Json) => loc.join('.') }, only: [422] },
  {
    name: 'loc without its end',
    breach: { at: ['detail', '*', 'loc'], change: (loc: Json) => loc.slice(0, 1) },
    only: [422],
  },
  { name: 'msg dropped', breach: { at: ['detail', '*', 'msg'], change: () => REMOVED }, only: [422] },
  { name: 'type of detail dropped', breach: { at: ['detail', '*', 'type'], change: () => REMOVED }, only: [422] },
  { name: 'error dropped', breach: { at: ['error'], change: () => REMOVED } },
  { name: 'error as string', breach: { at: ['error'], change: (error: Json) => error.message } },
  { name: 'message dropped', breach: { at: ['error', 'message'], change: () => REMOVED } },
  { name: 'type null', breach: { at: ['error', 'type'], change: () => null } },
  { name: 'code dropped', breach: { at: ['error', 'code'], change: () => REMOVED } },
  { name: 'code as number', breach: { at: ['error', 'code'], change: () => 7 } },
  { name: 'extra property', breach: { at: ['error'], change: (error: Json) => ({ ...error, stack: 'at handler' }) } },
]

export function describe({ operationId }: Operation, place: string, kind: string): Omit<Member, keyof Hooks> {
  const name = `${operationId}-${place}-${kind}`.replace(/[^\w*]+/g, '-')
  return { name, kind, of: [operationId], rule: operationId, breaks: `${operationId}, ${place}: ${kind}.` }
}

/** Streams of other operations pass as they come. */
export function onlyOf(
  { operationId }: Operation,
  hooks: Required<Pick<Member, 'onEvents'>>,
): Pick<Member, 'onEvents'> {
  return {
    onEvents: (pieces, request, context) =>
      context.operationId === operationId ? hooks.onEvents(pieces, request, context) : pieces,
  }
}

type Hooks = Pick<Member, 'onReply' | 'onEvents' | 'onRequest'>

function placeOf({ at }: Breach): string {
  return at.length === 0 ? 'the whole' : at.join('.')
}
