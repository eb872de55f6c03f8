import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GeneratePart, InferenceEngine } from '../src/inference/engine.ts'
import type { TrainingEngine } from '../src/training/engine.ts'

/** Engines that compute nothing, for benches and for tests of what stands in front of an engine. */
export const noOpInference: InferenceEngine = {
  async *generate({ sampling }): AsyncGenerator<GeneratePart> {
    yield { type: 'prompt', tokenIds: [1, 2, 3], cachedTokens: 0, logprobs: null }
    for (let index = 0; index < sampling.n; index++) {
      yield {
        type: 'delta',
        index,
        text: 'ok',
        tokens: [{ id: 4, token: 'ok', bytes: [111, 107], logprob: -0.5, top: [] }],
      }
      yield { type: 'finish', index, reason: 'stop', stopTokenId: null }
    }
  },
  check: async () => {},
  close: async () => {},
}

export const noOpTraining: TrainingEngine = {
  async train({ outputFolder, jobId }, onProgress) {
    onProgress({ type: 'started', data: { num_sequences: 1 } })
    onProgress({ type: 'step', data: { loss: 1 } })
    await writeFile(join(outputFolder, 'adapter_model.safetensors'), jobId)
    return { loss: 1 }
  },
  async createAdapter(_baseModelFolder, outputFolder, seed) {
    await mkdir(outputFolder, { recursive: true })
    await writeFile(join(outputFolder, 'adapter_model.safetensors'), String(seed))
  },
  check: async () => {},
  close: async () => {},
}
