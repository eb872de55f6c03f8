/**
 * Schemas of the contract as functions. Two forms of each: `createTest` says yes or no and is fast; `createExplanation` lists
 * what is wrong, and is compiled only once something is. ajv itself is loaded with the first schema, since a process that
 * only answers health checks needs none.
 */
import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import type { Components, Schema, SchemaObject } from './document.ts'
import { resolveSchema } from './document.ts'
import { formats } from './formats.ts'
import { mapSubschemas } from './schema-walk.ts'
import { createUnionKeyword } from './union-keyword.ts'

export interface CompileOptions {
  /** Objects that list properties take no others, unless they say so: the rule for responses. */
  closed?: boolean
}

type Mode = 'test' | 'first-error' | 'all-errors'

const BASE = 'contract'
const REFERENCE_PREFIX = '#/components/schemas/'
/** A schema that is part of another (allOf) must not be closed by itself: it gets a second form under this suffix. */
const COMPOSED = '.composed'
/** Annotations that JSON Schema does not know. */
const FOREIGN = new Set(['example', 'xml', 'externalDocs', 'discriminator'])

const compilers = new WeakMap<Components, Map<string, Ajv2020>>()
const require = createRequire(import.meta.url)

/** Compiles on the first call. */
export function createTest(
  schema: Schema,
  components: Components,
  options: CompileOptions = {},
): (value: unknown) => boolean {
  let test: ((value: unknown) => boolean) | undefined
  return value => {
    test ??= compile(schema, components, 'test', options)
    return test(value)
  }
}

/** Lists what is wrong with a value, for a union only in the branch that the value means. Compiles on the first call. */
export function createExplanation(
  schema: Schema,
  components: Components,
  options: CompileOptions = {},
): (value: unknown, allErrors: boolean) => ErrorObject[] {
  const byMode = new Map<Mode, ReturnType<typeof compile>>()
  return (value, allErrors) => {
    const mode = allErrors ? 'all-errors' : 'first-error'
    const validate = byMode.get(mode) ?? compile(schema, components, mode, options)
    byMode.set(mode, validate)
    return validate(value) ? [] : [...(validate.errors ?? [])]
  }
}

function compile(schema: Schema, components: Components, mode: Mode, options: CompileOptions) {
  return compilerOf(components, mode, options).compile(prepare(schema, mode, options, false))
}

function compilerOf(components: Components, mode: Mode, options: CompileOptions): Ajv2020 {
  const compilersOfComponents = compilers.get(components) ?? new Map<string, Ajv2020>()
  compilers.set(components, compilersOfComponents)
  const key = `${mode}${options.closed ? ' closed' : ''}`
  const known = compilersOfComponents.get(key)
  if (known) return known
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const compiler = new Ajv2020({
    strict: true,
    // Closing puts a keyword for objects where the type stands in a part; the schemas as written are judged in the open form.
    strictTypes: !options.closed,
    allowUnionTypes: true,
    allErrors: mode === 'all-errors',
    verbose: mode !== 'test',
    // The contract's linter has judged the schemas already, and compiling the meta-schema costs time at run time.
    validateSchema: false,
    formats,
  })
  compiler.addKeyword(
    createUnionKeyword(
      schema => resolvePrepared(schema, components),
      branch => compiler.compile(branch),
    ),
  )
  compiler.addSchema({ $id: BASE, $defs: prepareAll(components, mode, options) })
  compilersOfComponents.set(key, compiler)
  return compiler
}

function prepareAll(components: Components, mode: Mode, options: CompileOptions): Record<string, Schema> {
  const prepared: Record<string, Schema> = {}
  for (const [name, schema] of Object.entries(components)) {
    prepared[name] = prepare(schema, mode, options, false)
    if (options.closed) prepared[name + COMPOSED] = prepare(schema, mode, options, true)
  }
  return prepared
}

/**
 * The form of a schema that ajv gets: references made absolute, foreign annotations dropped, objects closed where asked, and
 * (to explain) unions replaced by the keyword that picks one branch. `composed`: an outer schema closes the object.
 */
function prepare(schema: Schema, mode: Mode, options: CompileOptions, composed: boolean): Schema {
  if (typeof schema === 'boolean') return schema
  const closes = options.closed === true && !composed && listsProperties(schema) && !saysWhatElse(schema)
  const copy = mapSubschemas(schema, (subschema, inPlace, keyword) => {
    const isBranch = keyword === 'oneOf' || keyword === 'anyOf'
    const part = inPlace ? composed || closes || !isBranch : keyword === 'not'
    return prepare(subschema, mode, options, part)
  })
  for (const keyword of Object.keys(copy)) if (FOREIGN.has(keyword) || keyword.startsWith('x-')) delete copy[keyword]
  if (typeof copy.$ref === 'string') {
    copy.$ref = toAbsoluteReference(copy.$ref, options.closed === true && (composed || closes))
  }
  if (closes) copy.unevaluatedProperties = false
  // A closed parent must see which properties a branch has judged, which only ajv's own keywords tell it.
  if (mode !== 'test' && !closes && !composed) replaceUnion(copy)
  return copy
}

function replaceUnion(copy: Record<string, unknown>): void {
  const unions = [copy.oneOf, copy.anyOf].filter(branches => branches !== undefined)
  if (unions.length !== 1) return
  delete copy.oneOf
  delete copy.anyOf
  copy.union = unions[0]
}

function listsProperties(schema: SchemaObject): boolean {
  if (schema.properties !== undefined) return true
  return (
    Array.isArray(schema.allOf) &&
    schema.allOf.some(part => typeof part === 'object' && (part.$ref || listsProperties(part)))
  )
}

function saysWhatElse(schema: SchemaObject): boolean {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return true
  return Array.isArray(schema.allOf) && schema.allOf.some(part => typeof part === 'object' && saysWhatElse(part))
}

function toAbsoluteReference(reference: string, composed: boolean): string {
  if (!reference.startsWith(REFERENCE_PREFIX))
    throw new Error(`A schema refers to ${reference}, outside the component schemas`)
  return `${BASE}#/$defs/${reference.slice(REFERENCE_PREFIX.length)}${composed ? COMPOSED : ''}`
}

/** The schema behind references, whether the document's own or those made above. */
function resolvePrepared(schema: Schema, components: Components): Schema {
  if (typeof schema !== 'object' || typeof schema.$ref !== 'string') return schema
  const reference = schema.$ref
  return resolveSchema(
    { $ref: reference.endsWith(COMPOSED) ? reference.slice(0, -COMPOSED.length) : reference },
    components,
  )
}
