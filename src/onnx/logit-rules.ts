/**
 * What a request does to the logits before a token is drawn, for one text being generated. In this order: constraint,
 * allowed tokens, bad words, bias, repetition penalty, presence and frequency penalties, least number of tokens.
 */

import type { ConstraintState } from '../inference/constraint/constraint.ts'
import { ConstraintError } from '../inference/constraint/constraint-error.ts'
import { PromptError, type Sampling } from '../inference/engine.ts'
import { toPromptError } from './compiled-constraints.ts'
import { greedyToken } from './sampler.ts'

export interface LogitSettings {
  sampling: Sampling
  /** The prompt, whose tokens the repetition penalty counts. */
  promptIds: readonly number[]
  /** Token sequences that must not come whole. */
  badWords: readonly (readonly number[])[]
  eosIds: readonly number[]
  isSpecial(id: number): boolean
}

/** Reused from step to step: nothing keeps it beyond the draw. */
let scratch = new Float32Array()

export class LogitRules {
  readonly #settings: LogitSettings
  readonly #constraint: ConstraintState | null
  /** How often each token was generated. */
  readonly #counts: Map<number, number>
  /** Tokens of prompt and text, for the repetition penalty. */
  readonly #seen: Set<number>
  /** Tokens that end the text under a constraint. */
  readonly #endIds: readonly number[]
  /** Tokens that must not come before the least number of tokens. */
  readonly #lateIds: readonly number[]
  readonly #isOff: boolean
  #generated: number
  /** Whether the last logits left nothing but the end. */
  isForced = false

  /** For a new text, or with `from` for one that goes on from where another is. */
  constructor(settings: LogitSettings, constraint: ConstraintState | null, from: LogitRules | null = null) {
    const { sampling, badWords, eosIds, isSpecial } = settings
    const { logitBias, allowedTokenIds, repetitionPenalty, presencePenalty, frequencyPenalty, minTokens } = sampling
    this.#settings = settings
    this.#constraint = constraint
    this.#counts = new Map(from ? from.#counts : [])
    this.#seen = new Set(from ? from.#seen : repetitionPenalty === 1 ? [] : settings.promptIds)
    this.#generated = from ? from.#generated : 0
    this.#endIds = [...eosIds, ...sampling.stopTokenIds.filter(isSpecial)]
    this.#lateIds = [...(sampling.ignoreEos ? [] : eosIds), ...sampling.stopTokenIds]
    const isNeutral = repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0 && minTokens === 0
    this.#isOff =
      !constraint && isNeutral && logitBias.length === 0 && allowedTokenIds === null && badWords.length === 0
  }

  /** Whether the text has to end although no token says so: its constraint allows no more and there is no end token. */
  get mustStop(): boolean {
    return this.#endIds.length === 0 && this.#constraint !== null && this.#follow(state => state.mustEnd)
  }

  /**
   * The logits to draw from, valid until the next call of any rules: those given where nothing is to be done. Throws a
   * PromptError where the rules together leave no token.
   */
  apply(logits: Float32Array, generated: readonly number[]): Float32Array {
    if (this.#isOff) return logits
    if (scratch.length !== logits.length) scratch = new Float32Array(logits.length)
    scratch.set(logits)
    this.isForced = this.#constrain(scratch)
    if (this.isForced) return scratch
    this.#allow(scratch, logits)
    this.#block(scratch, generated)
    for (const [id, bias] of this.#settings.sampling.logitBias) scratch[id] += bias
    this.#penalise(scratch)
    if (this.#generated < this.#settings.sampling.minTokens) for (const id of this.#lateIds) scratch[id] = -Infinity
    if (scratch[greedyToken(scratch)] === -Infinity) throw this.#noTokenLeft()
    return scratch
  }

  /** Takes the token as the next one. */
  accept(id: number): void {
    if (this.#isOff) return
    this.#generated += 1
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1)
    this.#seen.add(id)
    if (!this.#endIds.includes(id)) this.#follow(state => state.advance(id))
  }

  /** The same text, to be carried on another way. */
  clone(): LogitRules {
    return new LogitRules(this.#settings, this.#constraint?.clone() ?? null, this)
  }

  #constrain(logits: Float32Array): boolean {
    return this.#follow(state => {
      const isForced = state.mustEnd && this.#endIds.length > 0
      // an end that is ignored would be followed by more
      const mayEnd = isForced || !this.#settings.sampling.ignoreEos
      state.maskLogits(logits, mayEnd ? this.#endIds : [])
      return isForced
    })
  }

  #follow<Result>(work: (state: ConstraintState) => Result): Result | false {
    if (!this.#constraint) return false
    try {
      return work(this.#constraint)
    } catch (error) {
      throw error instanceof ConstraintError ? toPromptError(error) : error
    }
  }

  #allow(logits: Float32Array, original: Float32Array): void {
    const { allowedTokenIds } = this.#settings.sampling
    if (!allowedTokenIds) return
    const kept = allowedTokenIds.map(id => [id, logits[id]] as const)
    logits.fill(-Infinity)
    for (const [id, logit] of kept) if (id < original.length) logits[id] = logit
  }

  /** Blocks the last token of each bad word that it would complete. */
  #block(logits: Float32Array, generated: readonly number[]): void {
    for (const word of this.#settings.badWords) {
      const before = word.length - 1
      const start = generated.length - before
      let place = 0
      while (place < before && start >= 0 && generated[start + place] === word[place]) place += 1
      if (place === before) logits[word[before]] = -Infinity
    }
  }

  #penalise(logits: Float32Array): void {
    const { repetitionPenalty, presencePenalty, frequencyPenalty } = this.#settings.sampling
    if (repetitionPenalty !== 1) {
      for (const id of this.#seen) {
        logits[id] = logits[id] > 0 ? logits[id] / repetitionPenalty : logits[id] * repetitionPenalty
      }
    }
    if (presencePenalty === 0 && frequencyPenalty === 0) return
    for (const [id, count] of this.#counts) logits[id] -= presencePenalty + frequencyPenalty * count
  }

  #noTokenLeft(): PromptError {
    const { sampling, badWords } = this.#settings
    const rules = [
      ...(this.#constraint ? ['constraint'] : []),
      ...(sampling.allowedTokenIds ? ['allowed_token_ids'] : []),
      ...(badWords.length > 0 ? ['bad_words'] : []),
      ...(this.#generated < sampling.minTokens ? ['min_tokens'] : []),
    ]
    const message = `no token is left after ${this.#generated}: ${rules.join(', ')} together exclude all`
    return new PromptError([rules[0]], message, 'no_token_left')
  }
}
