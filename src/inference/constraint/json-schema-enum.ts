/** `enum` and `const`: the values that all of a schema's other keywords allow. */
import { Automaton } from './automaton.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, literal, type Node, sequence, words } from './grammar.ts'
import { checkGrammar } from './grammar-check.ts'
import { allowedTypes, constrains, typeOf } from './json-schema-keywords.ts'
import { isWithin } from './json-schema-numbers.ts'
import { type Part, type SchemaContext, valuesOf } from './json-schema-parts.ts'
import { stringNode } from './json-schema-strings.ts'
import type { JsonStyle } from './json-style.ts'

export function hasEnum(parts: readonly Part[]): boolean {
  return parts.some(({ schema }) => Object.hasOwn(schema, 'enum') || Object.hasOwn(schema, 'const'))
}

/** Throws a ConstraintError for objects and arrays among the values, where other keywords speak of those. */
export function enumNode(parts: readonly Part[], context: SchemaContext): Node {
  const [first, ...others] = listsOf(parts)
  const texts = others.map(({ values }) => new Set(values.map(canonical)))
  const isAllowed = createFilter(parts, context)
  const values = first.values.filter(value => texts.every(text => text.has(canonical(value))) && isAllowed(value))
  const isStructure = (value: unknown) => typeof value === 'object' && value !== null
  for (const value of values) {
    const type = typeOf(value)
    if (!isStructure(value) || !constrains(parts, type)) continue
    throw new ConstraintError(first.path, `an ${type} cannot be combined with other keywords for ${type}s`)
  }
  const simple = words(values.filter(value => !isStructure(value)).map(value => JSON.stringify(value)))
  return alternatives(simple, ...values.filter(isStructure).map(value => valueNode(value, context.style)))
}

function listsOf(parts: readonly Part[]): { values: readonly unknown[]; path: string[] }[] {
  const enums = valuesOf(parts, 'enum').map(({ value, path }) => {
    if (!Array.isArray(value) || value.length === 0) throw new ConstraintError(path, 'must be a list of values')
    return { values: value as unknown[], path }
  })
  return [...enums, ...valuesOf(parts, 'const').map(({ value, path }) => ({ values: [value], path }))]
}

/** The value as text that does not depend on the order of names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeOf(inner) === 'object' ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}

function createFilter(parts: readonly Part[], { budget }: SchemaContext): (value: unknown) => boolean {
  const { types, isInteger } = hasType(parts) ? allowedTypes(parts) : { types: null, isInteger: false }
  const strings = constrains(parts, 'string') ? stringNode(parts, budget) : null
  const isStringAllowed = strings ? createTest(strings, budget) : () => true
  return value => {
    if (types && !types.has(typeOf(value))) return false
    if (typeof value === 'string') return isStringAllowed(JSON.stringify(value))
    if (typeof value === 'number') return (!isInteger || Number.isInteger(value)) && isWithin(value, parts)
    return true
  }
}

function hasType(parts: readonly Part[]): boolean {
  return parts.some(({ schema }) => schema.type !== undefined)
}

/** A test of whether a grammar matches a text. */
function createTest(node: Node, budget: SchemaContext['budget']): (text: string) => boolean {
  const grammar = checkGrammar(node, budget)
  const automaton = new Automaton(grammar, budget.limits)
  return text => {
    let state: Automaton['start'] | null = automaton.start
    for (const byte of Buffer.from(text)) {
      automaton.refill()
      state = state && automaton.next(state, byte)
    }
    return state !== null && automaton.isComplete(state)
  }
}

/** An object or array, written as its schema's other values are. */
function valueNode(value: unknown, style: JsonStyle): Node {
  if (Array.isArray(value))
    return listNode(
      '[]',
      value.map(item => valueNode(item, style)),
      style,
    )
  if (typeof value !== 'object' || value === null) return literal(JSON.stringify(value))
  const members = Object.entries(value).map(([name, member]) =>
    sequence(literal(JSON.stringify(name)), style.colon, valueNode(member, style)),
  )
  return listNode('{}', members, style)
}

function listNode(brackets: '{}' | '[]', items: readonly Node[], style: JsonStyle): Node {
  const [first, ...others] = items
  const inside = first
    ? sequence(style.gap, first, ...others.map(item => sequence(style.comma, item)), style.gap)
    : style.gap
  return sequence(literal(brackets[0]), inside, literal(brackets[1]))
}
