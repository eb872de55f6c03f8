import { readBaseModels } from '../../src/inference/base-models.ts'
import type { ConstraintSource } from '../../src/inference/constraint/constraint.ts'
import { createOnnxInferenceEngine } from '../../src/onnx/onnx-inference-engine.ts'
import { generateTokens } from './generate-tokens.ts'
import type { Bench, Trial } from './trial.ts'

const TOKENS = 256
/** Tokens of one measurement, over all its questions. */
const TOTAL_TOKENS = 2048
const BATCH = 8
const TARGET = { atMost: 1.15 }
/** Long enough that no text ends before its last token is asked for. */
const constraint: ConstraintSource = {
  kind: 'json_schema',
  schema: {
    type: 'array',
    minItems: 100,
    items: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        count: { type: 'integer' },
        kind: { enum: ['yes', 'no', 'maybe'] },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['name', 'count', 'kind', 'tags'],
      additionalProperties: false,
    },
  },
}

/** Time per token under a JSON schema, from the first token to the last, when the schema has been compiled before. */
export const constrained: Bench = { name: 'constrained', trials: [() => openTrial(1), () => openTrial(BATCH)] }

async function openTrial(rows: number): Promise<Trial> {
  const engine = createOnnxInferenceEngine({ baseModels: readBaseModels(''), queueLength: 0, maxBatch: rows })
  const measure = async (rule: ConstraintSource | null) => {
    let [tokens, seconds] = [0, 0]
    // as many as asked for, so that both sides see contexts of the same lengths
    const sampling = { maxTokens: TOKENS, ignoreEos: true, temperature: 1, seed: null, constraint: rule }
    while (tokens < TOTAL_TOKENS) {
      const generated = await generateTokens(engine, rows, sampling)
      if (generated.tokens !== rows * TOKENS) throw new Error(`A text ended early: ${generated.tokens} tokens`)
      tokens += generated.tokens
      seconds += generated.seconds
    }
    return (seconds * 1000) / tokens
  }
  return {
    contestants: { constrained: () => measure(constraint), free: () => measure(null) },
    comparisons: [
      { what: `JSON schema, per token, batch ${rows}`, unit: 'ms', ours: 'constrained', peer: 'free', target: TARGET },
    ],
    close: () => engine.close(),
  }
}
