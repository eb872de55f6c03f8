/** Every way to make one place of a value break its schema, by the schema alone. */
import { type Components, resolveSchema, type Schema, type SchemaObject } from '../../src/spec/document.ts'
import type { Json } from './change-replies.ts'

export interface Breach {
  kind: string
  /** Keys down to the place; `*` stands for the first item of a list. */
  at: readonly string[]
  /** The value that comes instead, or REMOVED. */
  change(value: Json): Json
}

export const REMOVED = Symbol('removed')

/** Deeper places are parts of larger things, which break as these do. */
const MAX_DEPTH = 7

/**
 * What may have any form is left out, and so is what stays within the schema: null where it is allowed, a key more in an open object.
 */
export function toBreaches(schema: Schema, components: Components, at: readonly string[] = []): Breach[] {
  const form = toForm(schema, components)
  if (form === null || at.length > MAX_DEPTH) return []
  const own = ownBreaches(form, at)
  const items = form.items === undefined ? [] : toBreaches(form.items as Schema, components, [...at, '*'])
  const properties = Object.entries((form.properties as Record<string, Schema> | undefined) ?? {})
  const required = new Set((form.required as string[] | undefined) ?? [])
  const inner = properties.flatMap(([name, property]) => [
    ...(required.has(name) ? [{ kind: 'required property dropped', at: [...at, name], change: () => REMOVED }] : []),
    ...toBreaches(property, components, [...at, name]),
  ])
  return [...own, ...items, ...inner]
}

/** The schema of what is there, with references followed; of a value or null, that of the value. Null: any of several forms, or any at all. */
function toForm(schema: Schema, components: Components): (SchemaObject & { isNullable?: boolean }) | null {
  const resolved = resolveSchema(schema, components)
  if (typeof resolved === 'boolean') return null
  const branches = (resolved.oneOf ?? resolved.anyOf) as Schema[] | undefined
  if (!branches) return resolved
  const forms = branches.map(branch => resolveSchema(branch, components))
  const values = forms.filter(form => typeof form !== 'object' || form.type !== 'null')
  const [only] = values
  if (values.length !== 1 || typeof only !== 'object') return null
  return { ...only, isNullable: values.length < forms.length }
}

function ownBreaches(form: SchemaObject & { isNullable?: boolean }, at: readonly string[]): Breach[] {
  const types = form.type === undefined ? [] : [form.type].flat().map(String)
  if (types.length === 0) return []
  const isNullable = form.isNullable === true || types.includes('null')
  const breaches: Breach[] = []
  const add = (kind: string, change: Breach['change']) => breaches.push({ kind, at, change })
  add('wrong type', () => (types.includes('object') ? 'an object' : { not: 'expected' }))
  if (!isNullable) add('null where not allowed', () => null)
  if (types.includes('integer') || types.includes('number'))
    add('number as string', value => (typeof value === 'number' ? String(value) : value))
  if (types.includes('integer')) add('fraction', value => (typeof value === 'number' ? value + 0.5 : value))
  if (typeof form.minimum === 'number') add('below the minimum', () => Number(form.minimum) - 1)
  if (form.enum !== undefined || form.const !== undefined) add('unknown enum value', () => 'no_such_value')
  const broken = toBrokenFormat(form)
  if (broken) add('format broken', value => (typeof value === 'string' ? broken(value) : value))
  if (form.properties !== undefined && form.additionalProperties === false)
    add('extra property', value => (isObject(value) ? { ...value, x_extra: 1 } : value))
  return breaches
}

function toBrokenFormat({ format, pattern }: SchemaObject): ((value: string) => string) | null {
  if (format === 'date-time') return value => value.replace('T', ' ')
  if (format === 'date') return value => value.replaceAll('-', '/')
  if (format === 'uuid') return value => value.replaceAll('-', '')
  return pattern === undefined ? null : value => `#${value}`
}

/** Makes the change at the place, if the value has it; else gives the very same value. */
export function applyBreach(value: Json, { at, change }: Breach): Json {
  const [step, ...rest] = at
  if (step === undefined) return change(value)
  if (step === '*') {
    if (!Array.isArray(value) || value.length === 0) return value
    const first = applyBreach(value[0], { kind: '', at: rest, change })
    return first === value[0] ? value : [first, ...value.slice(1)]
  }
  if (!isObject(value) || !(step in value)) return value
  const inner = applyBreach(value[step], { kind: '', at: rest, change })
  if (inner === value[step]) return value
  const { [step]: _, ...others } = value
  return inner === REMOVED ? others : { ...value, [step]: inner }
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
