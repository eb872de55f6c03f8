/** Reads a Hugging Face config.json of the two architectures that the engine knows: Llama and Qwen2. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ModelConfig {
  layers: number
  hiddenSize: number
  intermediateSize: number
  heads: number
  keyValueHeads: number
  /** Width of one attention head. */
  headSize: number
  vocabularySize: number
  /** Tokens of context. */
  contextLength: number
  normEpsilon: number
  /** Whether the output layer is the token table. */
  tiedEmbeddings: boolean
  rope: { theta: number; scaling: RopeScaling | null }
}

export type RopeScaling =
  | { type: 'linear'; factor: number }
  | { type: 'llama3'; factor: number; lowFrequencyFactor: number; highFrequencyFactor: number; originalContext: number }

/** Values that config.json leaves out take those of transformers' LlamaConfig and Qwen2Config. */
const DEFAULT_ROPE_THETA = 10_000
const DEFAULT_NORM_EPSILON = 1e-6
const DEFAULT_CONTEXT_LENGTH = 2048
const architectures = ['LlamaForCausalLM', 'Qwen2ForCausalLM']

/** Throws an Error that names the file, the key and what the engine supports. */
export function readModelConfig(folder: string): ModelConfig {
  const path = join(folder, 'config.json')
  const json = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  try {
    return toModelConfig(json)
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`)
  }
}

export function toModelConfig(json: Record<string, unknown>): ModelConfig {
  const architecture = (json['architectures'] as string[] | undefined)?.[0]
  if (!architecture || !architectures.includes(architecture)) {
    throw new Error(`architecture ${architecture} is not supported; supported are ${architectures.join(', ')}`)
  }
  if (json['hidden_act'] !== undefined && json['hidden_act'] !== 'silu') {
    throw new Error(`hidden_act ${json['hidden_act']} is not supported; supported is silu`)
  }
  if (json['quantization_config']) throw new Error('quantization_config is not supported: weights must be floats')
  const heads = size(json, 'num_attention_heads')
  const hiddenSize = size(json, 'hidden_size')
  const contextLength = size(json, 'max_position_embeddings', DEFAULT_CONTEXT_LENGTH)
  const config: ModelConfig = {
    layers: size(json, 'num_hidden_layers'),
    hiddenSize,
    intermediateSize: size(json, 'intermediate_size'),
    heads,
    keyValueHeads: size(json, 'num_key_value_heads', heads),
    headSize: size(json, 'head_dim', hiddenSize / heads),
    vocabularySize: size(json, 'vocab_size'),
    contextLength: usableContext(json, contextLength),
    normEpsilon: number(json, 'rms_norm_eps', DEFAULT_NORM_EPSILON),
    tiedEmbeddings: json['tie_word_embeddings'] === true,
    rope: toRope(json),
  }
  if (config.heads % config.keyValueHeads !== 0) {
    throw new Error(`num_attention_heads ${heads} is not a multiple of num_key_value_heads ${config.keyValueHeads}`)
  }
  if (config.headSize % 2 !== 0) throw new Error(`head_dim ${config.headSize} is odd; rotary positions need pairs`)
  return config
}

function size(json: Record<string, unknown>, key: string, fallback?: number): number {
  const value = number(json, key, fallback)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new Error(`${key} must be a whole number of at least 1, not ${value}`)
}

function number(json: Record<string, unknown>, key: string, fallback?: number): number {
  const value = json[key] ?? fallback
  if (typeof value === 'number') return value
  throw new Error(`${key} must be a number, not ${JSON.stringify(value)}`)
}

/** Attention is always over everything, so a sliding window limits the context to what it covers. */
function usableContext(json: Record<string, unknown>, contextLength: number): number {
  if (json['use_sliding_window'] !== true) return contextLength
  return Math.min(contextLength, size(json, 'sliding_window', contextLength))
}

/** Newer files hold everything in rope_parameters, older ones rope_theta and rope_scaling. */
function toRope(json: Record<string, unknown>): ModelConfig['rope'] {
  const parameters = (json['rope_parameters'] ?? json['rope_scaling'] ?? {}) as Record<string, unknown>
  const theta = number(json, 'rope_theta', number(parameters, 'rope_theta', DEFAULT_ROPE_THETA))
  const type = (parameters['rope_type'] ?? parameters['type'] ?? 'default') as string
  if (type === 'default') return { theta, scaling: null }
  const factor = number(parameters, 'factor')
  if (type === 'linear') return { theta, scaling: { type, factor } }
  if (type !== 'llama3') throw new Error(`rope type ${type} is not supported; supported are default, linear, llama3`)
  return {
    theta,
    scaling: {
      type,
      factor,
      lowFrequencyFactor: number(parameters, 'low_freq_factor'),
      highFrequencyFactor: number(parameters, 'high_freq_factor'),
      originalContext: number(parameters, 'original_max_position_embeddings'),
    },
  }
}
