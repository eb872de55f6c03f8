/** What the sampler thread gets, and one such request on its way through it. */
import type { AdapterReference, GeneratePart, Sampling } from '../inference/engine.ts'
import { randomSeed } from './random.ts'

export interface SamplerRequest {
  /** Folder of the base model. */
  folder: string
  /** Tokens of context. */
  contextLength: number
  adapter: AdapterReference | null
  /** Tokens of the prompt: at least one, fewer than the context. */
  ids: number[]
  /** Token sequences of the texts in `sampling.badWords`. */
  badWords: number[][]
  sampling: Sampling
  priority: number
  cacheScope: string
}

/** A part of the answer as the sampler gives it: whoever asked knows the prompt's tokens. */
export type SamplerPart = Exclude<GeneratePart, { type: 'prompt' }> | Omit<PromptPart, 'tokenIds'>
type PromptPart = Extract<GeneratePart, { type: 'prompt' }>

export class SamplerTask {
  readonly request: SamplerRequest
  readonly seed: number
  readonly emit: (part: SamplerPart) => void
  /** Resolves when every choice has finished; rejects with the signal's reason or what failed. */
  readonly done: Promise<void>
  /** Groups of sequences: the choices, or one of all beams. */
  readonly groups: number
  /** Groups that were handed to a lane. */
  started = 0
  /** Whether nobody waits for it any more. */
  isOver = false
  #ended = 0
  readonly #settle: (error?: Error) => void

  constructor(request: SamplerRequest, signal: AbortSignal, emit: (part: SamplerPart) => void) {
    const { seed, beam, n } = request.sampling
    this.request = request
    this.seed = seed ?? randomSeed()
    this.emit = emit
    this.groups = beam ? 1 : n
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.done = promise
    const onAbort = () => this.fail(signal.reason)
    this.#settle = error => {
      this.isOver = true
      signal.removeEventListener('abort', onAbort)
      if (error) reject(error)
      else resolve()
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  }

  endGroup(): void {
    this.#ended += 1
    if (this.#ended === this.groups) this.#settle()
  }

  fail(error: Error): void {
    this.#settle(error)
  }
}
