/** What a rule for the text may cost. No rule, however hostile, takes more than this before it is refused. */
import { ConstraintError } from './constraint-error.ts'

export interface ConstraintLimits {
  /** Characters of a pattern, grammar or choice list, or of a schema as JSON text. */
  sourceLength: number
  /** Levels of nesting in a schema, of groups in a pattern or a grammar. */
  nesting: number
  /** Parts that front ends may build, after references and unions are resolved. */
  grammarParts: number
  /** Wall clock for compiling, in milliseconds; `grammarParts` is usually reached first. */
  compileMilliseconds: number
  /** Ways of reading the text that are followed side by side. */
  readings: number
  /** Steps of the automaton for one token: one step looks at one part of the grammar in one reading. */
  stepsPerToken: number
  /** Stacks that an automaton remembers before it forgets them all and starts over: bounds its memory. */
  rememberedStacks: number
  /** Bytes of token masks that one grammar keeps for one vocabulary before it forgets them. */
  maskBytes: number
}

export const CONSTRAINT_LIMITS: ConstraintLimits = {
  sourceLength: 1_048_576,
  nesting: 100,
  grammarParts: 300_000,
  compileMilliseconds: 3_000,
  readings: 20_000,
  stepsPerToken: 200_000,
  rememberedStacks: 150_000,
  maskBytes: 16_777_216,
}

/** Counts what compiling one rule costs. */
export class CompileBudget {
  readonly limits: ConstraintLimits
  readonly #deadline: number
  #parts = 0

  constructor(limits: ConstraintLimits) {
    this.limits = limits
    this.#deadline = performance.now() + limits.compileMilliseconds
  }

  /** Throws a ConstraintError with this path once the rule has become too large or has taken too long. */
  spend(parts: number, path: readonly string[] = []): void {
    this.#parts += parts
    if (this.#parts > this.limits.grammarParts) {
      throw new ConstraintError(path, `becomes too large: more than ${this.limits.grammarParts} parts`)
    }
    if (performance.now() > this.#deadline) {
      throw new ConstraintError(path, `takes too long to compile: more than ${this.limits.compileMilliseconds} ms`)
    }
  }

  /** Throws a ConstraintError for a source of this many characters that is too long. */
  checkLength(length: number, path: readonly string[] = []): void {
    const { sourceLength } = this.limits
    if (length > sourceLength) throw new ConstraintError(path, `is too long: at most ${sourceLength} characters`)
  }

  /** Throws a ConstraintError for nesting deeper than allowed. */
  checkNesting(depth: number, path: readonly string[] = []): void {
    const { nesting } = this.limits
    if (depth > nesting) throw new ConstraintError(path, `is nested too deeply: at most ${nesting} levels`)
  }
}
