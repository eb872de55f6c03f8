/** Compiled rules that are kept, so that the many requests of one rollout compile their rule once and share its masks. */
import { type CompiledConstraint, type ConstraintSource, compileConstraint } from './constraint.ts'

export class ConstraintCache {
  readonly #capacity: number
  /** By source, the least recently used one first. */
  readonly #compiled = new Map<string, CompiledConstraint>()

  /** Keeps this many rules, each with up to about 40 MB of what it has learnt. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Throws a ConstraintError for a rule that cannot be followed. */
  get(source: ConstraintSource): CompiledConstraint {
    const key = JSON.stringify(source)
    const compiled = this.#compiled.get(key) ?? compileConstraint(source)
    this.#compiled.delete(key)
    this.#compiled.set(key, compiled)
    const [oldest] = this.#compiled.keys()
    if (this.#compiled.size > this.#capacity) this.#compiled.delete(oldest)
    return compiled
  }
}
