/**
 * Generates with the embedded engine as torch_generation.py generates with PyTorch, with the same lines on stdin and stdout.
 *
 * Usage: onnx-generation.ts THREADS ROWS TOKENS
 */
import { createInterface } from 'node:readline'
import { readBaseModels } from '../../src/inference/base-models.ts'
import { createOnnxInferenceEngine } from '../../src/onnx/onnx-inference-engine.ts'
import { generateTokens } from './generate-tokens.ts'

const [threads = 1, rows = 1, maxTokens = 1] = process.argv.slice(2).map(Number)
const engine = createOnnxInferenceEngine({ baseModels: readBaseModels(''), threads, queueLength: 0, maxBatch: rows })

await generateTokens(engine, rows, { maxTokens })
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const start = performance.now()
  let tokens = 0
  while (tokens === 0 || performance.now() - start < Number(line) * 1000)
    tokens += (await generateTokens(engine, rows, { maxTokens, ignoreEos: true })).tokens
  process.stdout.write(`${tokens / ((performance.now() - start) / 1000)}\n`)
}
