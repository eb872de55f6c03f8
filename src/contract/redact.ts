/**
 * Keeps credentials and secret values out of whatever is stored, printed or written. Once noted, a secret is masked
 * everywhere.
 */
import type { Operation, Schema } from '../spec/document.ts'
import { resolveSchema } from '../spec/document.ts'
import type { Exchange } from './conforming-fetch.ts'
import type { Target } from './target.ts'

/**
 * What stands in the place of a secret. Credentials of the command line are told apart, so that a request can be
 * repeated.
 */
export const MASKS = { apiKey: '[API_KEY]', secondApiKey: '[SECOND_API_KEY]', basic: '[BASIC]', other: '[redacted]' }

/**
 * In characters. Shorter ones, such as a key made up for a mock, stand in other words by chance: those are masked in
 * headers only.
 */
const SHORTEST_SECRET = 6

/** Headers that hold nothing but a credential. In lower case. */
const SECRET_HEADERS = new Set(['proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'])

/** The mask of every form in which a noted secret may stand in a text, the longest form first. */
let masks = new Map<string, string>()
/** Those of any length, as they stand after the scheme of an Authorization header. */
const credentials = new Map<string, string>()

export function noteSecret(secret: string, mask = MASKS.other): void {
  if (secret.length < SHORTEST_SECRET) return
  const inJson = JSON.stringify(secret).slice(1, -1)
  const forms = [secret, inJson, encodeURIComponent(secret), toBase64(secret)].filter(form => !masks.has(form))
  if (forms.length === 0) return
  const all = [...masks, ...forms.map(form => [form, mask] as const)]
  masks = new Map(all.toSorted(([a], [b]) => b.length - a.length))
}

/** The credentials that the command line or the environment gave. */
export function noteCredentials({ apiKey, secondApiKey, basic, baseUrl, inferenceUrl }: Target): void {
  credentials.set(apiKey, MASKS.apiKey).set(toBase64(basic), MASKS.basic)
  if (secondApiKey) credentials.set(secondApiKey, MASKS.secondApiKey)
  noteSecret(apiKey, MASKS.apiKey)
  if (secondApiKey) noteSecret(secondApiKey, MASKS.secondApiKey)
  noteSecret(basic, MASKS.basic)
  noteSecret(basic.slice(basic.indexOf(':') + 1))
  for (const url of [baseUrl, inferenceUrl]) noteSecret(decodeURIComponent(new URL(url).password))
}

/** What the contract calls a password (`format: password`) in what was sent and in what came back. */
export function noteSecretsOf({ operation, requestBody, replyBody, status }: Exchange): void {
  if (!operation) return
  const reply = operation.responses.get(status)?.content.get('application/json')?.schema
  const request = operation.requestBody?.content.get('application/json')?.schema
  for (const [schema, text] of [[request, requestBody] as const, [reply, replyBody] as const]) {
    if (schema && text) for (const name of passwordsOf(schema, operation)) noteProperty(text, name)
  }
}

/** A text without any noted secret. */
export function redact(text: string): string {
  let redacted = text
  for (const [form, mask] of masks) if (redacted.includes(form)) redacted = redacted.replaceAll(form, mask)
  return redacted
}

export function redactHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redactHeader(name, value)]))
}

function redactHeader(name: string, value: string): string {
  if (SECRET_HEADERS.has(name.toLowerCase())) return MASKS.other
  if (name.toLowerCase() !== 'authorization') return redact(value)
  const { 1: scheme = '', 2: credential = '' } = /^(?:(\S+ +))?(.*)$/s.exec(value) ?? []
  return scheme + (credentials.get(credential) ?? redact(credential))
}

/** A copy of a value of JSON in which no text holds a noted secret. */
export function redactDeep<Value>(value: Value): Value {
  if (typeof value === 'string') return redact(value) as Value
  if (Array.isArray(value)) return value.map(redactDeep) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redactDeep(inner)])) as Value
}

function passwordsOf(schema: Schema, { components }: Operation): string[] {
  const resolved = resolveSchema(schema, components)
  const properties = typeof resolved === 'object' ? (resolved.properties as Record<string, Schema> | undefined) : {}
  return Object.entries(properties ?? {})
    .filter(([, property]) => {
      const inner = resolveSchema(property, components)
      return typeof inner === 'object' && inner.format === 'password'
    })
    .map(([name]) => name)
}

function noteProperty(text: string, name: string): void {
  try {
    const value = (JSON.parse(text) as Record<string, unknown> | null)?.[name]
    if (typeof value === 'string') noteSecret(value)
  } catch {
    // A text that is not JSON has no properties.
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
