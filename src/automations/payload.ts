import { invalidValue } from '../errors.ts'
import { MASK } from './mask.ts'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

/** Of a payload as compact JSON. */
const MAX_PAYLOAD_BYTES = 64 * 1024
const NAME = String.raw`\{([^{}]+)\}|([A-Za-z_]\w*(?:\.\w+)?)`
const VARIABLE = new RegExp(String.raw`\$(?:\$|${NAME})`, 'g')
const ONLY_VARIABLE = new RegExp(String.raw`^\$(?:${NAME})$`)

/** A payload cannot be sent. */
export class PayloadError extends Error {
  override name = 'PayloadError' as const
}

/** Throws a 422 where a payload is too large. */
export function checkPayload(
  payload: unknown,
  _secretNames: readonly string[],
  loc: readonly string[] = ['body', 'payload'],
): void {
  if (Buffer.byteLength(JSON.stringify(payload)) > MAX_PAYLOAD_BYTES)
    throw invalidValue([...loc], `At most ${MAX_PAYLOAD_BYTES} bytes are allowed`, 'too_long')
}

/** A payload with its variables substituted, in one pass: no value is looked at again. */
export function renderPayload(
  template: JsonValue,
  variables: Readonly<Record<string, JsonValue>>,
  secrets: Readonly<Record<string, string>>,
  _artifactScheme = 'artifact',
): JsonValue {
  const read = (name: string): JsonValue => secrets[name] ?? variables[name] ?? ''
  const renderText = (text: string): JsonValue => {
    const only = ONLY_VARIABLE.exec(text)
    if (only) return read(only[1] ?? only[2]!)
    return text.replace(VARIABLE, (match, braced?: string, bare?: string) => {
      if (match === '$$') return '$'
      const value = read(braced ?? bare!)
      return typeof value === 'string' ? value : JSON.stringify(value)
    })
  }
  const render = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return renderText(value)
    if (Array.isArray(value)) return value.map(render)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, render(inner)]))
  }
  return render(template)
}

/** The payload as it may be shown: with a mask for each secret. */
export function showPayload(
  template: JsonValue,
  variables: Readonly<Record<string, JsonValue>>,
  artifactScheme = 'artifact',
): JsonValue {
  const secrets = new Proxy<Record<string, string>>({}, { get: (_, name) => (name in variables ? undefined : MASK) })
  return renderPayload(template, variables, secrets, artifactScheme)
}
