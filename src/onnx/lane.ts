/** The choices that are generated together: those of one base model under one adapter. */
import type { GeneratePart } from '../inference/engine.ts'
import type { AdapterFeeds, Decoder } from './decoder.ts'
import { Generation, type GenerationSettings } from './generation.ts'
import { KvCache } from './kv-cache.ts'
import type { TokenTable } from './token-table.ts'

/** A request as lanes see it. */
export interface LaneRequest {
  ids: readonly number[]
  signal: AbortSignal
  /** What the choice with this index starts from. */
  settings(index: number): GenerationSettings
  emit(part: GeneratePart): void
  /** Called once for each choice that ends, with the reason where it did not finish. */
  onEnd(error?: Error): void
}

/** A prompt is computed in parts of this many tokens, between which it can be aborted. */
const PREFILL_TOKENS = 256

export class Lane {
  readonly #decoder: Decoder
  readonly #tokens: TokenTable
  readonly #adapter: AdapterFeeds | null
  readonly #cache: KvCache
  /** In the order of their slots. */
  readonly #running: { generation: Generation; request: LaneRequest }[] = []

  constructor(decoder: Decoder, tokens: TokenTable, adapter: AdapterFeeds | null) {
    this.#decoder = decoder
    this.#tokens = tokens
    this.#adapter = adapter
    this.#cache = new KvCache(decoder.config)
  }

  get size(): number {
    return this.#running.length
  }

  /** Computes the prompt once and draws the first token of the choices `firstIndex` to `firstIndex + count - 1`. */
  async start(request: LaneRequest, firstIndex: number, count: number): Promise<void> {
    const { ids } = request
    const firstSlot = this.#running.length
    this.#cache.reserve(firstSlot + count, ids.length)
    let logits = new Float32Array()
    for (let done = 0; done < ids.length; done += PREFILL_TOKENS) {
      if (request.signal.aborted) break
      const part = ids.slice(done, done + PREFILL_TOKENS)
      logits = Float32Array.from(await this.#decoder.prefill(this.#cache, firstSlot, done, part, this.#adapter))
    }
    for (let offset = 0; offset < count; offset++) {
      if (offset > 0) this.#cache.copySlot(firstSlot, firstSlot + offset)
      const generation = new Generation(request.settings(firstIndex + offset), this.#tokens)
      this.#running.push({ generation, request })
    }
    for (let slot = firstSlot + count - 1; slot >= firstSlot; slot--) this.#advance(slot, logits)
  }

  /** Draws one more token of every choice. */
  async step(): Promise<void> {
    for (let slot = this.#running.length - 1; slot >= 0; slot--) this.#dropIfAborted(slot)
    if (this.#running.length === 0) return
    // the last token drawn is not in the cache yet
    const done = this.#running.map(({ generation }) => generation.length - 1)
    const ids = this.#running.map(({ generation }) => generation.lastToken)
    this.#cache.reserve(done.length, Math.max(...done) + 1)
    const logits = await this.#decoder.decode(this.#cache, done, ids, this.#adapter)
    const vocabulary = logits.length / done.length
    // from the last slot down, because a finished choice's slot is filled with the last one
    for (let slot = done.length - 1; slot >= 0; slot--) {
      this.#advance(slot, logits.subarray(slot * vocabulary, (slot + 1) * vocabulary))
    }
  }

  /** Ends every choice with this error. */
  fail(error: Error): void {
    for (const { request } of this.#running.splice(0)) request.onEnd(error)
  }

  #advance(slot: number, logits: Float32Array): void {
    if (this.#dropIfAborted(slot)) return
    const { generation, request } = this.#running[slot]
    for (const part of generation.advance(logits)) request.emit(part)
    if (!generation.isFinished) return
    this.#remove(slot)
    request.onEnd()
  }

  #dropIfAborted(slot: number): boolean {
    const { request } = this.#running[slot]
    if (!request.signal.aborted) return false
    this.#remove(slot)
    request.onEnd(request.signal.reason)
    return true
  }

  #remove(slot: number): void {
    const last = this.#running.pop()
    if (!last || slot === this.#running.length) return
    this.#cache.copySlot(this.#running.length, slot)
    this.#running[slot] = last
  }
}
