/**
 * The cases of an operation, derived from the contract and one good request: always the same ones, and their number is known before
 * any is sent. It depends on the form of the good request only, not on the ids and names in it.
 */

import type { Operation, Schema } from '../../spec/document.ts'
import { resolveSchema } from '../../spec/document.ts'
import { validateRequest } from '../../spec/validate.ts'
import type { CallOptions } from '../client.ts'
import { bodyCasesOf } from './body-cases.ts'
import type { DerivedCase, DeriveSettings, FieldRules } from './derived-case.ts'
import { parameterCasesOf } from './parameter-cases.ts'
import { CASES_PER_PROPERTY, MOST_CASES, selectCases } from './select-cases.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'multipart/form-data'
/** The part of a form that is JSON. */
const FORM_PART = 'version'

/** Of more cases than are wanted, the most telling ones. */
export function deriveCases(operation: Operation, good: CallOptions, settings: DeriveSettings): DerivedCase[] {
  const rules = settings.mayAccept ? (settings.rules ?? {}) : null
  const all = [
    ...parameterCasesOf(operation, good, rules).filter(one => isAsExpected(operation, good, one)),
    ...jsonCasesOf(operation, good, rules),
    ...formCasesOf(operation, good),
  ]
  return selectCases(all, settings.most ?? Math.max(MOST_CASES, CASES_PER_PROPERTY * countProperties(operation)))
}

/** How many requests the cases are. */
export function countCases(operation: Operation, good: CallOptions, settings: DeriveSettings): number {
  return deriveCases(operation, good, settings).length
}

function jsonCasesOf(operation: Operation, good: CallOptions, rules: FieldRules | null): DerivedCase[] {
  const schema = operation.requestBody?.content.get(JSON_TYPE)?.schema
  if (!schema || good.body === undefined) return []
  const pointer = `${operation.pointer}/requestBody/content/application~1json/schema`
  return bodyCasesOf(good.body, schema, pointer, operation.components, rules).map(({ body, ...one }) => ({
    ...one,
    options: { ...good, body },
  }))
}

/** Only cases that are refused: what a form makes is kept. */
function formCasesOf(operation: Operation, good: CallOptions): DerivedCase[] {
  const form = resolveSchema(operation.requestBody?.content.get(FORM_TYPE)?.schema ?? false, operation.components)
  const text = good.form?.get(FORM_PART)
  if (typeof form === 'boolean' || typeof text !== 'string') return []
  const schema = (form.properties as Record<string, Schema>)[FORM_PART]!
  const pointer = `${operation.pointer}/requestBody/content/multipart~1form-data/schema/properties/${FORM_PART}`
  return bodyCasesOf(JSON.parse(text), schema, pointer, operation.components, null).map(({ body, ...one }) => ({
    ...one,
    loc: one.loc && ['body', FORM_PART, ...one.loc.slice(1)],
    options: { ...good, form: withPart(good.form!, JSON.stringify(body)) },
  }))
}

function withPart(good: FormData, text: string): FormData {
  const form = new FormData()
  for (const [name, value] of good) {
    if (typeof value === 'string') form.append(name, name === FORM_PART ? text : value)
    else form.append(name, value, value.name)
  }
  return form
}

/** By our own reading of the contract, which is stricter than a schema alone: a case that it sees otherwise is none. */
function isAsExpected(operation: Operation, good: CallOptions, { options, loc }: DerivedCase): boolean {
  // Where the good request is not known yet, as before the first one is sent, what stands in for it must not count.
  const known = new Set(faultsOf(operation, good))
  return faultsOf(operation, options).every(place => known.has(place)) === (loc === null)
}

/** Places of the parameters that are at fault. */
function faultsOf(operation: Operation, options: CallOptions): string[] {
  const query = Object.entries(options.query ?? {}).filter(([, value]) => value !== undefined)
  const texts = query.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)])
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  const input = { path: options.path ?? {}, query: Object.fromEntries(texts), headers: Object.fromEntries(headers) }
  const result = validateRequest(operation, { ...input, body: options.body }, { bodyJudged: true })
  return result.ok ? [] : result.detail.map(({ loc }) => loc.join('.'))
}

function countProperties(operation: Operation): number {
  const schema = resolveSchema(operation.requestBody?.content.get(JSON_TYPE)?.schema ?? false, operation.components)
  return typeof schema === 'boolean' ? 0 : Object.keys((schema.properties as object | undefined) ?? {}).length
}
