/**
 * The keyword that stands in for oneOf and anyOf where a value is to be explained: it finds the branch that the value means,
 * by JSON type and then by tag (a property that the branch fixes with const or enum), and reports that branch's errors alone.
 */
import type { ErrorObject, FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import type { Schema, SchemaObject } from './document.ts'

type Tags = Map<string, unknown[]>
interface Branch {
  schema: Schema
  types: string[] | null
  tags: Tags
  validate?: ValidateFunction
}
type Fault = Pick<ErrorObject, 'keyword' | 'params' | 'message'> & { at?: string }

/** `resolve` follows references; `compile` makes a validator of one branch. */
export function createUnionKeyword(
  resolve: (schema: Schema) => Schema,
  compile: (schema: Schema) => ValidateFunction,
): FuncKeywordDefinition {
  return {
    keyword: 'union',
    schemaType: 'array',
    errors: 'full',
    compile: (schemas: Schema[]) => {
      const branches = schemas.map(schema => toBranch(schema, resolve))
      const validate: DataValidateFunction = (value: unknown, context) => {
        const faults = explain(value, branches, branch => {
          // Branches may refer to the schema that is being compiled, so they are compiled when first used.
          branch.validate ??= compile(branch.schema)
          return branch.validate(value, context) ? [] : [...(branch.validate.errors ?? [])]
        })
        validate.errors = faults.map(fault => toError(fault, context?.instancePath ?? '', value))
        return faults.length === 0
      }
      return validate
    },
  }
}

function explain(value: unknown, branches: Branch[], run: (branch: Branch) => ErrorObject[]): (ErrorObject | Fault)[] {
  const fitting = branches.filter(branch => branch.types === null || branch.types.some(type => isOfType(value, type)))
  if (fitting.length === 0)
    return [{ keyword: 'type', params: { type: [...new Set(branches.flatMap(b => b.types ?? []))] } }]
  const meant = isObject(value) ? pickByTag(value, fitting) : fitting
  if (!Array.isArray(meant)) return [meant]
  let fewest: ErrorObject[] | undefined
  for (const branch of meant) {
    const errors = run(branch)
    if (errors.length === 0) return []
    if (!fewest || errors.length < fewest.length) fewest = errors
  }
  return fewest ?? []
}

/** The branches whose tags the object carries; else those without any tag; else what is wrong with the tag. */
function pickByTag(value: Record<string, unknown>, branches: Branch[]): Branch[] | Fault {
  const carries = (branch: Branch) => [...branch.tags].every(([name, allowed]) => allowed.includes(value[name]))
  const named = branches.filter(branch => branch.tags.size > 0 && carries(branch))
  if (named.length > 0) return named
  const untagged = branches.filter(branch => branch.tags.size === 0)
  if (untagged.length > 0) return untagged
  const names = branches.flatMap(branch => [...branch.tags.keys()])
  const tag = names.toSorted((a, b) => count(names, b) - count(names, a))[0]!
  if (value[tag] === undefined) return { keyword: 'required', params: { missingProperty: tag } }
  return { keyword: 'enum', at: tag, params: { allowedValues: branches.flatMap(branch => branch.tags.get(tag) ?? []) } }
}

function count(names: string[], name: string): number {
  return names.filter(other => other === name).length
}

function toError(fault: ErrorObject | Fault, base: string, value: unknown): ErrorObject {
  if ('schemaPath' in fault) return fault
  const { at, ...rest } = fault
  const instancePath = at === undefined ? base : `${base}/${at.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return { ...rest, instancePath, schemaPath: '#/union', data: value }
}

function toBranch(schema: Schema, resolve: (schema: Schema) => Schema): Branch {
  const types: string[] = []
  const tags: Tags = new Map()
  collect(schema, resolve, types, tags)
  return { schema, types: types.length > 0 ? types : null, tags }
}

function collect(schema: Schema, resolve: (schema: Schema) => Schema, types: string[], tags: Tags): void {
  const resolved = resolve(schema)
  if (typeof resolved === 'boolean') return
  if (resolved.type !== undefined) types.push(...[resolved.type].flat().map(String))
  else if ('const' in resolved) types.push(typeOf(resolved.const))
  else if (Array.isArray(resolved.enum)) types.push(...resolved.enum.map(typeOf))
  for (const [name, property] of Object.entries((resolved.properties as Record<string, Schema> | undefined) ?? {})) {
    const tag = resolve(property)
    if (typeof tag === 'boolean' || !isRequired(resolved, name)) continue
    if ('const' in tag) tags.set(name, [tag.const])
    else if (Array.isArray(tag.enum)) tags.set(name, tag.enum)
  }
  for (const part of (resolved.allOf as Schema[] | undefined) ?? []) collect(part, resolve, types, tags)
}

function isRequired(schema: SchemaObject, name: string): boolean {
  return Array.isArray(schema.required) && schema.required.includes(name)
}

function isOfType(value: unknown, type: string): boolean {
  return type === 'integer' ? Number.isInteger(value) : type === typeOf(value)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
