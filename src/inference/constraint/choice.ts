/** One of a list of texts. */
import { ConstraintError } from './constraint-error.ts'
import { type Node, words } from './grammar.ts'
import type { CompileBudget } from './limits.ts'

export function choice(choices: readonly string[], budget: CompileBudget): Node {
  if (choices.length === 0) throw new ConstraintError([], 'must have at least one choice')
  budget.checkLength(choices.reduce((total, { length }) => total + length, 0))
  return words(choices)
}
