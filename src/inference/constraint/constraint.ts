/**
 * Structured outputs: a rule for the text, compiled once, allows or forbids each next token. Compiling refuses whatever
 * cannot be followed exactly, so that the caller can still be told before the answer begins.
 */
import { anyJsonObject } from './any-json.ts'
import { Automaton } from './automaton.ts'
import { choice } from './choice.ts'
import { ConstraintError } from './constraint-error.ts'
import { ebnf } from './ebnf.ts'
import type { Node } from './grammar.ts'
import { checkGrammar } from './grammar-check.ts'
import { jsonSchema } from './json-schema.ts'
import { createJsonStyle, type JsonOptions } from './json-style.ts'
import { CONSTRAINT_LIMITS, CompileBudget, type ConstraintLimits } from './limits.ts'
import { regularExpression } from './regular-expression.ts'
import { structuralTag } from './structural-tag.ts'
import { type TokenMask, TokenMasks } from './token-masks.ts'
import type { TokenTrie } from './token-trie.ts'

/** A rule for the whole text, and how its JSON, if any, is written. */
export type ConstraintSource = ConstraintRule & JsonOptions

export type ConstraintRule =
  /** The schema as a value or as JSON text. */
  | { kind: 'json_schema'; schema: unknown }
  | { kind: 'json_object' }
  | { kind: 'regex'; pattern: string }
  | { kind: 'choice'; choices: readonly string[] }
  | { kind: 'grammar'; text: string }
  /** The tag as a value or as JSON text. */
  | { kind: 'structural_tag'; tag: unknown }

/** Bytes of text for which a compiled grammar is tried out. */
const PROBED_BYTES = 64

export class CompiledConstraint {
  readonly automaton: Automaton
  readonly #limits: ConstraintLimits
  readonly #masks = new WeakMap<TokenTrie, TokenMasks>()

  constructor(automaton: Automaton, limits: ConstraintLimits) {
    this.automaton = automaton
    this.#limits = limits
  }

  /** The masks for this vocabulary, which all texts under this rule share. */
  masksFor(trie: TokenTrie): TokenMasks {
    const known = this.#masks.get(trie)
    if (known) return known
    const masks = new TokenMasks(this.automaton, trie, this.#limits)
    this.#masks.set(trie, masks)
    return masks
  }
}

/** Throws a ConstraintError with the path into the rule: a keyword that is not supported, a limit, a text that cannot be. */
export function compileConstraint(
  source: ConstraintSource,
  limits: ConstraintLimits = CONSTRAINT_LIMITS,
): CompiledConstraint {
  const budget = new CompileBudget(limits)
  const automaton = new Automaton(checkGrammar(toGrammar(source, budget), budget), limits)
  automaton.probe(PROBED_BYTES, budget)
  return new CompiledConstraint(automaton, limits)
}

function toGrammar(source: ConstraintSource, budget: CompileBudget): Node {
  const style = createJsonStyle(source, budget)
  switch (source.kind) {
    case 'json_schema':
      return jsonSchema(fromJsonText(source.schema, budget), style, budget)
    case 'json_object':
      return anyJsonObject(style)
    case 'regex':
      return regularExpression(source.pattern, budget)
    case 'choice':
      return choice(source.choices, budget)
    case 'grammar':
      return ebnf(source.text, budget)
    case 'structural_tag':
      return structuralTag(fromJsonText(source.tag, budget), style, budget)
  }
}

function fromJsonText(value: unknown, budget: CompileBudget): unknown {
  if (typeof value !== 'string') return value
  budget.checkLength(value.length)
  try {
    return JSON.parse(value)
  } catch (error) {
    throw new ConstraintError([], `is not JSON: ${(error as Error).message}`)
  }
}

/** One text being written under a rule. */
export class ConstraintState {
  readonly #constraint: CompiledConstraint
  readonly #trie: TokenTrie
  readonly #masks: TokenMasks
  #state: Automaton['start']

  constructor(constraint: CompiledConstraint, trie: TokenTrie) {
    this.#constraint = constraint
    this.#trie = trie
    this.#masks = constraint.masksFor(trie)
    this.#state = constraint.automaton.start
  }

  /** Whether the text may end here. */
  get isComplete(): boolean {
    this.#constraint.automaton.refill()
    return this.#constraint.automaton.isComplete(this.#state)
  }

  /** Whether the text must end here: no token may follow. */
  get mustEnd(): boolean {
    return this.mask().count === 0
  }

  /**
   * The tokens that may come next, without the end of the text. Throws a ConstraintError where the grammar has become too
   * ambiguous to follow, or where the text cannot end and the vocabulary has no token that carries it on.
   */
  mask(): TokenMask {
    return this.#masks.at(this.#state)
  }

  accepts(tokenId: number): boolean {
    return this.#after(tokenId) !== null
  }

  /** Takes the token as the next one. Throws an Error for a token that may not come here. */
  advance(tokenId: number): void {
    const next = this.#after(tokenId)
    if (!next) throw new Error(`token ${tokenId} may not come here`)
    this.#state = next
  }

  /** Sets the logits of all tokens that may not come next to -Infinity; `endIds` may come where the text may end. */
  maskLogits(logits: Float32Array, endIds: readonly number[]): void {
    const { bits } = this.mask()
    const ends = this.isComplete ? endIds.map(id => [id, logits[id]] as const) : []
    for (let from = 0; from < logits.length; from += 32) {
      const word = bits[from >> 5] ?? 0
      // most words are all zeros or all ones
      if (word === 0) logits.fill(-Infinity, from, from + 32)
      else if (word !== 0xffffffff) {
        const to = Math.min(from + 32, logits.length)
        for (let id = from; id < to; id++) if (((word >>> (id - from)) & 1) === 0) logits[id] = -Infinity
      }
    }
    for (const [id, logit] of ends) if (id < logits.length) logits[id] = logit
  }

  /** The same place in the same text, to be carried on another way. */
  clone(): ConstraintState {
    const clone = new ConstraintState(this.#constraint, this.#trie)
    clone.#state = this.#state
    return clone
  }

  #after(tokenId: number): Automaton['start'] | null {
    const { automaton } = this.#constraint
    const bytes = this.#trie.bytes(tokenId)
    if (bytes.length === 0) return null
    automaton.refill()
    let state: Automaton['start'] | null = this.#state
    for (let place = 0; state && place < bytes.length; place++) state = automaton.next(state, bytes[place])
    return state
  }
}
