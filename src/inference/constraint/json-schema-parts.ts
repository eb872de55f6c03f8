/** Schemas as the compiler sees them: several at once, all of which a value must match, each with its place. */
import { ConstraintError } from './constraint-error.ts'
import type { Node } from './grammar.ts'
import type { JsonStyle } from './json-style.ts'
import type { CompileBudget } from './limits.ts'

/** A schema and where it stands: an object or a boolean, which is not checked yet. */
export interface Located {
  schema: unknown
  path: readonly string[]
}

/** A schema object without what has been resolved already: references and combinations. */
export interface Part {
  schema: Readonly<Record<string, unknown>>
  path: readonly string[]
}

/** What the parts of the compiler share. */
export interface SchemaContext {
  style: JsonStyle
  budget: CompileBudget
  /** A value that matches all of the schemas. */
  compile(schemas: readonly Located[]): Node
}

/** A keyword's value in each part that has it. */
export function valuesOf(parts: readonly Part[], keyword: string): { value: unknown; path: string[] }[] {
  return parts
    .filter(({ schema }) => Object.hasOwn(schema, keyword))
    .map(({ schema, path }) => ({ value: schema[keyword], path: [...path, keyword] }))
}

/** The values of a keyword that takes a number. */
export function numbersOf(parts: readonly Part[], keyword: string): number[] {
  return valuesOf(parts, keyword).map(({ value, path }) => {
    if (typeof value !== 'number') throw new ConstraintError(path, 'must be a number')
    return value
  })
}

/** The largest of a `min...` keyword's values, 0 without one. */
export function largestOf(parts: readonly Part[], keyword: string): number {
  return Math.max(0, ...countsOf(parts, keyword))
}

/** The smallest of a `max...` keyword's values, null without one. */
export function smallestOf(parts: readonly Part[], keyword: string): number | null {
  const counts = countsOf(parts, keyword)
  return counts.length === 0 ? null : Math.min(...counts)
}

function countsOf(parts: readonly Part[], keyword: string): number[] {
  return valuesOf(parts, keyword).map(({ value, path }) => {
    if (!Number.isInteger(value) || (value as number) < 0) {
      throw new ConstraintError(path, 'must be a whole number of at least 0')
    }
    return value as number
  })
}

/** The entries of a keyword that takes an object of schemas. */
export function schemasOf(part: Part, keyword: string): Map<string, Located> {
  const value = part.schema[keyword] ?? {}
  const path = [...part.path, keyword]
  if (typeof value !== 'object' || Array.isArray(value)) throw new ConstraintError(path, 'must be an object')
  return new Map(Object.entries(value).map(([name, schema]) => [name, { schema, path: [...path, name] }]))
}

/** The elements of a keyword that takes a list of schemas. */
export function schemaListOf(part: Part, keyword: string): Located[] {
  const value = part.schema[keyword] ?? []
  const path = [...part.path, keyword]
  if (!Array.isArray(value)) throw new ConstraintError(path, 'must be a list')
  return value.map((schema, index) => ({ schema, path: [...path, String(index)] }))
}
