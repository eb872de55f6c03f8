/**
 * Payloads: a JSON value whose strings name variables, and what becomes of it. The grammar is that of the contract's automationDelivery.
 * Values are put into the parsed tree in one pass, so none can break the JSON, and none is looked through for variables again.
 */
import { toArtifactUri } from '../artifacts/uri.ts'
import { invalid, type ValidationDetail } from '../errors.ts'
import type { CollectionName } from '../storage/artifacts.ts'
import { isVariable } from './variables.ts'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

/** Of a payload as compact JSON. */
const MAX_PAYLOAD_BYTES = 64 * 1024
const MAX_PAYLOAD_DEPTH = 32
/** Of all that is put into one payload, in characters of JSON: it may name a large value thousands of times. */
const MAX_SUBSTITUTED = 1024 * 1024

const SHOWN_SECRET = '********'

/** `$$`; `${name}` and a brace that is never closed; `$name`. */
const VARIABLE = /\$(?:(?<dollar>\$)|\{(?<braced>[^}]*)\}|(?<open>\{)|(?<plain>artifact_metadata\.\w+|[A-Za-z_]\w*))/g

/** A payload cannot be sent: it names a secret that its webhook does not have (any more), or grew too large. */
export class PayloadError extends Error {
  override name = 'PayloadError' as const
}

/**
 * Throws a 422 unless the payload can be sent: small and flat enough, and naming only variables and the given secrets.
 * `loc` is where it stands in the request.
 */
export function checkPayload(
  payload: unknown,
  secretNames: readonly string[],
  loc: readonly string[] = ['body', 'payload'],
): void {
  const faults: ValidationDetail[] = []
  const add = (at: readonly string[], msg: string, type = 'value_error') => faults.push({ loc: [...at], msg, type })
  const known = (name: string) => isVariable(name) || secretNames.includes(name)
  const walk = (value: unknown, at: readonly string[]): void => {
    if (typeof value === 'string') {
      for (const part of parse(value)) {
        if (part.type === 'unclosed') add(at, 'A variable that begins with a brace must end with one')
        if (part.type === 'variable' && !known(part.name)) add(at, toUnknown(part.name), 'unknown_variable')
      }
    } else if (typeof value === 'object' && value !== null) {
      if (at.length - loc.length >= MAX_PAYLOAD_DEPTH) {
        add(at, `The payload nests deeper than ${MAX_PAYLOAD_DEPTH}`)
        return
      }
      for (const [key, item] of Object.entries(value)) walk(item, [...at, key])
    }
  }
  walk(payload, loc)
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes > MAX_PAYLOAD_BYTES)
    add(loc, `The payload should have at most ${MAX_PAYLOAD_BYTES} bytes as JSON, not ${bytes}`, 'too_long')
  if (faults.length > 0) throw invalid(faults)
}

/** Names of all variables and secrets that a payload names. */
export function listNames(payload: JsonValue): Set<string> {
  const names = new Set<string>()
  mapStrings(payload, text => {
    for (const part of parse(text)) if (part.type === 'variable') names.add(part.name)
    return text
  })
  return names
}

/**
 * The payload with its variables substituted: a string that is one variable becomes its value, of whatever type; within a longer text a
 * value that is no string is compact JSON. Throws PayloadError. `artifactScheme` is that of the URI in `artifact_version`.
 */
export function renderPayload(
  template: JsonValue,
  variables: Readonly<Record<string, JsonValue>>,
  secrets: Readonly<Record<string, string>>,
  artifactScheme = 'artifact',
): JsonValue {
  return render(template, variables, artifactScheme, name => {
    if (Object.hasOwn(secrets, name)) return secrets[name]!
    throw new PayloadError(toUnknown(name))
  })
}

/** The payload as it may be shown: with a mask for each secret, the webhook's or not; as it was written where it cannot be sent. */
export function showPayload(
  template: JsonValue,
  variables: Readonly<Record<string, JsonValue>>,
  artifactScheme = 'artifact',
): JsonValue {
  try {
    return render(template, variables, artifactScheme, () => SHOWN_SECRET)
  } catch (error) {
    if (error instanceof PayloadError) return template
    throw error
  }
}

function render(
  template: JsonValue,
  variables: Readonly<Record<string, JsonValue>>,
  artifactScheme: string,
  readSecret: (name: string) => string,
): JsonValue {
  const read = (name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name]! : ''
    const value = isVariable(name) ? withUri(name, variable, artifactScheme) : readSecret(name)
    return { value, text: typeof value === 'string' ? value : JSON.stringify(value) }
  }
  const values = new Map<string, ReturnType<typeof read>>()
  let substituted = 0
  const substitute = (name: string) => {
    const known = values.get(name) ?? read(name)
    values.set(name, known)
    substituted += known.text.length
    if (substituted > MAX_SUBSTITUTED)
      throw new PayloadError(`What is substituted in the payload has more than ${MAX_SUBSTITUTED} characters`)
    return known
  }
  return mapStrings(template, text => {
    const parts = parse(text)
    const [only] = parts
    if (parts.length === 1 && only?.type === 'variable') return substitute(only.name).value
    return parts.map(part => (part.type === 'variable' ? substitute(part.name).text : part.text)).join('')
  })
}

type Part = { type: 'text' | 'unclosed'; text: string } | { type: 'variable'; name: string }

function parse(text: string): Part[] {
  const parts: Part[] = []
  let end = 0
  for (const match of text.matchAll(VARIABLE)) {
    if (match.index > end) parts.push({ type: 'text', text: text.slice(end, match.index) })
    end = match.index + match[0].length
    const { dollar, open, braced, plain } = match.groups!
    if (dollar) parts.push({ type: 'text', text: '$' })
    else if (open) parts.push({ type: 'unclosed', text: match[0] })
    else parts.push({ type: 'variable', name: braced ?? plain! })
  }
  if (end < text.length) parts.push({ type: 'text', text: text.slice(end) })
  return parts
}

function mapStrings(value: JsonValue, replace: (text: string) => JsonValue): JsonValue {
  if (typeof value === 'string') return replace(value)
  if (Array.isArray(value)) return value.map(item => mapStrings(item, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, replace)]))
}

/** The scheme is the deployment's, so the URI of the version is made only when it is sent. */
function withUri(variable: string, value: JsonValue, scheme: string): JsonValue {
  if (variable !== 'artifact_version' || typeof value !== 'object' || value === null || Array.isArray(value))
    return value
  const { entity, project, name, version } = value
  const isNamed = [entity, project, name, version].every(part => typeof part === 'string')
  if (!isNamed) return value
  return { ...value, uri: toArtifactUri(scheme, { entity, project, name } as CollectionName, version as string) }
}

function toUnknown(name: string): string {
  return `${JSON.stringify(name)} is neither a variable nor a secret of the webhook; write $$ for a dollar sign`
}
