/**
 * Shares the sampler thread among requests: they wait in the order of their priority, join the batch of their base
 * model and adapter as soon as there is room, and every batch takes its turn with one token for each of its sequences.
 */
import { LRUCache } from 'lru-cache'
import type { CompiledConstraint } from '../inference/constraint/constraint.ts'
import { type AdapterReference, PromptError } from '../inference/engine.ts'
import { readAdapter } from './adapter.ts'
import { CompiledConstraints } from './compiled-constraints.ts'
import { type AdapterFeeds, type Decoder, toAdapterFeeds } from './decoder.ts'
import { Lane } from './lane.ts'
import { PrefixCache } from './prefix-cache.ts'
import { type SamplerPart, type SamplerRequest, SamplerTask } from './sampler-request.ts'
import { ServedModel } from './served-model.ts'
import type { SessionSettings } from './session.ts'

export interface SchedulerSettings extends SessionSettings {
  /** Most sequences generated at once. */
  maxBatch: number
  /** Bytes of keys and values kept for prompts that begin alike; 0: none. */
  prefixCacheBytes: number
}

const ADAPTER_CACHE_BYTES = 512 * 1024 * 1024
const BYTES_PER_FLOAT = 4

export class Scheduler {
  readonly #settings: SchedulerSettings
  readonly #waiting: SamplerTask[] = []
  readonly #lanes = new Map<string, Lane>()
  readonly #models = new Map<string, ServedModel>()
  readonly #constraints = new CompiledConstraints()
  readonly #prefixes: PrefixCache
  readonly #adapters = new LRUCache<string, AdapterFeeds>({
    maxSize: ADAPTER_CACHE_BYTES,
    sizeCalculation: feeds => Object.values(feeds).reduce((sum, { size }) => sum + size * BYTES_PER_FLOAT, 1),
  })
  #isRunning = false

  constructor(settings: SchedulerSettings) {
    this.#settings = settings
    this.#prefixes = new PrefixCache(settings.prefixCacheBytes)
  }

  /** Resolves when every choice has finished; rejects with the signal's reason or the engine's error. */
  generate(request: SamplerRequest, signal: AbortSignal, emit: (part: SamplerPart) => void): Promise<void> {
    const task = new SamplerTask(request, signal, emit)
    const { beam, n } = request.sampling
    if (beam && n > this.#settings.maxBatch) {
      const message = `beam search takes at most ${this.#settings.maxBatch} beams here, not ${n}`
      task.fail(new PromptError(['n'], message, 'less_than_equal'))
    }
    const place = this.#waiting.findLastIndex(other => other.request.priority <= request.priority)
    this.#waiting.splice(place + 1, 0, task)
    if (!this.#isRunning) void this.#run()
    return task.done
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0 || this.#lanes.size > 0) {
      this.#startWaiting()
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

  #startWaiting(): void {
    let room = this.#settings.maxBatch
    for (const { size } of this.#lanes.values()) room -= size
    while (this.#waiting.length > 0) {
      const task = this.#waiting[0]
      const { beam, n } = task.request.sampling
      const slots = beam ? n : Math.min(room, n - task.started)
      if (!task.isOver && (slots <= 0 || slots > room)) return
      if (!task.isOver) this.#start(task, slots)
      if (task.isOver || task.started === task.groups) this.#waiting.shift()
      if (!task.isOver) room -= slots
    }
  }

  /** Hands the request, or as many of its choices as there is room for, to its lane. */
  #start(task: SamplerTask, slots: number): void {
    const { request } = task
    const { ids, sampling, adapter } = request
    const first = task.started
    const count = sampling.beam ? 1 : slots
    try {
      const model = this.#model(request)
      const constraint = sampling.constraint && this.#constraints.compile(sampling.constraint)
      const scope = JSON.stringify([request.folder, adapter?.id ?? null, request.cacheScope])
      this.#lane(request, model).add({
        ids,
        cacheScope: scope,
        promptLogprobs: first === 0 ? sampling.promptLogprobs : null,
        slots,
        get isOver() {
          return task.isOver
        },
        onPrompt: (cachedTokens, logprobs) => {
          if (first === 0) task.emit({ type: 'prompt', cachedTokens, logprobs })
        },
        begin: () => model.createGroups(task, constraint as CompiledConstraint | null, first, count),
        onEnd: () => task.endGroup(),
        fail: error => task.fail(error),
      })
      task.started += count
    } catch (error) {
      task.fail(error as Error)
    }
  }

  #lane(request: SamplerRequest, model: ServedModel): Lane {
    const key = JSON.stringify([request.folder, request.adapter?.id ?? null])
    const known = this.#lanes.get(key)
    if (known) return known
    const adapter = request.adapter && this.#adapterFeeds(model.decoder, request.adapter)
    const lane = new Lane(model.decoder, model.tokens, adapter, this.#prefixes)
    this.#lanes.set(key, lane)
    return lane
  }

  #model({ folder, contextLength }: SamplerRequest): ServedModel {
    const known = this.#models.get(folder)
    if (known) return known
    const made = new ServedModel(folder, contextLength, this.#settings)
    this.#models.set(folder, made)
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
