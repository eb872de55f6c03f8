/** Strings of a schema: their length, or a pattern, or both where the pattern's own counts can take the length in. */
import { quoted, stringCharacter, toJsonCharacter } from './any-json.ts'
import { ConstraintError } from './constraint-error.ts'
import { type Node, nothing, repeat } from './grammar.ts'
import { formats } from './json-schema-formats.ts'
import { largestOf, type Part, smallestOf, valuesOf } from './json-schema-parts.ts'
import type { CompileBudget } from './limits.ts'
import { type Expression, fromExpression, parseRegularExpression } from './regular-expression.ts'

/** Lengths count characters, as JSON Schema does. Throws a ConstraintError for patterns that would have to hold together. */
export function stringNode(parts: readonly Part[], budget: CompileBudget): Node {
  const length = { min: largestOf(parts, 'minLength'), max: smallestOf(parts, 'maxLength') }
  if (length.max !== null && length.min > length.max) return nothing
  const [pattern, second] = patternsOf(parts)
  if (!pattern) return quoted(repeat(stringCharacter, length.min, length.max))
  if (second) throw new ConstraintError(second.path, 'only one pattern or format can be followed for a string')
  const expression = parseRegularExpression(pattern.text, budget, { path: pattern.path, isSearch: true })
  const bounded = withLength(expression, length)
  if (!bounded) {
    throw new ConstraintError(
      pattern.path,
      'cannot be combined with minLength or maxLength: its own length is too free',
    )
  }
  return quoted(fromExpression(bounded, toJsonCharacter, budget))
}

function patternsOf(parts: readonly Part[]): { text: string; path: string[] }[] {
  const patterns = valuesOf(parts, 'pattern').map(({ value, path }) => {
    if (typeof value !== 'string') throw new ConstraintError(path, 'must be a string')
    return { text: value, path }
  })
  const formatPatterns = valuesOf(parts, 'format').flatMap(({ value, path }) => {
    const text = formats[value as string]
    return text ? [{ text, path }] : []
  })
  // the same one twice asks for nothing more
  const all = new Map([...patterns, ...formatPatterns].map(pattern => [pattern.text, pattern]))
  return [...all.values()]
}

/** A number of characters; max null: any. */
interface Length {
  min: number
  max: number | null
}

function lengthOf(expression: Expression): Length {
  switch (expression.kind) {
    case 'sequence':
      return expression.parts.map(lengthOf).reduce(
        (sum, length) => ({
          min: sum.min + length.min,
          max: sum.max === null || length.max === null ? null : sum.max + length.max,
        }),
        { min: 0, max: 0 },
      )
    case 'alternatives': {
      const lengths = expression.options.map(lengthOf)
      const longest = lengths.map(({ max }) => max ?? Infinity)
      const max = Math.max(...longest)
      return { min: Math.min(...lengths.map(({ min }) => min)), max: max === Infinity ? null : max }
    }
    case 'repeat': {
      const body = lengthOf(expression.body)
      const isEndless = (expression.max === null && body.max !== 0) || body.max === null
      return { min: body.min * expression.min, max: isEndless ? null : (body.max ?? 0) * (expression.max ?? 0) }
    }
    default:
      return { min: 1, max: 1 }
  }
}

const unmatchable: Expression = { kind: 'alternatives', options: [] }

/** The expression for texts of these lengths only, or null where no count in it can be narrowed to say so. */
function withLength(expression: Expression, wanted: Length): Expression | null {
  const own = lengthOf(expression)
  const isLongEnough = own.min >= wanted.min
  const isShortEnough = wanted.max === null || (own.max !== null && own.max <= wanted.max)
  if (isLongEnough && isShortEnough) return expression
  const isOutside = (own.max !== null && own.max < wanted.min) || (wanted.max !== null && own.min > wanted.max)
  if (isOutside) return unmatchable
  switch (expression.kind) {
    case 'alternatives': {
      const options = expression.options.map(option => withLength(option, wanted))
      return options.includes(null) ? null : { kind: 'alternatives', options: options as Expression[] }
    }
    case 'sequence':
      return sequenceWithLength(expression.parts, wanted)
    case 'repeat':
      return repeatWithLength(expression, wanted)
    default:
      return null
  }
}

/** All parts but one have a fixed length, and the one takes what is left. */
function sequenceWithLength(parts: readonly Expression[], wanted: Length): Expression | null {
  const lengths = parts.map(lengthOf)
  const [free, second] = lengths.flatMap(({ min, max }, index) => (min === max ? [] : [index]))
  if (free === undefined || second !== undefined) return null
  const fixed = lengths.reduce((sum, { min }, index) => (index === free ? sum : sum + min), 0)
  const left = { min: Math.max(0, wanted.min - fixed), max: wanted.max === null ? null : wanted.max - fixed }
  const part = withLength(parts[free], left)
  return part && { kind: 'sequence', parts: parts.with(free, part) }
}

function repeatWithLength(expression: Expression & { kind: 'repeat' }, wanted: Length): Expression | null {
  const { min: unit, max: longest } = lengthOf(expression.body)
  if (unit !== longest || unit === 0) return null
  const min = Math.max(expression.min, Math.ceil(wanted.min / unit))
  const max = Math.min(expression.max ?? Infinity, Math.floor((wanted.max ?? Infinity) / unit))
  if (min > max) return unmatchable
  return { ...expression, min, max: max === Infinity ? null : max }
}
