/** The embedded inference engine: prompts are rendered in one worker thread, tokens generated in another. */
import { availableParallelism } from 'node:os'
import type { BaseModel } from '../inference/base-models.ts'
import {
  BusyError,
  type GeneratePart,
  type GenerateRequest,
  type InferenceEngine,
  PromptError,
} from '../inference/engine.ts'
import { PartQueue } from './part-queue.ts'
import { PromptClient } from './prompt-client.ts'
import type { SamplerSettings } from './sampler-worker.ts'
import type { SamplerRequest } from './scheduler.ts'
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
}

/** Milliseconds within which the sampler has to answer a check, even beside a long prompt. */
const CHECK_LIMIT_MS = 30_000

export function createOnnxInferenceEngine(options: OnnxInferenceOptions): InferenceEngine {
  return new OnnxInferenceEngine(options)
}

class OnnxInferenceEngine implements InferenceEngine {
  readonly #options: OnnxInferenceOptions
  readonly #prompts: PromptClient
  readonly #sampler: WorkerClient
  /** Choices waiting or being generated. */
  #choices = 0

  constructor(options: OnnxInferenceOptions) {
    const { threads = availableParallelism(), spinning = false, maxBatch } = options
    const data: SamplerSettings = { threads, spinning, maxBatch }
    this.#options = options
    this.#prompts = new PromptClient(options.templateLimitMs)
    this.#sampler = new WorkerClient(workerFile('sampler-worker', import.meta.url), { data })
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratePart, void> {
    const { baseModels, queueLength, maxBatch } = this.#options
    const { sampling, adapter } = request
    const model = baseModels.get(request.baseModel)
    if (!model) throw new Error(`There is no base model ${request.baseModel}`)
    if (this.#choices + sampling.n > queueLength + maxBatch) {
      throw new BusyError(
        `The engine has ${this.#choices} choices to generate; ${sampling.n} more do not fit its queue`,
      )
    }
    this.#choices += sampling.n
    try {
      const rendered = await this.#prompts.render(model.folder, request.prompt, signal)
      const contextLength = Math.min(model.contextLength, rendered.contextLength)
      checkLength(rendered.ids.length, contextLength)
      yield { type: 'prompt', tokenIds: rendered.ids }
      yield* this.#sample({ folder: model.folder, contextLength, adapter, ids: rendered.ids, sampling }, signal)
    } finally {
      this.#choices -= sampling.n
    }
  }

  async check(): Promise<void> {
    const folders = [...this.#options.baseModels.values()].map(({ folder }) => folder)
    const [first] = folders
    if (first) await this.#prompts.load(first)
    await this.#sampler.call('check', { folders }, { limitMs: CHECK_LIMIT_MS })
  }

  async close(): Promise<void> {
    await Promise.all([this.#prompts.close(), this.#sampler.close()])
  }

  async *#sample(request: SamplerRequest, signal: AbortSignal): AsyncGenerator<GeneratePart, void> {
    const parts = new PartQueue<GeneratePart>()
    // a consumer that stops iterating frees the slots too
    const stopped = new AbortController()
    const either = AbortSignal.any([signal, stopped.signal])
    const onAbort = () => parts.fail(either.reason)
    either.addEventListener('abort', onAbort, { once: true })
    this.#sampler
      .call<void, GeneratePart>('generate', request, { onPart: part => parts.push(part), signal: either })
      .then(
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

function checkLength(tokens: number, contextLength: number): void {
  if (tokens === 0) throw new PromptError(['messages'], 'the prompt has no tokens', 'prompt_empty')
  if (tokens < contextLength) return
  const message = `the prompt has ${tokens} tokens, which leaves no room in the model's context of ${contextLength}`
  throw new PromptError(['messages'], message, 'context_length')
}
