/** Our whole server with an engine that computes nothing, and gives each chat as many tokens as it may have, one at each tick. */
import { readSettings } from '../../../src/config.ts'
import type { GeneratePart, InferenceEngine } from '../../../src/inference/engine.ts'
import { startServer } from '../../../src/serve.ts'
import { noOpInference, noOpTraining } from '../../no-op-engine.ts'
import { nextTick } from './tick.ts'

const tokens = [{ id: 4, token: 'ok', bytes: [111, 107], logprob: -0.5, top: [] }]
const inference: InferenceEngine = {
  ...noOpInference,
  async *generate({ sampling }): AsyncGenerator<GeneratePart> {
    yield { type: 'prompt', tokenIds: [1, 2, 3], cachedTokens: 0, logprobs: null }
    for (let count = 0; count < sampling.maxTokens!; count++) {
      await nextTick()
      yield { type: 'delta', index: 0, text: 'ok', tokens }
    }
    yield { type: 'finish', index: 0, reason: 'length', stopTokenId: null }
  },
}

const server = await startServer(readSettings(process.env), { inference, training: noOpTraining })
process.stderr.write(`${server.url}\n`)
process.once('SIGTERM', () => server.close().then(() => process.exit(0)))
