/** Rebuilds a JSON Schema (2020-12) keyword by keyword, so that a property named like a keyword is never taken for one. */
import type { Schema, SchemaObject } from './document.ts'

const ONE = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'propertyNames',
  'not',
]
const CONDITION = ['if', 'then', 'else']
const MANY = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs']

const IN_PLACE = new Set(['allOf', 'anyOf', 'oneOf', 'dependentSchemas', ...CONDITION])
const kinds = new Map<string, 'one' | 'many' | 'named'>([
  ...[...ONE, ...CONDITION].map(keyword => [keyword, 'one'] as const),
  ...MANY.map(keyword => [keyword, 'many'] as const),
  ...NAMED.map(keyword => [keyword, 'named'] as const),
])

/**
 * A copy of the schema whose direct subschemas are replaced by `visit(subschema, inPlace, keyword)`; `inPlace` says that the
 * subschema applies to the same value as its parent. Everything else is kept.
 */
export function mapSubschemas(
  schema: SchemaObject,
  visit: (subschema: Schema, inPlace: boolean, keyword: string) => Schema,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = kinds.get(keyword)
    const inPlace = IN_PLACE.has(keyword)
    const walk = (subschema: Schema) => visit(subschema, inPlace, keyword)
    if (kind === 'one') copy[keyword] = walk(value as Schema)
    else if (kind === 'many') copy[keyword] = (value as Schema[]).map(walk)
    else if (kind === 'named') copy[keyword] = mapValues(value as Record<string, Schema>, walk)
    else copy[keyword] = value
  }
  return copy
}

function mapValues(record: Record<string, Schema>, visit: (schema: Schema) => Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(record).map(([name, schema]) => [name, visit(schema)]))
}
