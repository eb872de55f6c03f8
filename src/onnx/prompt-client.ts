/** Renders prompts in the prompt worker, one at a time and each within a time limit. */
import type { ConstraintSource } from '../inference/constraint/constraint.ts'
import { type Prompt, PromptError } from '../inference/engine.ts'
import { placeOfTemplate } from './chat-renderer.ts'
import { TimeLimitError, WorkerClient, type WorkerOptions, workerFile } from './worker-client.ts'

/** Milliseconds for one template: real ones take less than one. */
export const TEMPLATE_LIMIT_MS = 2_000
/** Milliseconds to start the worker and read a tokenizer, or to try out a constraint, which has a limit of its own. */
const LOAD_LIMIT_MS = 60_000

export interface LoadedModel {
  contextLength: number
  vocabularySize: number
}

export interface RenderedPrompt {
  /** The prompt's tokens. */
  ids: number[]
  /** Token sequences of the texts that must not come. */
  badWords: number[][]
}

export class PromptClient {
  readonly #worker: WorkerClient
  readonly #limitMs: number
  #tail: Promise<unknown> = Promise.resolve()
  #loaded = new Map<string, LoadedModel & { generation: number }>()

  constructor(limitMs = TEMPLATE_LIMIT_MS, options: WorkerOptions = {}) {
    this.#limitMs = limitMs
    this.#worker = new WorkerClient(workerFile('prompt-worker', import.meta.url), options)
  }

  /** Throws PromptError, or the signal's reason. */
  render(
    folder: string,
    request: { prompt: Prompt; badWords: string[] },
    signal: AbortSignal,
  ): Promise<RenderedPrompt & LoadedModel> {
    return this.#inTurn(async () => {
      signal.throwIfAborted()
      const model = await this.#load(folder)
      try {
        const argument = { folder, ...request }
        const rendered = await this.#worker.call<RenderedPrompt>('render', argument, { limitMs: this.#limitMs })
        return { ...rendered, ...model }
      } catch (error) {
        if (!(error instanceof TimeLimitError)) throw error
        const message = `the chat template took longer than ${this.#limitMs} ms`
        throw new PromptError(placeOfTemplate(request.prompt.chatTemplate), message, 'template_time_limit')
      }
    })
  }

  /** Throws PromptError where the constraint cannot be compiled, or not in the time that it may take. */
  tryConstraint(source: ConstraintSource, signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      signal.throwIfAborted()
      await this.#worker.call('tryConstraint', { source }, { limitMs: LOAD_LIMIT_MS })
    })
  }

  /** Resolves when prompts of this model can be rendered. */
  async load(folder: string): Promise<void> {
    await this.#inTurn(() => this.#load(folder))
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  async #load(folder: string): Promise<LoadedModel> {
    const known = this.#loaded.get(folder)
    if (known && known.generation === this.#worker.generation) return known
    const model = await this.#worker.call<LoadedModel>('load', { folder }, { limitMs: LOAD_LIMIT_MS })
    this.#loaded.set(folder, { generation: this.#worker.generation, ...model })
    return model
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(work)
    this.#tail = result.catch(() => {})
    return result
  }
}
