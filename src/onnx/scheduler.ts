/**
 * Shares the sampler thread among requests: they wait in order, join the batch of their base model and adapter as soon
 * as there is room, and every batch takes its turn with one token for each of its choices.
 */
import { LRUCache } from 'lru-cache'
import type { AdapterReference, GeneratePart, Sampling } from '../inference/engine.ts'
import { readAdapter } from './adapter.ts'
import { type AdapterFeeds, Decoder, toAdapterFeeds } from './decoder.ts'
import { Lane } from './lane.ts'
import { randomSeed } from './random.ts'
import type { SessionSettings } from './session.ts'
import { TokenTable } from './token-table.ts'

export interface SamplerRequest {
  /** Folder of the base model. */
  folder: string
  /** Tokens of context. */
  contextLength: number
  adapter: AdapterReference | null
  /** Tokens of the prompt: at least one, fewer than the context. */
  ids: number[]
  sampling: Sampling
}

interface WaitingRequest {
  request: SamplerRequest
  seed: number
  signal: AbortSignal
  emit: (part: GeneratePart) => void
  started: number
  ended: number
  resolve: () => void
  reject: (error: Error) => void
}

/** While others generate, no further prompt is started once this many prompt tokens were computed in a round. */
const PROMPT_TOKENS_PER_ROUND = 1024
const ADAPTER_CACHE_BYTES = 512 * 1024 * 1024
const BYTES_PER_FLOAT = 4

export class Scheduler {
  readonly #settings: SessionSettings
  readonly #maxBatch: number
  readonly #waiting: WaitingRequest[] = []
  readonly #lanes = new Map<string, Lane>()
  readonly #decoders = new Map<string, { decoder: Decoder; tokens: TokenTable }>()
  readonly #adapters = new LRUCache<string, AdapterFeeds>({
    maxSize: ADAPTER_CACHE_BYTES,
    sizeCalculation: feeds => Object.values(feeds).reduce((sum, { size }) => sum + size * BYTES_PER_FLOAT, 1),
  })
  #isRunning = false

  constructor(settings: SessionSettings, maxBatch: number) {
    this.#settings = settings
    this.#maxBatch = maxBatch
  }

  /** Resolves when every choice has finished; rejects with the signal's reason or the engine's error. */
  generate(request: SamplerRequest, signal: AbortSignal, emit: (part: GeneratePart) => void): Promise<void> {
    const seed = request.sampling.seed ?? randomSeed()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ request, seed, signal, emit, started: 0, ended: 0, resolve, reject })
    if (!this.#isRunning) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0 || this.#lanes.size > 0) {
      await this.#startWaiting()
      for (const [key, lane] of this.#lanes) {
        try {
          await lane.step()
        } catch (error) {
          lane.fail(error as Error)
        }
        if (lane.size === 0) this.#lanes.delete(key)
      }
    }
    this.#isRunning = false
  }

  async #startWaiting(): Promise<void> {
    let promptTokens = 0
    while (this.#waiting.length > 0 && promptTokens < PROMPT_TOKENS_PER_ROUND) {
      const waiting = this.#waiting[0]
      const room = this.#maxBatch - [...this.#lanes.values()].reduce((sum, { size }) => sum + size, 0)
      if (room <= 0 && !waiting.signal.aborted) return
      try {
        waiting.signal.throwIfAborted()
        const count = Math.min(room, waiting.request.sampling.n - waiting.started)
        await this.#start(waiting, count)
        promptTokens += waiting.request.ids.length
      } catch (error) {
        waiting.reject(error as Error)
        waiting.started = waiting.request.sampling.n
      }
      if (waiting.started === waiting.request.sampling.n) this.#waiting.shift()
    }
  }

  async #start(waiting: WaitingRequest, count: number): Promise<void> {
    const { request, seed, signal, emit } = waiting
    const { ids, sampling, contextLength } = request
    const lane = this.#lane(request)
    const room = contextLength - ids.length
    const maxTokens = Math.min(sampling.maxTokens ?? room, room)
    const firstIndex = waiting.started
    waiting.started += count
    const onEnd = (error?: Error) => {
      waiting.ended += 1
      if (error) waiting.reject(error)
      else if (waiting.ended === sampling.n) waiting.resolve()
    }
    const settings = (index: number) => ({ index, promptLength: ids.length, maxTokens, sampling, seed })
    await lane.start({ ids, signal, settings, emit, onEnd }, firstIndex, count)
  }

  #lane(request: SamplerRequest): Lane {
    const key = JSON.stringify([request.folder, request.adapter?.id ?? null])
    const known = this.#lanes.get(key)
    if (known) return known
    const { decoder, tokens } = this.#decoder(request)
    const adapter = request.adapter && this.#adapterFeeds(decoder, request.adapter)
    const lane = new Lane(decoder, tokens, adapter)
    this.#lanes.set(key, lane)
    return lane
  }

  #decoder({ folder, contextLength }: SamplerRequest): { decoder: Decoder; tokens: TokenTable } {
    const known = this.#decoders.get(folder)
    if (known) return known
    const made = { decoder: new Decoder(folder, contextLength, this.#settings), tokens: new TokenTable(folder) }
    this.#decoders.set(folder, made)
    return made
  }

  #adapterFeeds(decoder: Decoder, { id, folder }: AdapterReference): AdapterFeeds {
    const known = this.#adapters.get(id)
    if (known) return known
    const feeds = toAdapterFeeds(readAdapter(folder, decoder.config), decoder.config)
    this.#adapters.set(id, feeds)
    return feeds
  }
}
