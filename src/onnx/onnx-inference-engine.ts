/** The embedded inference engine: prompts are rendered in one worker thread, tokens generated in another. */
import { availableParallelism } from 'node:os'
import type { BaseModel } from '../inference/base-models.ts'
import { BusyError, type GeneratePart, type GenerateRequest, type InferenceEngine } from '../inference/engine.ts'
import { checkTokenIds, fitPrompt } from './check-request.ts'
import { PartQueue } from './part-queue.ts'
import { PromptClient } from './prompt-client.ts'
import type { SamplerPart, SamplerRequest } from './sampler-request.ts'
import type { SchedulerSettings } from './scheduler.ts'
import { WorkerClient, workerFile } from './worker-client.ts'

export interface OnnxInferenceOptions {
  baseModels: ReadonlyMap<string, Pick<BaseModel, 'folder' | 'contextLength'>>
  /** Threads for one operation of models that are worth more than one; default: all cores. */
  threads?: number
  /** Whether idle threads wait actively; default: no. */
  spinning?: boolean
  /** Most choices that may wait beyond those being generated. */
  queueLength: number
  /** Most choices generated at once. */
  maxBatch: number
  /** Milliseconds for one chat template; default: 2 s. */
  templateLimitMs?: number
  /** Bytes of keys and values kept for prompts that begin alike; 0: none; default: 256 MiB. */
  prefixCacheBytes?: number
}

/** Milliseconds within which the sampler has to answer a check, even beside a long prompt. */
const CHECK_LIMIT_MS = 30_000
const PREFIX_CACHE_BYTES = 256 * 1024 * 1024
/** Milliseconds after which the thread for what requests bring along is ended. */
const OWN_IDLE_MS = 60_000

export function createOnnxInferenceEngine(options: OnnxInferenceOptions): InferenceEngine {
  return new OnnxInferenceEngine(options)
}

class OnnxInferenceEngine implements InferenceEngine {
  readonly #options: OnnxInferenceOptions
  readonly #prompts: PromptClient
  /** For templates and constraints of requests: what they cost delays only others of their kind. */
  readonly #own: PromptClient
  readonly #sampler: WorkerClient
  /** Choices waiting or being generated. */
  #choices = 0

  constructor(options: OnnxInferenceOptions) {
    const { threads = availableParallelism(), spinning = false, maxBatch, templateLimitMs } = options
    const { prefixCacheBytes = PREFIX_CACHE_BYTES } = options
    const data: SchedulerSettings = { threads, spinning, maxBatch, prefixCacheBytes }
    this.#options = options
    this.#prompts = new PromptClient(templateLimitMs)
    this.#own = new PromptClient(templateLimitMs, { idleMs: OWN_IDLE_MS })
    this.#sampler = new WorkerClient(workerFile('sampler-worker', import.meta.url), { data })
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratePart, void> {
    const { queueLength, maxBatch } = this.#options
    const { n } = request.sampling
    if (this.#choices + n > queueLength + maxBatch) {
      throw new BusyError(`The engine has ${this.#choices} choices to generate; ${n} more do not fit its queue`)
    }
    this.#choices += n
    try {
      yield* this.#sample(await this.#prepare(request, signal), signal)
    } finally {
      this.#choices -= n
    }
  }

  async #prepare(request: GenerateRequest, signal: AbortSignal): Promise<SamplerRequest> {
    const { prompt, sampling, adapter, priority, cacheScope } = request
    const { badWords, constraint } = sampling
    const model = this.#options.baseModels.get(request.baseModel)
    if (!model) throw new Error(`There is no base model ${request.baseModel}`)
    const { folder } = model
    if (constraint) await this.#own.tryConstraint(constraint, signal)
    const prompts = prompt.chatTemplate === null ? this.#prompts : this.#own
    const rendered = await prompts.render(folder, { prompt, badWords }, signal)
    checkTokenIds(sampling, rendered.vocabularySize)
    const contextLength = Math.min(model.contextLength, rendered.contextLength)
    const ids = fitPrompt(rendered.ids, contextLength, prompt.truncateTokens, sampling.maxTokens)
    return { folder, contextLength, adapter, ids, badWords: rendered.badWords, sampling, priority, cacheScope }
  }

  async check(): Promise<void> {
    const folders = [...this.#options.baseModels.values()].map(({ folder }) => folder)
    const [first] = folders
    if (first) await this.#prompts.load(first)
    await this.#sampler.call('check', { folders }, { limitMs: CHECK_LIMIT_MS })
  }

  async close(): Promise<void> {
    await Promise.all([this.#prompts.close(), this.#own.close(), this.#sampler.close()])
  }

  async *#sample(request: SamplerRequest, signal: AbortSignal): AsyncGenerator<GeneratePart, void> {
    const parts = new PartQueue<GeneratePart>()
    // a consumer that stops iterating frees the slots too
    const stopped = new AbortController()
    const either = AbortSignal.any([signal, stopped.signal])
    const onAbort = () => parts.fail(either.reason)
    either.addEventListener('abort', onAbort, { once: true })
    const onPart = (part: SamplerPart) => parts.push(part.type === 'prompt' ? { ...part, tokenIds: request.ids } : part)
    this.#sampler.call<void, SamplerPart>('generate', request, { onPart, signal: either }).then(
      () => parts.end(),
      error => parts.fail(error),
    )
    try {
      yield* parts
    } finally {
      stopped.abort()
      either.removeEventListener('abort', onAbort)
    }
  }
}
