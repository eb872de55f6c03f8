/** Renders prompts in the prompt worker, one at a time and each within a time limit. */
import { type Prompt, PromptError } from '../inference/engine.ts'
import { TimeLimitError, WorkerClient, workerFile } from './worker-client.ts'

/** Milliseconds for one template: real ones take less than one. */
export const TEMPLATE_LIMIT_MS = 2_000
/** Milliseconds to start the worker and read a tokenizer. */
const LOAD_LIMIT_MS = 60_000

export class PromptClient {
  readonly #worker = new WorkerClient(workerFile('prompt-worker', import.meta.url))
  readonly #limitMs: number
  #tail: Promise<unknown> = Promise.resolve()
  #loaded = new Map<string, { generation: number; contextLength: number }>()

  constructor(limitMs = TEMPLATE_LIMIT_MS) {
    this.#limitMs = limitMs
  }

  /** The prompt's tokens and the model's context length. Throws PromptError, or the signal's reason. */
  render(folder: string, prompt: Prompt, signal: AbortSignal): Promise<{ ids: number[]; contextLength: number }> {
    return this.#inTurn(async () => {
      signal.throwIfAborted()
      const contextLength = await this.#load(folder)
      try {
        const ids = await this.#worker.call<number[]>('render', { folder, prompt }, { limitMs: this.#limitMs })
        return { ids, contextLength }
      } catch (error) {
        if (!(error instanceof TimeLimitError)) throw error
        const message = `the chat template took longer than ${this.#limitMs} ms`
        throw new PromptError(['messages'], message, 'template_time_limit')
      }
    })
  }

  /** Resolves with the context length when prompts of this model can be rendered. */
  load(folder: string): Promise<number> {
    return this.#inTurn(() => this.#load(folder))
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  async #load(folder: string): Promise<number> {
    const known = this.#loaded.get(folder)
    if (known && known.generation === this.#worker.generation) return known.contextLength
    const contextLength = await this.#worker.call<number>('load', { folder }, { limitMs: LOAD_LIMIT_MS })
    this.#loaded.set(folder, { generation: this.#worker.generation, contextLength })
    return contextLength
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(work)
    this.#tail = result.catch(() => {})
    return result
  }
}
