/** A valid value of a schema, for parts that the good request does not have. */
import { createTest } from '../../spec/compile-schema.ts'
import type { Components, Schema, SchemaObject } from '../../spec/document.ts'
import { resolveSchema } from '../../spec/document.ts'
import { typeOf } from './json-place.ts'

/** Deeper values are not made up. */
const MOST_DEPTH = 6

const tests = new WeakMap<SchemaObject, (value: unknown) => boolean>()

/** Whether the value is valid under the schema. */
export function fits(value: unknown, schema: Schema, components: Components): boolean {
  if (typeof schema === 'boolean') return schema
  const test = tests.get(schema) ?? createTest(schema, components)
  tests.set(schema, test)
  return test(value)
}

/** From the example, the default, the list of values or the type, in this order; undefined where none of them is valid. Never null. */
export function sampleOf(schema: Schema, components: Components, depth = 0): unknown {
  const resolved = resolveSchema(schema, components)
  if (typeof resolved === 'boolean' || depth > MOST_DEPTH) return undefined
  return candidatesOf(resolved, components, depth).find(value => value != null && fits(value, resolved, components))
}

function candidatesOf(schema: SchemaObject, components: Components, depth: number): unknown[] {
  const listed = [schema.example, schema.const, ...((schema.enum as unknown[] | undefined) ?? []), schema.default]
  const branches = ((schema.oneOf ?? schema.anyOf) as Schema[] | undefined) ?? []
  const made = branches.map(branch => sampleOf(branch, components, depth + 1))
  return [...listed, ...made, ...typesOf(schema).map(type => make(type, schema, components, depth))]
}

export function typesOf(schema: SchemaObject): string[] {
  if (schema.type !== undefined) return [schema.type].flat().map(String)
  if ('const' in schema) return [typeOf(schema.const)]
  return Array.isArray(schema.enum) ? [...new Set(schema.enum.map(typeOf))] : []
}

function make(type: string, schema: SchemaObject, components: Components, depth: number): unknown {
  switch (type) {
    case 'string':
      return 'x'.repeat(Math.max(1, Number(schema.minLength ?? 1)))
    case 'integer':
      return Math.max(1, Number(schema.minimum ?? 1))
    case 'number':
      return Math.min(1, Number(schema.maximum ?? 1))
    case 'boolean':
      return true
    case 'array': {
      const item = sampleOf((schema.items as Schema | undefined) ?? true, components, depth + 1)
      return item === undefined ? [] : [item]
    }
    case 'object':
      return makeObject(schema, components, depth)
    default:
      return undefined
  }
}

function makeObject(schema: SchemaObject, components: Components, depth: number): unknown {
  const properties = (schema.properties as Record<string, Schema> | undefined) ?? {}
  const required = (schema.required as string[] | undefined) ?? []
  return Object.fromEntries(required.map(name => [name, sampleOf(properties[name] ?? true, components, depth + 1)]))
}
