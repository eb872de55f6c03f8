/** One choice being drawn token by token. */
import type { GeneratedToken, GeneratePart, Sampling, TokenLogprob } from '../inference/engine.ts'
import { type EndRules, endOf } from './end-rules.ts'
import type { LogitRules } from './logit-rules.ts'
import { type LogprobEntry, tokenLogprob } from './logprobs.ts'
import { createRandom } from './random.ts'
import { drawToken } from './sampler.ts'
import type { NextToken, SequenceGroup } from './sequence-group.ts'
import type { TokenTable } from './token-table.ts'
import { TokenText } from './token-text.ts'

export interface GenerationSettings {
  index: number
  sampling: Sampling
  /** The request's seed, or a random one. */
  seed: number
  ends: EndRules
  rules: LogitRules
  tokens: TokenTable
}

export class Generation implements SequenceGroup {
  readonly reservedSlots = 1
  readonly #settings: GenerationSettings
  readonly #emit: (part: GeneratePart) => void
  readonly #random: () => number
  readonly #text: TokenText
  readonly #generated: number[] = []

  constructor(settings: GenerationSettings, emit: (part: GeneratePart) => void) {
    const { seed, index, sampling, tokens } = settings
    this.#settings = settings
    this.#emit = emit
    this.#random = createRandom(seed, index)
    this.#text = new TokenText(sampling, tokens)
  }

  /** Draws the next token; emits its `delta` and, when it was the last, the `finish`. */
  advance([logits]: readonly Float32Array[]): NextToken[] {
    const { index, sampling, ends, rules } = this.#settings
    const ruled = rules.apply(logits, this.#generated)
    const { id, normaliser } = drawToken(ruled, sampling, this.#random)
    const known = ruled === logits ? normaliser : null
    rules.accept(id)
    this.#generated.push(id)
    const end = endOf(ends, this.#generated, rules.isForced) ?? (rules.mustStop ? STOPPED : null)
    let text = end?.reason === 'stop' && end !== STOPPED ? this.#text.pushEnd(id) : this.#text.push(id)
    const outcome = this.#text.isStopped ? STOPPED : end
    if (outcome) text += this.#text.end()
    this.#emit({ type: 'delta', index, text, tokens: [toGeneratedToken(this.#settings, logits, id, known)] })
    if (!outcome) return [{ parent: 0, token: id }]
    this.#emit({ type: 'finish', index, ...outcome })
    return []
  }
}

/** Ended by the text: a stop string, or a constraint that allows no more. */
const STOPPED = { reason: 'stop', stopTokenId: null } as const

/** Log-probabilities are those of the logits as they are, and NaN where none were asked for. */
export function toGeneratedToken(
  { sampling, tokens }: Pick<GenerationSettings, 'sampling' | 'tokens'>,
  logits: Float32Array,
  id: number,
  normaliser: number | null = null,
): GeneratedToken {
  if (sampling.topLogprobs === null) return { ...toTokenLogprob(tokens, { id, logprob: Number.NaN }), top: [] }
  const { logprob, top } = tokenLogprob(logits, id, sampling.topLogprobs, normaliser ?? undefined)
  return { ...toTokenLogprob(tokens, { id, logprob }), top: top.map(entry => toTokenLogprob(tokens, entry)) }
}

export function toTokenLogprob<Entry extends LogprobEntry>(tokens: TokenTable, entry: Entry): Entry & TokenLogprob {
  const { id } = entry
  return { ...entry, token: tokens.text(id), bytes: [...tokens.bytes(id)] }
}
