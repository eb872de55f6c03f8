/** A message of the wire as chat templates expect it: the same for a prompt that is sampled from and for one that is trained on. */
import type { PromptMessage } from '../inference/engine.ts'
import { DataError } from './engine.ts'
import { describe, isObject, type JsonObject, toArray } from './json-values.ts'

type ContentPart = Extract<PromptMessage['content'], unknown[]>[number]

/**
 * Drops keys that are null and an empty `tool_calls`: clients add them when they dump their objects, and templates ask
 * whether such keys are there. Reasoning stands under both of its names, since templates differ in the one they read, and
 * a `function_call` is the only one of `tool_calls`. Throws DataError.
 */
export function toMessage(value: JsonObject, loc: string[]): PromptMessage {
  const { role, content = null, tool_calls: toolCalls = null, function_call: functionCall = null, ...others } = value
  if (typeof role !== 'string' || role === '') {
    throw new DataError([...loc, 'role'], `must be the name of a role, not ${role === '' ? 'empty' : describe(role)}`)
  }
  const kept = Object.fromEntries(Object.entries(others).filter(([, entry]) => entry !== null))
  const listed = toArray(toolCalls, [...loc, 'tool_calls'])
  const calls = listed.length === 0 && isObject(functionCall) ? [{ type: 'function', function: functionCall }] : listed
  const reasoning = kept.reasoning ?? kept.reasoning_content
  return {
    ...kept,
    role,
    content: toContent(content, [...loc, 'content']),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(reasoning === undefined ? {} : { reasoning, reasoning_content: reasoning }),
  }
}

function toContent(value: unknown, loc: string[]): PromptMessage['content'] {
  if (value === null || typeof value === 'string') return value
  if (!Array.isArray(value)) throw new DataError(loc, `must be a string or an array of parts, not ${describe(value)}`)
  return value.map((part, index) => toTextPart(part, [...loc, String(index)]))
}

/** Every part as a text part. A part without a type is told by its key. */
function toTextPart(part: unknown, loc: string[]): ContentPart {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) throw new DataError(loc, `must be a part, not ${describe(part)}`)
  const type = typeof part.type === 'string' ? part.type : (Object.keys(part)[0] ?? 'none')
  if (type === 'text' && typeof part.text === 'string') return { ...part, type, text: part.text }
  if (type === 'refusal' && typeof part.refusal === 'string') return { type: 'text', text: part.refusal }
  throw new DataError(loc, `a part of type ${type} is not supported: this model takes text`)
}

/** The content as one text, parts joined as templates get them. */
export function toContentText(content: PromptMessage['content']): string {
  return typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('\n')
}
