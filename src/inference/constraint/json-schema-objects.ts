/** Objects of a schema: declared properties in their order, then required ones that are not declared, then others. */
import { anyString, bracketed, quoted, stringCharacter, toJsonCharacter } from './any-json.ts'
import { type CharacterSet, charactersOf, complementOf, unionOf, without } from './character-set.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, createRule, empty, literal, type Node, nothing, repeat, sequence } from './grammar.ts'
import {
  type Located,
  largestOf,
  type Part,
  type SchemaContext,
  schemasOf,
  smallestOf,
  valuesOf,
} from './json-schema-parts.ts'

/** A property that may come next: its name and value, without comma. */
interface Property {
  node: Node
  isRequired: boolean
}

export function objectNode(parts: readonly Part[], context: SchemaContext): Node {
  const required = requiredNames(parts)
  const declared = parts.map(part => schemasOf(part, 'properties'))
  const names = new Set([...declared.flatMap(properties => [...properties.keys()]), ...required])
  const additional = parts.flatMap(additionalProperties)
  const hasAdditional = additional.length > 0 || !context.style.disableAdditionalProperties
  const toProperty = (name: string): Property => {
    const schemas = parts.flatMap((part, of) => declared[of].get(name) ?? additionalProperties(part))
    return {
      node: pair(literal(JSON.stringify(name)), context.compile(schemas), context),
      isRequired: required.has(name),
    }
  }
  const other = hasAdditional ? pair(keyExcept(names, context), context.compile(additional), context) : nothing
  const count = { min: largestOf(parts, 'minProperties'), max: smallestOf(parts, 'maxProperties') }
  // others may repeat a name, and so make no more than one property for certain
  if (additional.every(({ schema }) => schema !== false) && hasAdditional && count.min > names.size + 1) {
    const { path } = valuesOf(parts, 'minProperties')[0]
    throw new ConstraintError(path, `cannot be followed beyond ${names.size + 1}: additional names may repeat`)
  }
  const mayBeEmpty = required.size === 0 && count.min === 0
  return bracketed('{}', membersNode([...names].map(toProperty), other, count, context), mayBeEmpty, context.style)
}

function requiredNames(parts: readonly Part[]): Set<string> {
  const names = valuesOf(parts, 'required').flatMap(({ value, path }) => {
    if (Array.isArray(value) && value.every(name => typeof name === 'string')) return value as string[]
    throw new ConstraintError(path, 'must be a list of names')
  })
  return new Set(names)
}

/** The part's schema for properties that it does not declare: none where it says nothing of them. */
function additionalProperties({ schema, path }: Part): Located[] {
  const value = schema.additionalProperties
  return value === undefined ? [] : [{ schema: value, path: [...path, 'additionalProperties'] }]
}

function pair(key: Node, value: Node, { style }: SchemaContext): Node {
  return sequence(key, style.colon, value)
}

/**
 * One member or more, built from the last property back to the first. For each property there is a node for every number of
 * members before it, as far as the bounds on their number can tell them apart.
 */
function membersNode(
  properties: readonly Property[],
  other: Node,
  { min, max }: { min: number; max: number | null },
  { style, budget }: SchemaContext,
): Node {
  const counted = max ?? min
  budget.spend((properties.length + 1) * (counted + 1))
  const counts = Array.from({ length: counted + 1 }, (_, count) => count)
  const isFull = (count: number) => max !== null && count === max
  const others = (missing: number, most: number | null) =>
    missing > 1 ? nothing : repeat(sequence(style.comma, other), missing, most)

  let first = isFull(0) || min > 1 ? nothing : sequence(other, others(0, max === null ? null : max - 1))
  let following = counts.map(count => others(Math.max(0, min - count), max === null ? null : max - count))
  for (const { node, isRequired } of properties.toReversed()) {
    const take = (comma: Node, count: number) =>
      isFull(count) ? nothing : sequence(comma, node, inOnePiece(following[Math.min(count + 1, counted)]))
    const skip = (rest: Node) => (isRequired ? nothing : rest)
    first = inOnePiece(alternatives(take(empty, 0), skip(first)))
    following = counts.map(count => alternatives(take(style.comma, count), skip(inOnePiece(following[count]))))
  }
  return first
}

/** Without this, each property's node would hold a copy of all that follows it. */
function inOnePiece(node: Node): Node {
  return node.kind === 'sequence' && node !== empty ? createRule('the rest of an object', node) : node
}

/** A name other than these, and its quotes. Names are written in one way only, so that no escape hides one of these. */
function keyExcept(names: ReadonlySet<string>, { budget }: SchemaContext): Node {
  if (names.size === 0) return anyString
  const root: Beginning = { isName: false, next: new Map() }
  const beginnings = [root]
  for (const name of names) {
    let beginning = root
    for (const character of name) {
      let next = beginning.next.get(character)
      if (!next) {
        next = { isName: false, next: new Map() }
        beginning.next.set(character, next)
        beginnings.push(next)
      }
      beginning = next
    }
    beginning.isName = true
  }
  budget.spend(beginnings.length * NODES_PER_BEGINNING)
  const nodes = new Map<Beginning, Node>()
  for (const beginning of beginnings.toReversed()) {
    const differing = sequence(characterExcept([...beginning.next.keys()]), anyCharacters)
    const alike = [...beginning.next].map(([character, next]) =>
      sequence(literal(JSON.stringify(character).slice(1, -1)), createRule('the rest of a name', nodes.get(next))),
    )
    nodes.set(beginning, alternatives(beginning.isName ? nothing : empty, differing, ...alike))
  }
  return quoted(nodes.get(root)!)
}

/** What one or more names begin with. */
interface Beginning {
  isName: boolean
  next: Map<string, Beginning>
}

const NODES_PER_BEGINNING = 5

const anyCharacters = repeat(stringCharacter, 0, null)
const ascii: CharacterSet = [[0, 0x7f]]
const beyondAscii = toJsonCharacter(complementOf(ascii))
/** For each ASCII character all others: most places in names are followed by one. */
const exceptOne = new Map<string, Node>()

function characterExcept(excluded: readonly string[]): Node {
  const [only] = excluded
  const known = excluded.length === 1 && exceptOne.get(only)
  if (known) return known
  const set = unionOf(excluded.flatMap(charactersOf))
  if (without(set, ascii).length > 0) return toJsonCharacter(complementOf(set))
  const node = alternatives(toJsonCharacter(without(ascii, set)), beyondAscii)
  if (excluded.length === 1) exceptOne.set(only, node)
  return node
}
