/** Rules for the text, compiled once however many requests ask for the same. */
import { LRUCache } from 'lru-cache'
import {
  type CompiledConstraint,
  type ConstraintSource,
  compileConstraint,
} from '../inference/constraint/constraint.ts'
import { ConstraintError } from '../inference/constraint/constraint-error.ts'
import { CONSTRAINT_LIMITS, type ConstraintLimits } from '../inference/constraint/limits.ts'
import { PromptError } from '../inference/engine.ts'

/** Grammars and their token masks are large: a few dozen megabytes in the worst case. */
const MOST_COMPILED = 16

export class CompiledConstraints {
  readonly #limits: ConstraintLimits
  readonly #compiled = new LRUCache<string, CompiledConstraint>({ max: MOST_COMPILED })

  constructor(limits: ConstraintLimits = CONSTRAINT_LIMITS) {
    this.#limits = limits
  }

  /** Throws a PromptError whose place begins with `constraint`. */
  compile(source: ConstraintSource): CompiledConstraint {
    const key = JSON.stringify(source)
    const known = this.#compiled.get(key)
    if (known) return known
    try {
      const compiled = compileConstraint(source, this.#limits)
      this.#compiled.set(key, compiled)
      return compiled
    } catch (error) {
      throw error instanceof ConstraintError ? toPromptError(error) : error
    }
  }
}

export function toPromptError({ path, message }: ConstraintError): PromptError {
  return new PromptError(['constraint', ...path], message, 'constraint')
}
