/** How JSON is written: where white space may stand, and how much of it. */
import { type CharacterSet, charactersOf, toUtf8, without } from './character-set.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, empty, literal, type Node, optional, repeat, sequence } from './grammar.ts'
import type { CompileBudget } from './limits.ts'
import { fromExpression, parseRegularExpression } from './regular-expression.ts'

export interface JsonOptions {
  /** No white space at all. */
  disableAnyWhitespace?: boolean
  /** A regular expression for the white space around every part of JSON; only white space may match it. */
  whitespacePattern?: string | null
  /** Objects of a schema that do not mention `additionalProperties` have none. */
  disableAdditionalProperties?: boolean
}

export interface JsonStyle {
  /** After an opening bracket, before a closing one, and after a comma. */
  gap: Node
  colon: Node
  comma: Node
  disableAdditionalProperties: boolean
}

/** The deepest indentation after a line break. Without a bound a weak model writes spaces until its tokens run out. */
const MOST_INDENTATION = 40

const jsonWhitespace = charactersOf(' \t\n\r')

/** Throws a ConstraintError with path ['whitespace_pattern'] for a pattern that may match more than white space. */
export function createJsonStyle(options: JsonOptions, budget: CompileBudget): JsonStyle {
  const disableAdditionalProperties = options.disableAdditionalProperties ?? false
  if (options.disableAnyWhitespace) {
    return { gap: empty, colon: literal(':'), comma: literal(','), disableAdditionalProperties }
  }
  if (options.whitespacePattern) {
    const space = toWhitespace(options.whitespacePattern, budget)
    return {
      gap: space,
      colon: sequence(space, literal(':'), space),
      comma: sequence(space, literal(','), space),
      disableAdditionalProperties,
    }
  }
  const indentation = repeat(toUtf8(charactersOf(' \t')), 0, MOST_INDENTATION)
  const gap = alternatives(empty, literal(' '), sequence(literal('\n'), indentation))
  return {
    gap,
    colon: sequence(literal(':'), optional(literal(' '))),
    comma: sequence(literal(','), gap),
    disableAdditionalProperties,
  }
}

function toWhitespace(pattern: string, budget: CompileBudget): Node {
  const path = ['whitespace_pattern']
  const encode = (characters: CharacterSet) => {
    if (without(characters, jsonWhitespace).length > 0) {
      throw new ConstraintError(path, 'may match only space, tab, line feed and carriage return')
    }
    return toUtf8(characters)
  }
  return fromExpression(parseRegularExpression(pattern, budget, { path }), encode, budget)
}
