/**
 * The transformer that Llama and Qwen2 share, traced: RMS norms, grouped-query attention with rotary positions, gated
 * feed-forward. Training and decoding differ only in how attention is computed, so that part is given in.
 */
import type { Value } from './graph.ts'
import type { ModelConfig } from './model-config.ts'
import { embed, rmsNorm, silu } from './model-operations.ts'
import { add, matmul, multiply, reshape, transpose } from './tensor-operations.ts'
import type { GraphWeights } from './weights.ts'

/** Takes query [batch, length, heads · head size] and key and value of the same form, gives the heads' outputs. */
export type Attention = (layer: number, query: Value, key: Value, value: Value) => Value

/** Low-rank factors of a linear layer: A [rank, inputs], B [outputs, rank]; the layer gains scale · x · Aᵀ · Bᵀ. */
export interface LoraFactors {
  a: Value
  b: Value
  scale: number
}

/** The factors of the layer with this name, or null where the adapter leaves it as it is. */
export type Lora = (layerName: string, inputs: number, outputs: number) => LoraFactors | null

export interface ModelParts {
  config: ModelConfig
  weights: GraphWeights
  lora: Lora
}

/** The linear layers of a transformer block with their widths, by the names that PEFT knows as target modules. */
export function linearLayers(config: ModelConfig): Record<string, { group: string; inputs: number; outputs: number }> {
  const { hiddenSize, intermediateSize, headSize } = config
  const queryWidth = config.heads * headSize
  const keyWidth = config.keyValueHeads * headSize
  return {
    q_proj: { group: 'self_attn', inputs: hiddenSize, outputs: queryWidth },
    k_proj: { group: 'self_attn', inputs: hiddenSize, outputs: keyWidth },
    v_proj: { group: 'self_attn', inputs: hiddenSize, outputs: keyWidth },
    o_proj: { group: 'self_attn', inputs: queryWidth, outputs: hiddenSize },
    gate_proj: { group: 'mlp', inputs: hiddenSize, outputs: intermediateSize },
    up_proj: { group: 'mlp', inputs: hiddenSize, outputs: intermediateSize },
    down_proj: { group: 'mlp', inputs: intermediateSize, outputs: hiddenSize },
  }
}

/**
 * Hidden states [batch, length, hidden size] after the last block, before the final norm, of token ids [batch, length].
 */
export function traceBlocks(parts: ModelParts, ids: Value, attention: Attention): Value {
  const { config, weights } = parts
  const layers = linearLayers(config)
  let hidden = embed(weights.get('model.embed_tokens.weight', [config.vocabularySize, config.hiddenSize]), ids)
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`
    const norm = (name: string, x: Value) =>
      rmsNorm(x, weights.get(`${prefix}.${name}.weight`, [config.hiddenSize]), config.normEpsilon)
    const linear = (name: string, x: Value) => {
      const { group, inputs, outputs } = layers[name] as (typeof layers)[string]
      return traceLinear(parts, `${prefix}.${group}.${name}`, x, inputs, outputs)
    }
    const attended = norm('input_layernorm', hidden)
    const heads = attention(layer, linear('q_proj', attended), linear('k_proj', attended), linear('v_proj', attended))
    hidden = add(hidden, linear('o_proj', heads))
    const fed = norm('post_attention_layernorm', hidden)
    hidden = add(hidden, linear('down_proj', multiply(silu(linear('gate_proj', fed)), linear('up_proj', fed))))
  }
  return hidden
}

function traceLinear({ weights, lora }: ModelParts, name: string, x: Value, inputs: number, outputs: number): Value {
  let y = matmul(x, weights.get(`${name}.weight`, [outputs, inputs]), { transposeB: true })
  if (weights.has(`${name}.bias`)) y = add(y, weights.get(`${name}.bias`, [outputs]))
  const factors = lora(name, inputs, outputs)
  if (!factors) return y
  const low = matmul(x, factors.a, { transposeB: true })
  return add(y, matmul(low, factors.b, { transposeB: true, alpha: factors.scale }))
}

/** Logits [tokens, vocabulary] of hidden states [tokens, hidden size]. */
export function traceLogits({ config, weights }: ModelParts, hidden: Value): Value {
  const normal = rmsNorm(hidden, weights.get('model.norm.weight', [config.hiddenSize]), config.normEpsilon)
  const name = config.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'
  return matmul(normal, weights.get(name, [config.vocabularySize, config.hiddenSize]), { transposeB: true })
}

/** Added to scores of tokens that must not be seen: far below any score, so that softmax gives exactly 0. */
export const MASKED_SCORE = -1e9

/** From [batch, length, heads · head size] to [batch, heads, length, head size]. */
export function splitHeads(x: Value, heads: number, headSize: number): Value {
  const [batch, length] = x.shape
  return transpose(reshape(x, [batch, length, heads, headSize]), [0, 2, 1, 3])
}

/** No adapter. */
export const noLora: Lora = () => null
