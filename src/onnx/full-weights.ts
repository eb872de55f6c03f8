/** Weights of a whole model, for training all of them: drawn at random, and written back. */
import { linearLayers } from './model.ts'
import type { ModelConfig } from './model-config.ts'
import { createRandom } from './random.ts'
import { writeSafetensors } from './safetensors.ts'
import type { Parameter } from './weights.ts'

/** Standard deviation of new weights, as in GPT-2. */
const INITIAL_DEVIATION = 0.02

/**
 * Normal weights of deviation 0.02; layers that add to the residual stream divided by sqrt(2 · layers), norms 1. No
 * biases: the result is a Llama model. @see https://openai.com/index/better-language-models (GPT-2, section 2.3)
 */
export function createRandomParameters(config: ModelConfig, seed: number): Map<string, Parameter> {
  const normal = createNormal(seed)
  const parameters = new Map<string, Parameter>()
  const put = (name: string, shape: number[], draw: () => number) => {
    const size = shape.reduce((product, dimension) => product * dimension, 1)
    parameters.set(name, { name, shape, data: Float32Array.from({ length: size }, draw) })
  }
  const { hiddenSize, vocabularySize, layers } = config
  const plain = () => normal() * INITIAL_DEVIATION
  const residual = () => plain() / Math.sqrt(2 * layers)
  const one = () => 1
  put('model.embed_tokens.weight', [vocabularySize, hiddenSize], plain)
  for (let layer = 0; layer < layers; layer++) {
    const prefix = `model.layers.${layer}`
    put(`${prefix}.input_layernorm.weight`, [hiddenSize], one)
    put(`${prefix}.post_attention_layernorm.weight`, [hiddenSize], one)
    for (const [module, { group, inputs, outputs }] of Object.entries(linearLayers(config))) {
      const isResidual = module === 'o_proj' || module === 'down_proj'
      put(`${prefix}.${group}.${module}.weight`, [outputs, inputs], isResidual ? residual : plain)
    }
  }
  put('model.norm.weight', [hiddenSize], one)
  if (!config.tiedEmbeddings) put('lm_head.weight', [vocabularySize, hiddenSize], plain)
  return parameters
}

/** Normal numbers of mean 0 and deviation 1, by Box and Muller. */
function createNormal(seed: number): () => number {
  const random = createRandom(seed)
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

export function writeModelWeights(
  path: string,
  parameters: ReadonlyMap<string, Parameter>,
  dtype: 'F32' | 'BF16',
): void {
  const tensors = [...parameters].map(
    ([name, { shape, data }]) => [name, dtype === 'BF16' ? { shape, data, rounding: dtype } : { shape, data }] as const,
  )
  writeSafetensors(path, new Map(tensors), { format: 'pt' })
}
