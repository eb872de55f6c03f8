/** Arrays of a schema. */
import { bracketed } from './any-json.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, createRule, empty, type Node, nothing, repeat, sequence } from './grammar.ts'
import {
  type Located,
  largestOf,
  type Part,
  type SchemaContext,
  schemaListOf,
  smallestOf,
  valuesOf,
} from './json-schema-parts.ts'

export function arrayNode(parts: readonly Part[], context: SchemaContext): Node {
  const { style, budget } = context
  for (const { value, path } of valuesOf(parts, 'items')) {
    if (Array.isArray(value)) throw new ConstraintError(path, 'must be one schema; a list of schemas is prefixItems')
  }
  const [min, max] = [largestOf(parts, 'minItems'), smallestOf(parts, 'maxItems')]
  const prefixes = parts.map(part => schemaListOf(part, 'prefixItems'))
  const prefixLength = Math.max(...prefixes.map(({ length }) => length))
  budget.spend(prefixLength)
  const itemAt = (index: number) => context.compile(parts.map((part, of) => prefixes[of][index] ?? itemsOf(part)))
  const isFull = (count: number) => max !== null && count >= max
  const canEnd = (count: number) => (count >= min ? empty : nothing)

  // from the last place to the first, because each is written with what follows it
  let rest = isFull(prefixLength) ? canEnd(prefixLength) : furtherItems(itemAt(prefixLength), prefixLength)
  for (let index = prefixLength - 1; index >= 0; index--) {
    const comma = index === 0 ? empty : style.comma
    const next = isFull(index) ? nothing : sequence(comma, itemAt(index), createRule('the rest of an array', rest))
    rest = index === 0 ? next : alternatives(canEnd(index), next)
  }
  return bracketed('[]', rest === empty ? nothing : rest, min === 0, style)

  /** Items after the first `count`. As the whole content of an array they are never none. */
  function furtherItems(item: Node, count: number): Node {
    const left = (bound: number) => Math.max(0, bound - count)
    const following = sequence(style.comma, item)
    if (count > 0) return repeat(following, left(min), max === null ? null : left(max))
    return sequence(item, repeat(following, Math.max(0, min - 1), max === null ? null : max - 1))
  }
}

function itemsOf({ schema, path }: Part): Located {
  return { schema: schema.items ?? true, path: [...path, 'items'] }
}
