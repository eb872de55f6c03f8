import type { InferenceEngine, Sampling } from '../../src/inference/engine.ts'
import { plainSampling, promptOf } from '../onnx/plain-request.ts'

let asked = 0

/** Asks tiny-chat so many questions at once. Resolves with the tokens generated and the seconds from the first of them to the last. */
export async function generateTokens(
  engine: InferenceEngine,
  questions: number,
  sampling: Partial<Sampling>,
): Promise<{ tokens: number; seconds: number }> {
  let first = Number.POSITIVE_INFINITY
  let tokens = 0
  await Promise.all(
    Array.from({ length: questions }, async () => {
      // a question of its own, so that no prompt is cached as a whole
      const content = `${asked++} is the number of this question; respond with yes, no or maybe`
      const request = {
        baseModel: 'tiny-chat',
        adapter: null,
        prompt: promptOf([{ role: 'user', content }]),
        sampling: { ...plainSampling, ...sampling },
        priority: 0,
        cacheScope: '',
      }
      for await (const part of engine.generate(request, new AbortController().signal)) {
        if (part.type !== 'delta') continue
        first = Math.min(first, performance.now())
        tokens += part.tokens.length
      }
    }),
  )
  return { tokens, seconds: (performance.now() - first) / 1000 }
}
