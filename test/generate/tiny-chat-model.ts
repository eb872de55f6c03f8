/** Asks the committed tiny-chat through the embedded engine, as a chat completion does. */
import { readBaseModels } from '../../src/inference/base-models.ts'
import type { InferenceEngine, PromptMessage, Sampling } from '../../src/inference/engine.ts'
import { createOnnxInferenceEngine } from '../../src/onnx/onnx-inference-engine.ts'
import { plainSampling, promptOf } from '../onnx/plain-request.ts'

export const createEngine = (): InferenceEngine =>
  createOnnxInferenceEngine({ baseModels: readBaseModels(''), queueLength: 2000, maxBatch: 64 })

const greedy: Sampling = { ...plainSampling, maxTokens: 60 }

/** The texts of all choices. */
export async function ask(
  engine: InferenceEngine,
  messages: PromptMessage[],
  sampling: Partial<Sampling> = {},
): Promise<string[]> {
  const settings = { ...greedy, ...sampling }
  const texts = Array.from({ length: settings.n }, () => '')
  const parts = engine.generate(
    {
      baseModel: 'tiny-chat',
      adapter: null,
      prompt: promptOf(messages),
      sampling: settings,
      priority: 0,
      cacheScope: '',
    },
    new AbortController().signal,
  )
  for await (const part of parts) if (part.type === 'delta') texts[part.index] += part.text
  return texts
}

export interface Question {
  user: string
  /** Every answer that is right. */
  right: readonly string[]
}

/** Share of the questions that get a right answer when the most probable token is taken every time, and the wrong answers. */
export async function measure(engine: InferenceEngine, questions: readonly Question[]) {
  const answers = await Promise.all(
    questions.map(async ({ user }) => (await ask(engine, [{ role: 'user', content: user }]))[0]!),
  )
  const wrong = answers.flatMap((answer, index) =>
    questions[index]!.right.includes(answer) ? [] : [`${questions[index]!.user} -> ${answer}`],
  )
  return { share: 1 - wrong.length / questions.length, wrong }
}
