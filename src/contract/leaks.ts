/** Credentials and secret values that stand in a reply: no reply may hold one, but for a new key, which is shown once. */
import { operationById, resolveSchema, type Schema } from '../spec/document.ts'
import type { Violation } from './conform.ts'
import type { Exchange } from './conforming-fetch.ts'
import type { Target } from './target.ts'

/** Shorter ones, such as a key made up for a mock, may stand in a text by chance. In characters. */
const SECRET_LENGTH = 16
const FIRST_ERROR = 400
const KEYS = '/info/description#Authentication'
const VALUES = `${operationById('listSecrets').pointer}/description`

/** Judges one exchange after the other: what earlier ones sent or brought as a password must not come (again). */
export function createLeakFinder(target: Target): (exchange: Exchange) => Violation[] {
  const basicPassword = target.basic.slice(target.basic.indexOf(':') + 1)
  const secrets = new Map<string, { what: string; pointer: string }>()
  const note = (secret: unknown, what: string, pointer: string) => {
    if (typeof secret === 'string' && secret.length >= SECRET_LENGTH) secrets.set(secret, { what, pointer })
  }
  for (const key of [target.apiKey, target.secondApiKey, basicPassword]) note(key, 'an API key', KEYS)
  return exchange => {
    // What was refused is no secret of anything.
    const isTaken = exchange.status < FIRST_ERROR
    for (const value of isTaken ? passwordsOf(exchange, 'request') : []) note(value, 'the value of a secret', VALUES)
    const places = { 'the body': exchange.replyBody, 'a header': JSON.stringify(exchange.replyHeaders) }
    const found = [...secrets].flatMap(([secret, { what, pointer }]) =>
      Object.entries(places)
        .filter(([, text]) => text.includes(secret))
        .map(([place]) => ({
          rule: 'leak' as const,
          message: `${place} of the reply holds ${what}`,
          pointer,
          instancePath: '',
        })),
    )
    for (const value of passwordsOf(exchange, 'reply')) note(value, 'an API key that was shown before', KEYS)
    return found
  }
}

/** The properties that the contract calls a password, in what was sent or in what came back. */
function passwordsOf({ operation, requestBody, replyBody, status }: Exchange, side: 'request' | 'reply'): unknown[] {
  const content = side === 'request' ? operation?.requestBody?.content : operation?.responses.get(status)?.content
  const schema = content?.get('application/json')?.schema
  const text = side === 'request' ? requestBody : replyBody
  if (!operation || schema === undefined || schema === null || !text?.startsWith('{')) return []
  const isPassword = (one: Schema) => {
    const resolved = resolveSchema(one, operation.components)
    return typeof resolved === 'object' && resolved.format === 'password'
  }
  const resolved = resolveSchema(schema, operation.components)
  const properties = typeof resolved === 'object' ? ((resolved.properties ?? {}) as Record<string, Schema>) : {}
  const names = Object.keys(properties).filter(name => isPassword(properties[name]!))
  if (names.length === 0) return []
  try {
    const body = JSON.parse(text) as Record<string, unknown>
    return names.map(name => body[name])
  } catch {
    return []
  }
}
