/** Which keywords of JSON Schema 2020-12 are followed, which say nothing about the value, and which are refused. */
import { ConstraintError } from './constraint-error.ts'
import { formats } from './json-schema-formats.ts'
import type { Part } from './json-schema-parts.ts'

export type JsonType = 'null' | 'boolean' | 'object' | 'array' | 'number' | 'string'

/** Keywords that speak of values of one type only. */
const keywordTypes: Record<string, JsonType> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  minProperties: 'object',
  maxProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  maxItems: 'array',
  minLength: 'string',
  maxLength: 'string',
  pattern: 'string',
  format: 'string',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
}

const combining = new Set(['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'])

const annotations = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  '$defs',
  '$vocabulary',
  'definitions',
  'title',
  'description',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'examples',
  'example',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
])

/** Keywords that ask for nothing with this value. */
const withoutEffect: Record<string, unknown> = { uniqueItems: false, minContains: 0 }

/** Throws a ConstraintError for the first keyword that would not be followed, with the keyword at the end of its path. */
export function checkKeywords({ schema, path }: Part): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (keywordTypes[keyword] || combining.has(keyword) || annotations.has(keyword) || keyword.startsWith('x-'))
      continue
    if (Object.hasOwn(withoutEffect, keyword) && withoutEffect[keyword] === value) continue
    throw new ConstraintError([...path, keyword], `the keyword ${keyword} is not supported`)
  }
  const { format } = schema
  if (format !== undefined && (typeof format !== 'string' || !Object.hasOwn(formats, format))) {
    throw new ConstraintError([...path, 'format'], `the format ${JSON.stringify(format)} is not supported`)
  }
}

const jsonTypes: readonly JsonType[] = ['null', 'boolean', 'object', 'array', 'number', 'string']

/** Types that a value may have. `integer` stands beside `number`, and means only whole ones. */
export interface AllowedTypes {
  types: ReadonlySet<JsonType>
  isInteger: boolean
}

/** The types that all parts allow. Where none says, those that their keywords speak of; where none does, all. */
export function allowedTypes(parts: readonly Part[]): AllowedTypes {
  let types = new Set(jsonTypes)
  let isInteger = false
  for (const { schema, path } of parts) {
    if (schema.type === undefined) continue
    const named = new Set([schema.type].flat())
    for (const type of named) {
      if (type !== 'integer' && !jsonTypes.includes(type as JsonType)) {
        throw new ConstraintError([...path, 'type'], `${JSON.stringify(type)} is not a type`)
      }
    }
    if (named.has('integer') && !named.has('number')) {
      isInteger = true
      named.add('number')
    }
    types = new Set([...types].filter(type => named.has(type)))
  }
  if (parts.some(({ schema }) => schema.type !== undefined)) return { types, isInteger }
  const implied = parts.flatMap(({ schema }) => Object.keys(schema).flatMap(keyword => keywordTypes[keyword] ?? []))
  return { types: implied.length > 0 ? new Set(implied) : types, isInteger }
}

/** Whether a part has a keyword for values of this type. */
export function constrains(parts: readonly Part[], type: JsonType): boolean {
  return parts.some(({ schema }) => Object.keys(schema).some(keyword => keywordTypes[keyword] === type))
}

export function typeOf(value: unknown): JsonType {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : (typeof value as JsonType)
}
