/** Regular expressions as JavaScript reads them with the flag `u`, without what a finite automaton cannot do. */
import { anyCharacter, type CharacterSet, charactersOf, complementOf, toUtf8 } from './character-set.ts'
import { alternatives, type Node, repeat, sequence } from './grammar.ts'
import type { CompileBudget } from './limits.ts'
import { readCharacterClass, readCount, readEscape } from './notation.ts'
import { TextReader } from './text-reader.ts'

/** A regular expression over characters, before it is decided how each of them is written. */
export type Expression =
  | { kind: 'characters'; set: CharacterSet }
  | { kind: 'sequence'; parts: Expression[] }
  | { kind: 'alternatives'; options: Expression[] }
  | { kind: 'repeat'; body: Expression; min: number; max: number | null }
  | Anchor

/** ^ and $ and where they stand: gone once an expression has been parsed. */
interface Anchor {
  kind: 'anchor'
  side: '^' | '$'
  at: number
}

/** What the expression matches from beginning to end. Throws a ConstraintError naming what is not supported, and where. */
export function regularExpression(pattern: string, budget: CompileBudget): Node {
  return fromExpression(parseRegularExpression(pattern, budget), toUtf8, budget)
}

/** The grammar of an expression whose characters are written as `encode` says. */
export function fromExpression(
  expression: Expression,
  encode: (set: CharacterSet) => Node,
  budget: CompileBudget,
): Node {
  const known = new Map<string, Node>()
  return toNode(expression)

  function toNode(expression: Expression): Node {
    switch (expression.kind) {
      case 'characters':
        return encodeOnce(expression.set)
      case 'sequence':
        return sequence(...expression.parts.map(toNode))
      case 'alternatives':
        return alternatives(...expression.options.map(toNode))
      case 'repeat':
        return repeat(toNode(expression.body), expression.min, expression.max)
      case 'anchor':
        throw new Error('anchors are resolved when an expression is parsed')
    }
  }

  /** The same class is the same node, and costs its bytes once. */
  function encodeOnce(set: CharacterSet): Node {
    const key = set.join()
    const node = known.get(key) ?? encode(set)
    if (!known.has(key)) budget.spend(PARTS_PER_RANGE * set.length)
    known.set(key, node)
    return node
  }
}

/** A range of characters takes about this many ranges of bytes. */
const PARTS_PER_RANGE = 20

export interface ReadingOptions {
  /** Goes with every error. */
  path?: readonly string[]
  /** Whether the expression may match anywhere in the text, so that ^ and $ have their meaning. */
  isSearch?: boolean
}

export function parseRegularExpression(
  pattern: string,
  budget: CompileBudget,
  options: ReadingOptions = {},
): Expression {
  const { path = [], isSearch = false } = options
  budget.checkLength(pattern.length, path)
  const reader = new TextReader(pattern, path)
  const expression = readAlternatives(reader, budget, 1)
  if (!reader.isAtEnd) reader.fail('has a ) without its (')
  return resolveAnchors(expression, isSearch, reader)
}

function readAlternatives(reader: TextReader, budget: CompileBudget, depth: number): Expression {
  budget.checkNesting(depth, reader.path)
  const options: Expression[] = []
  do options.push(readSequence(reader, budget, depth))
  while (reader.takeIf('|'))
  return options.length === 1 ? options[0] : { kind: 'alternatives', options }
}

function readSequence(reader: TextReader, budget: CompileBudget, depth: number): Expression {
  const parts: Expression[] = []
  while (!reader.isAtEnd && reader.peek() !== '|' && reader.peek() !== ')') {
    budget.spend(1, reader.path)
    const part = readPart(reader, budget, depth)
    const start = reader.position
    const count = readCount(reader)
    if (count && part.kind === 'anchor') reader.fail('an anchor cannot be repeated', start)
    // a lazy count matches the same texts
    if (count) reader.takeIf('?')
    parts.push(count ? { kind: 'repeat', body: part, ...count } : part)
  }
  return { kind: 'sequence', parts }
}

