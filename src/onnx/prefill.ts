/** Computes prompts before their first token is drawn: several short ones in one run, a long one in parts. */
import type { PromptLogprob } from '../inference/engine.ts'
import type { AdapterFeeds, Decoder } from './decoder.ts'
import { toTokenLogprob } from './generation.ts'
import { KvCache } from './kv-cache.ts'
import { rankedLogprobs } from './logprobs.ts'
import { BLOCK_TOKENS, type PrefixCache } from './prefix-cache.ts'
import type { TokenTable } from './token-table.ts'

export interface PrefillRequest {
  /** Tokens of the prompt: at least one. */
  ids: readonly number[]
  /** Where its keys and values may be found and kept. */
  cacheScope: string
  /** Alternatives for each token of the prompt; null: no log-probabilities. */
  promptLogprobs: number | null
  /** Whether nobody waits for it any more. */
  readonly isOver: boolean
}

export interface PrefilledPrompt<Request> {
  request: Request
  /** Logits [vocabulary] after its last token. */
  logits: Float32Array
  cache: KvCache
  /** Its slot in that cache. */
  slot: number
  cachedTokens: number
  logprobs: PromptLogprob[] | null
}

interface Entry<Request> {
  request: Request
  /** Tokens that are computed. */
  done: number
  cachedTokens: number
  logprobs: PromptLogprob[]
}

/** Most tokens of a prompt in one run: between runs others get their next token, and the prompt can be aborted. */
const MOST_TOKENS = 256
/** Most tokens of all prompts of one run, the filling up of shorter ones included. */
const MOST_BATCH_TOKENS = 512
/** Most positions of keys and values that prompts computed together take up. */
const MOST_BATCH_POSITIONS = 8192
/** Most logits of one run that computes those of every token. */
const MOST_LOGITS = 2 ** 24

export class Prefill<Request extends PrefillRequest> {
  readonly #decoder: Decoder
  readonly #tokens: TokenTable
  readonly #adapter: AdapterFeeds | null
  readonly #prefixes: PrefixCache
  #waiting: Request[] = []
  #batch: Entry<Request>[] = []
  #cache: KvCache

  constructor(decoder: Decoder, tokens: TokenTable, adapter: AdapterFeeds | null, prefixes: PrefixCache) {
    this.#decoder = decoder
    this.#tokens = tokens
    this.#adapter = adapter
    this.#prefixes = prefixes
    this.#cache = new KvCache(decoder.config)
  }

  /** Those whose prompts are not computed yet. */
  get requests(): Request[] {
    return [...this.#batch.map(({ request }) => request), ...this.#waiting]
  }

  add(request: Request): void {
    this.#waiting.push(request)
  }

  clear(): void {
    this.#waiting = []
    this.#batch = []
  }

  /** One run of the model, where there is anything to compute; gives the prompts that are complete with it. */
  async step(): Promise<PrefilledPrompt<Request>[]> {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver)
    if (this.#batch.every(({ request }) => request.isOver)) this.#startBatch()
    const batch = this.#batch
    if (batch.length === 0) return []
    const isScored = batch[0].request.promptLogprobs !== null
    const most = isScored ? mostScoredTokens(this.#decoder.config.vocabularySize) : MOST_TOKENS
    const rows = batch.map(({ request, done }) => ({ done, ids: request.ids.slice(done, done + most) }))
    const logits = await this.#decoder.extend(this.#cache, 0, rows, this.#adapter, isScored)
    if (isScored) this.#score(batch[0], logits, rows[0].ids.length)
    for (const [row, { ids }] of rows.entries()) batch[row].done += ids.length
    if (batch[0].done < batch[0].request.ids.length) return []
    this.#batch = []
    const vocabulary = this.#decoder.config.vocabularySize
    return batch.map(({ request, cachedTokens, logprobs }, slot) => {
      this.#prefixes.keep(request.cacheScope, request.ids, request.ids.length, this.#cache, slot)
      const end = isScored ? logits.length : (slot + 1) * vocabulary
      const last = logits.subarray(end - vocabulary, end)
      return { request, logits: last, cache: this.#cache, slot, cachedTokens, logprobs: isScored ? logprobs : null }
    })
  }

  /** Takes prompts in their order: one that needs several runs or every logit alone, others while they fit one run. */
  #startBatch(): void {
    const batch: { entry: Entry<Request>; known: Float32Array[] }[] = []
    let [longest, positions] = [0, 0]
    for (const request of this.#waiting) {
      const isScored = request.promptLogprobs !== null
      // keys and values tell no logits
      const known = isScored ? [] : this.#prefixes.find(request.cacheScope, request.ids)
      const done = known.length * BLOCK_TOKENS
      const left = request.ids.length - done
      const isAlone = isScored || left > MOST_TOKENS
      if (batch.length > 0 && isAlone) break
      longest = Math.max(longest, left)
      positions = Math.max(positions, request.ids.length)
      const count = batch.length + 1
      const fits = count * longest <= MOST_BATCH_TOKENS && count * positions <= MOST_BATCH_POSITIONS
      if (batch.length > 0 && !fits) break
      batch.push({ entry: { request, done, cachedTokens: done, logprobs: [null] }, known })
      if (isAlone) break
    }
    this.#waiting.splice(0, batch.length)
    this.#batch = batch.map(({ entry }) => entry)
    if (batch.length === 0) return
    // a new one each time, so that a long prompt leaves nothing behind
    this.#cache = new KvCache(this.#decoder.config)
    this.#cache.reserve(batch.length, Math.max(...batch.map(({ entry }) => entry.request.ids.length)))
    batch.forEach(({ known }, slot) => {
      for (const [index, block] of known.entries()) this.#cache.write(slot, index * BLOCK_TOKENS, BLOCK_TOKENS, block)
    })
  }

  /** Log-probabilities of the tokens that follow those just computed. */
  #score({ request, done, logprobs }: Entry<Request>, logits: Float32Array, count: number): void {
    const vocabulary = logits.length / count
    for (let row = 0; row < count && done + row + 1 < request.ids.length; row++) {
      const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary)
      const entries = rankedLogprobs(own, request.ids[done + row + 1], request.promptLogprobs ?? 0)
      logprobs.push(entries.map(entry => toTokenLogprob(this.#tokens, entry)))
    }
  }
}

function mostScoredTokens(vocabulary: number): number {
  return Math.min(MOST_TOKENS, Math.max(1, Math.floor(MOST_LOGITS / vocabulary)))
}
