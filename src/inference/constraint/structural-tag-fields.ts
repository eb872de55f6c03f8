/** Fields of a structural tag, read with errors that tell the place. */
import { ConstraintError } from './constraint-error.ts'

export interface Fields {
  value: Readonly<Record<string, unknown>>
  path: readonly string[]
}

export function toFields(value: unknown, path: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConstraintError(path, 'must be an object')
  }
  return { value: value as Fields['value'], path }
}

/** Refuses fields that would be ignored. */
export function checkNames({ value, path }: Fields, names: readonly string[]): void {
  const unknown = Object.keys(value).find(name => !names.includes(name))
  if (unknown !== undefined) throw new ConstraintError([...path, unknown], `the field ${unknown} is not supported`)
}

export function toText({ value, path }: Fields, name: string): string {
  const text = value[name]
  if (typeof text !== 'string') throw new ConstraintError([...path, name], 'must be a string')
  return text
}

export function toBoolean({ value, path }: Fields, name: string): boolean {
  const flag = value[name] ?? false
  if (typeof flag !== 'boolean') throw new ConstraintError([...path, name], 'must be true or false')
  return flag
}

/** A list with at least one element, each with its path. */
export function toList({ value, path }: Fields, name: string): { value: unknown; path: string[] }[] {
  const list = value[name]
  if (!Array.isArray(list) || list.length === 0)
    throw new ConstraintError([...path, name], 'must be a list of at least one')
  return list.map((element, index) => ({ value: element, path: [...path, name, String(index)] }))
}

export function toTexts(fields: Fields, name: string): string[] {
  return toList(fields, name).map(({ value, path }) => {
    if (typeof value !== 'string' || value === '') throw new ConstraintError(path, 'must be a string that is not empty')
    return value
  })
}