const lineBreaks = charactersOf('\n\r\u2028\u2029')

function readPart(reader: TextReader, budget: CompileBudget, depth: number): Expression {
  const at = reader.position
  const character = reader.take('a character')
  switch (character) {
    case '(':
      return readGroup(reader, budget, depth)
    case '[':
      return { kind: 'characters', set: readCharacterClass(reader) }
    case '.':
      return { kind: 'characters', set: complementOf(lineBreaks) }
    case '\\':
      return { kind: 'characters', set: readEscape(reader) }
    case '^':
    case '$':
      return { kind: 'anchor', side: character, at }
    case '*':
    case '+':
    case '?':
      return reader.fail(`there is nothing for ${character} to repeat`, at)
    default:
      return { kind: 'characters', set: charactersOf(character) }
  }
}

/** What may follow `(?`, by name, that is not a plain group. Longer ones first. */
const unsupportedGroups = [
  ['<=', 'look-behind is'],
  ['<!', 'look-behind is'],
  ['=', 'look-ahead is'],
  ['!', 'look-ahead is'],
  ['>', 'atomic groups are'],
  ['P=', 'back-references are'],
  ['(', 'conditional groups are'],
] as const

function readGroup(reader: TextReader, budget: CompileBudget, depth: number): Expression {
  const at = reader.position - 1
  if (reader.takeIf('?') && !reader.takeIf(':')) {
    const unsupported = unsupportedGroups.find(([mark]) => reader.takeIf(mark))
    if (unsupported) reader.fail(`${unsupported[1]} not supported`, at)
    if (!reader.takeIf('P<') && !reader.takeIf('<')) reader.fail('flags within an expression are not supported', at)
    if (!reader.takeWhile(/[\p{L}\p{N}_$]/u) || !reader.takeIf('>')) reader.fail('a group has a malformed name', at)
  }
  const inside = readAlternatives(reader, budget, depth + 1)
  if (!reader.takeIf(')')) reader.fail('has a ( without its )', at)
  return inside
}

const anything: Expression = { kind: 'repeat', body: { kind: 'characters', set: anyCharacter }, min: 0, max: null }

/**
 * Takes ^ from the beginning and $ from the end of each alternative; in a search, their absence lets any text stand there.
 * Anchors in other places are refused.
 */
function resolveAnchors(expression: Expression, isSearch: boolean, reader: TextReader): Expression {
  if (expression.kind === 'alternatives') {
    return { kind: 'alternatives', options: expression.options.map(option => resolveAnchors(option, isSearch, reader)) }
  }
  let parts = expression.kind === 'sequence' ? expression.parts : [expression]
  const [only] = parts
  if (parts.length === 1 && only.kind !== 'anchor' && only.kind !== 'characters' && only.kind !== 'repeat') {
    return resolveAnchors(only, isSearch, reader)
  }
  const start = parts.findIndex(part => !isAnchor(part, '^'))
  const hasStart = start !== 0 && parts.length > 0
  parts = start < 0 ? [] : parts.slice(start)
  const end = parts.findLastIndex(part => !isAnchor(part, '$')) + 1
  const hasEnd = end < parts.length
  parts = parts.slice(0, end)
  for (const part of parts) refuseAnchors(part, reader)
  const [before, after] = [isSearch && !hasStart ? [anything] : [], isSearch && !hasEnd ? [anything] : []]
  return { kind: 'sequence', parts: [...before, ...parts, ...after] }
}

function isAnchor(expression: Expression, side: '^' | '$'): boolean {
  return expression.kind === 'anchor' && expression.side === side
}

function refuseAnchors(expression: Expression, reader: TextReader): void {
  if (expression.kind === 'anchor') {
    reader.fail(`${expression.side} is supported only where an alternative begins or ends`, expression.at)
  }
  if (expression.kind === 'repeat') refuseAnchors(expression.body, reader)
  if (expression.kind === 'sequence') for (const part of expression.parts) refuseAnchors(part, reader)
  if (expression.kind === 'alternatives') for (const option of expression.options) refuseAnchors(option, reader)
}
