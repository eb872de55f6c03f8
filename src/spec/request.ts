/** Path, query and header strings as the values that the contract's parameters describe. */
import type { Components, Parameter, Schema, SchemaObject } from './document.ts'
import { resolveSchema } from './document.ts'

/** What the HTTP layer has: decoded strings. A repeated query key is a list. Header names are in lower case. */
export interface RawParameters {
  path: Readonly<Record<string, string | undefined>>
  query: Readonly<Record<string, string | string[] | undefined>>
  headers: Readonly<Record<string, string | string[] | undefined>>
}

const INTEGER = /^[+-]?\d+$/
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** The parameter's value, undefined where it is not given; text that does not fit its type stays text, for validation to refuse. */
export function readParameter(parameter: Parameter, raw: RawParameters, components: Components): unknown {
  const given = find(parameter, raw)
  const schema = resolveSchema(parameter.schema, components)
  if (given === undefined) return typeof schema === 'object' ? schema.default : undefined
  if (typeof schema !== 'object') return given
  if (!typesOf(schema).includes('array')) return typeof given === 'string' ? toScalar(given, schema) : given
  const items = resolveSchema((schema.items as Schema | undefined) ?? true, components)
  // Common clients write lists by repetition, joined with commas, or with brackets after the name: all three are understood,
  // and a text with nothing in it is no item.
  const texts = [given]
    .flat()
    .flatMap(text => text.split(','))
    .filter(text => text !== '')
  return texts.map(text => (typeof items === 'object' ? toScalar(text, items) : text))
}

function find(parameter: Parameter, raw: RawParameters): string | string[] | undefined {
  if (parameter.in === 'path') return raw.path[parameter.name]
  if (parameter.in === 'header') return raw.headers[parameter.name]
  const plain = raw.query[parameter.name]
  const bracketed = raw.query[`${parameter.name}[]`]
  if (bracketed === undefined) return plain
  return plain === undefined ? [bracketed].flat() : [plain, bracketed].flat()
}

function toScalar(text: string, schema: SchemaObject): unknown {
  for (const type of typesOf(schema)) {
    if (type === 'integer' && INTEGER.test(text)) return Number(text)
    if (type === 'number' && NUMBER.test(text)) return Number(text)
    if (type === 'boolean' && BOOLEANS.has(text)) return BOOLEANS.get(text)
  }
  return text
}

function typesOf(schema: SchemaObject): string[] {
  return schema.type === undefined ? [] : [schema.type].flat().map(String)
}
