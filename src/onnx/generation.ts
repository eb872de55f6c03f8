/** One choice being generated: what has been drawn so far, and what its next logits make of it. */
import type { GeneratedToken, GeneratePart, Sampling, TokenLogprob } from '../inference/engine.ts'
import { createRandom } from './random.ts'
import { drawToken, type LogprobEntry, tokenLogprob } from './sampler.ts'
import { TextStream } from './text-stream.ts'
import type { TokenTable } from './token-table.ts'

export interface GenerationSettings {
  index: number
  /** Tokens of the prompt. */
  promptLength: number
  /** Most tokens to generate: at least 1. */
  maxTokens: number
  sampling: Sampling
  /** The request's seed, or a random one. */
  seed: number
}

export class Generation {
  /** The token to be computed next: the last one drawn. */
  lastToken = -1
  /** Tokens of the sequence: prompt and generated. */
  length: number
  isFinished = false
  readonly #settings: GenerationSettings
  readonly #tokens: TokenTable
  readonly #random: () => number
  readonly #text: TextStream
  #generated = 0

  constructor(settings: GenerationSettings, tokens: TokenTable) {
    this.#settings = settings
    this.#tokens = tokens
    this.#random = createRandom(settings.seed, settings.index)
    this.#text = new TextStream(settings.sampling.stop)
    this.length = settings.promptLength
  }

  /** Draws the next token from logits [vocabulary]; gives its `delta` and, when it was the last, the `finish`. */
  advance(logits: Float32Array): GeneratePart[] {
    const { index, sampling, maxTokens } = this.#settings
    const id = drawToken(logits, sampling, this.#random)
    this.lastToken = id
    this.length += 1
    this.#generated += 1
    const isEnd = this.#tokens.eosIds.includes(id)
    let text = isEnd || this.#tokens.isSpecial(id) ? '' : this.#text.push(this.#tokens.bytes(id))
    const reason = isEnd || this.#text.isStopped ? 'stop' : this.#generated >= maxTokens ? 'length' : null
    if (reason) text += this.#text.end()
    this.isFinished = reason !== null
    const delta: GeneratePart = { type: 'delta', index, text, tokens: [this.#toToken(logits, id)] }
    return reason ? [delta, { type: 'finish', index, reason, stopTokenId: null }] : [delta]
  }

  #toToken(logits: Float32Array, id: number): GeneratedToken {
    const { logprob, top } = tokenLogprob(logits, id, this.#settings.sampling.topLogprobs ?? 0)
    return { ...this.#describe({ id, logprob }), top: top.map(entry => this.#describe(entry)) }
  }

  #describe({ id, logprob }: LogprobEntry): TokenLogprob {
    return { id, token: this.#tokens.text(id), bytes: [...this.#tokens.bytes(id)], logprob }
  }
}
