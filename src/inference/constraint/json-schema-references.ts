/** A schema's references to its own places, and its size. */
import { ConstraintError } from './constraint-error.ts'
import type { Located } from './json-schema-parts.ts'
import type { CompileBudget } from './limits.ts'

/** The schema that a `$ref` names by a JSON pointer. Throws a ConstraintError for any other reference. */
export function findReferenced(root: Located, { value, path }: { value: unknown; path: readonly string[] }): Located {
  if (typeof value !== 'string' || !/^#(\/|$)/.test(value)) {
    throw new ConstraintError(path, `only references within the schema are supported, such as "#/$defs/name"`)
  }
  let schema = root.schema
  const steps = pointerSteps(value, path)
  for (const step of steps) {
    if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, step)) {
      throw new ConstraintError(path, `${value} leads to nothing`)
    }
    schema = (schema as Record<string, unknown>)[step]
  }
  return { schema, path: [...root.path, ...steps] }
}

/** @see https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function pointerSteps(reference: string, path: readonly string[]): string[] {
  try {
    const steps = decodeURIComponent(reference).split('/').slice(1)
    return steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    throw new ConstraintError(path, `${reference} is not a JSON pointer`)
  }
}

/** Throws a ConstraintError for a schema that is too deep or, as JSON text, too long. */
export function checkSize(schema: unknown, budget: CompileBudget, path: readonly string[]): void {
  let level = [schema]
  for (let depth = 0; level.length > 0; depth++) {
    budget.checkNesting(depth, path)
    level = level.flatMap(value => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  budget.checkLength(JSON.stringify(schema)?.length ?? 0, path)
}
