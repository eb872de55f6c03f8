/**
 * Which part of a schema a value breaks, as a pointer that a reader can follow to the line where the rule is written.
 */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Components, Schema, SchemaObject } from '../spec/document.ts'
import { escapePointer, resolveSchema, unescapePointer } from '../spec/document.ts'

interface Reached {
  schema: SchemaObject | null
  pointer: string
  /** Steps of the value's path that were not found in the schema. */
  left: number
}

/** The pointer of the broken keyword, as near as the schema names it; `pointer` is that of the schema. */
export function toRulePointer(schema: Schema, components: Components, pointer: string, error: ErrorObject): string {
  const steps = error.instancePath.split('/').slice(1).map(unescapePointer)
  const reached = descend(schema, components, pointer, steps)
  if (!reached.schema) return reached.pointer
  if (error.keyword in reached.schema) return `${reached.pointer}/${error.keyword}`
  for (const branch of branchesOf(reached.schema, components, reached.pointer))
    if (branch.schema && error.keyword in branch.schema) return `${branch.pointer}/${error.keyword}`
  return reached.pointer
}

function descend(schema: Schema, components: Components, pointer: string, steps: string[]): Reached {
  const resolved = resolveSchema(schema, components)
  if (typeof resolved === 'boolean') return { schema: null, pointer, left: steps.length }
  const [step, ...rest] = steps
  if (step === undefined) return { schema: resolved, pointer, left: 0 }
  const properties = (resolved.properties ?? {}) as Record<string, Schema>
  if (Object.hasOwn(properties, step))
    return descend(properties[step]!, components, `${pointer}/properties/${escapePointer(step)}`, rest)
  const keyword = /^\d+$/.test(step) && resolved.items !== undefined ? 'items' : 'additionalProperties'
  const tried = branchesOf(resolved, components, pointer).map(branch =>
    branch.schema ? descend(branch.schema, components, branch.pointer, steps) : branch,
  )
  if (typeof resolved[keyword] === 'object')
    tried.push(descend(resolved[keyword] as Schema, components, `${pointer}/${keyword}`, rest))
  const best = tried.toSorted((a, b) => a.left - b.left)[0]
  return best && best.left < steps.length ? best : { schema: resolved, pointer, left: steps.length }
}

function branchesOf(schema: SchemaObject, components: Components, pointer: string): Reached[] {
  return ['allOf', 'oneOf', 'anyOf', 'then', 'else'].flatMap(keyword => {
    const part = schema[keyword]
    if (part === undefined) return []
    const list = Array.isArray(part)
      ? part.map((branch, index) => [branch, `/${index}`] as const)
      : [[part, ''] as const]
    return list.map(([branch, index]) => {
      const resolved = resolveSchema(branch as Schema, components)
      const at = `${pointer}/${keyword}${index}`
      return { schema: typeof resolved === 'boolean' ? null : resolved, pointer: at, left: Number.MAX_SAFE_INTEGER }
    })
  })
}
