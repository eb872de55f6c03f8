/** Requests that break exactly one rule of the contract, derived from its schemas and one good request. */
import type { Components, Operation, Parameter, Schema, SchemaObject } from '../spec/document.ts'
import { resolveSchema } from '../spec/document.ts'

export interface BadBody {
  /** What is wrong, such as `temperature below its minimum`. */
  name: string
  body: unknown
  /** Where the 422 must say it is. */
  loc: string[]
  /** Only a strict validator finds it: mocks let it pass. */
  isSubtle: boolean
}

export interface BadParameter {
  name: string
  in: Parameter['in']
  parameter: string
  value: string
  isSubtle: boolean
}

type Breach = { what: string; value: unknown; isSubtle?: boolean }

/** Most faulty items that one list of a good body is tried with: more tell nothing new. */
const ITEMS_TRIED = 1

/** Bodies that differ from the good one in one place: a required property removed, a type, bound, list of values or format broken. */
export function toBadBodies(operation: Operation, good: unknown): BadBody[] {
  const schema = operation.requestBody?.content.get('application/json')?.schema
  if (!schema) return []
  return walk(schema, good, [], operation.components).map(({ at, what, value, isSubtle }) => ({
    name: `${at.join('.') || 'the body'} ${what}`,
    body: replaceAt(good, at, value),
    loc: ['body', ...at],
    isSubtle: isSubtle === true || (at.length === 0 && value === null),
  }))
}

/** Values that a parameter must not have. Those of path parameters that name a team are left to authorization. */
export function toBadParameters(operation: Operation): BadParameter[] {
  return operation.parameters.flatMap(parameter => {
    const schema = resolveSchema(parameter.schema, operation.components)
    if (typeof schema === 'boolean' || parameter.name === 'entity') return []
    return breachesOfText(schema)
      .filter(({ value }) => value !== '' || parameter.in === 'query')
      .map(({ what, value, isSubtle }) => ({
        name: `${parameter.name} ${what}`,
        in: parameter.in,
        parameter: parameter.name,
        value: String(value),
        isSubtle: isSubtle === true || value === '',
      }))
  })
}

const REMOVED = Symbol('removed')

function walk(schema: Schema, good: unknown, at: string[], components: Components): (Breach & { at: string[] })[] {
  const resolved = merge(schema, components)
  const own = breachesOf(resolved).map(breach => ({ ...breach, at }))
  if (Array.isArray(good)) {
    const items = good.slice(0, ITEMS_TRIED)
    return [
      ...own,
      ...items.flatMap((item, index) =>
        walk((resolved.items as Schema) ?? true, item, [...at, String(index)], components),
      ),
    ]
  }
  if (typeof good !== 'object' || good === null) return own
  const required = (resolved.required as string[] | undefined) ?? []
  const properties = Object.entries((resolved.properties as Record<string, Schema> | undefined) ?? {})
  const removed = required.map(name => ({ what: 'removed', value: REMOVED, at: [...at, name] }))
  const inner = properties.flatMap(([name, property]) =>
    walk(property, (good as Record<string, unknown>)[name], [...at, name], components),
  )
  return [...own, ...removed, ...inner]
}

/** A schema with its references followed; unions are left alone, since one value may fit another branch. */
function merge(schema: Schema, components: Components): SchemaObject {
  const resolved = resolveSchema(schema, components)
  if (typeof resolved === 'boolean' || resolved.oneOf || resolved.anyOf) return {}
  return resolved
}

function breachesOf(schema: SchemaObject): Breach[] {
  const types = typesOf(schema)
  const breaches: Breach[] = []
  const add = (what: string, value: unknown, isSubtle = false) => breaches.push({ what, value, isSubtle })
  if (types.length > 0) add('of another type', valueOfAnotherType(types))
  if (types.includes('integer')) add('with a fraction', 1.5)
  if (types.length > 0 && !types.includes('null')) add('null', null)
  if (typeof schema.minimum === 'number') add('below its minimum', below(schema.minimum))
  if (typeof schema.maximum === 'number') add('above its maximum', above(schema.maximum))
  if (typeof schema.exclusiveMinimum === 'number') add('at its exclusive minimum', schema.exclusiveMinimum)
  if (typeof schema.minLength === 'number' && schema.minLength > 0) add('too short', 'x'.repeat(schema.minLength - 1))
  if (typeof schema.maxLength === 'number') add('too long', 'x'.repeat(schema.maxLength + 1))
  if (Array.isArray(schema.enum)) add('not one of its values', 'no-such-value')
  if (schema.format === 'uuid') add('not a UUID', 'urn:uuid:01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40', true)
  if (schema.format === 'date') add('not a day', '2026-02-30', true)
  if (schema.format === 'date-time') add('not a time', '2026-01-02 03:04:05Z', true)
  return breaches
}

function breachesOfText(schema: SchemaObject): Breach[] {
  const types = typesOf(schema)
  if (types.includes('array')) return []
  return breachesOf(schema)
    .filter(({ value }) => value !== null && typeof value !== 'object')
    .filter(({ what }) => what !== 'of another type' || !types.includes('string'))
    .concat(types.includes('integer') ? [{ what: 'not a number', value: 'ten' }] : [])
}

function typesOf(schema: SchemaObject): string[] {
  return schema.type === undefined ? [] : [schema.type].flat().map(String)
}

function valueOfAnotherType(types: string[]): unknown {
  if (!types.includes('object')) return { not: 'expected' }
  return types.includes('array') ? true : []
}

/** The next smaller number that differs even where doubles are coarse. */
function below(limit: number): number {
  return Math.abs(limit) < Number.MAX_SAFE_INTEGER ? limit - 1 : limit * 1.5
}

function above(limit: number): number {
  return Math.abs(limit) < Number.MAX_SAFE_INTEGER ? limit + 1 : limit * 1.5
}

function replaceAt(good: unknown, at: string[], value: unknown): unknown {
  const [step, ...rest] = at
  if (step === undefined) return value
  if (Array.isArray(good))
    return good.map((item, index) => (String(index) === step ? replaceAt(item, rest, value) : item))
  const copy = { ...(good as Record<string, unknown> | undefined) }
  if (rest.length === 0 && value === REMOVED) delete copy[step]
  else copy[step] = replaceAt(copy[step], rest, value)
  return copy
}
