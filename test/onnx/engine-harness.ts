/** Engines on the fixture models, requests for them, and their parts put together. */
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import type {
  GeneratedToken,
  GeneratePart,
  GenerateRequest,
  InferenceEngine,
  Prompt,
  PromptLogprob,
  Sampling,
} from '../../src/inference/engine.ts'
import { createOnnxInferenceEngine, type OnnxInferenceOptions } from '../../src/onnx/onnx-inference-engine.ts'
import { fixtureModels, fixtures } from './golden.ts'
import { plainSampling, promptOf } from './plain-request.ts'

export const never = new AbortController().signal
export const baseModels = new Map(
  fixtureModels.map(name => [name, { folder: join(fixtures, name), contextLength: 128 }]),
)

export interface RequestOptions {
  sampling?: Partial<Sampling>
  model?: string
  text?: string
  role?: string
  isTuned?: boolean
  prompt?: Partial<Prompt>
  priority?: number
  cacheScope?: string
}

/** Greedy, 12 tokens, for a short message to tiny-llama. */
export function requestOf(options: RequestOptions): GenerateRequest {
  const { model = 'tiny-llama', text = 'hello', role = 'user', priority = 0, cacheScope = 'team' } = options
  return {
    baseModel: model,
    adapter: options.isTuned ? { id: `${model}-tuned`, folder: join(fixtures, model, 'adapter') } : null,
    prompt: promptOf([{ role, content: text }], options.prompt),
    priority,
    cacheScope,
    sampling: { ...plainSampling, maxTokens: 12, ...options.sampling },
  }
}

export interface Choice {
  text: string
  tokens: GeneratedToken[]
  reason: string
  stopTokenId: number | null
}

export interface Answer {
  prompt: number[]
  cachedTokens: number
  logprobs: PromptLogprob[] | null
  choices: Choice[]
}

export async function collect(parts: AsyncIterable<GeneratePart>): Promise<Answer> {
  const answer: Answer = { prompt: [], cachedTokens: 0, logprobs: null, choices: [] }
  for await (const part of parts) {
    if (part.type === 'prompt') {
      expect(answer.prompt).toEqual([])
      const { tokenIds, cachedTokens, logprobs } = part
      Object.assign(answer, { prompt: tokenIds, cachedTokens, logprobs })
      continue
    }
    expect(answer.prompt).not.toEqual([])
    answer.choices[part.index] ??= { text: '', tokens: [], reason: '', stopTokenId: null }
    const choice = answer.choices[part.index]!
    expect(choice.reason).toBe('')
    if (part.type === 'finish') Object.assign(choice, { reason: part.reason, stopTokenId: part.stopTokenId })
    else {
      choice.text += part.text
      choice.tokens.push(...part.tokens)
    }
  }
  return answer
}

const engines: InferenceEngine[] = []
afterAll(() => Promise.all(engines.map(engine => engine.close())))

/** Closed when the tests of the file have run. */
export function createEngine(options: Partial<OnnxInferenceOptions> = {}): InferenceEngine {
  const engine = createOnnxInferenceEngine({ baseModels, queueLength: 100, maxBatch: 8, ...options })
  engines.push(engine)
  return engine
}

export const idsOf = (choice: Choice | undefined) => choice?.tokens.map(({ id }) => id)
