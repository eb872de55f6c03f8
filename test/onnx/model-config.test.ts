import { describe, expect, test } from 'vitest'
import { toModelConfig } from '../../src/onnx/model-config.ts'
import { ropeAngles } from '../../src/onnx/rope.ts'

const plain = {
  architectures: ['LlamaForCausalLM'],
  num_hidden_layers: 2,
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 100,
}

describe('config.json', () => {
  test('takes the defaults of transformers for what it leaves out', () => {
    expect(toModelConfig(plain)).toEqual({
      layers: 2,
      hiddenSize: 64,
      intermediateSize: 128,
      heads: 4,
      keyValueHeads: 2,
      headSize: 16,
      vocabularySize: 100,
      contextLength: 2048,
      normEpsilon: 1e-6,
      tiedEmbeddings: false,
      rope: { theta: 10_000, scaling: null },
    })
  })

  test('has rope_theta at the top or in rope_parameters', () => {
    expect(toModelConfig({ ...plain, rope_theta: 5e5 }).rope.theta).toBe(5e5)
    const parameters = { rope_type: 'default', rope_theta: 1e6 }
    expect(toModelConfig({ ...plain, rope_parameters: parameters }).rope).toEqual({ theta: 1e6, scaling: null })
  })

  test('has rope scaling under its older names too', () => {
    const { rope } = toModelConfig({ ...plain, rope_theta: 5e5, rope_scaling: { type: 'linear', factor: 4 } })
    expect(rope).toEqual({ theta: 5e5, scaling: { type: 'linear', factor: 4 } })
  })

  test('with a sliding window gives no more context than the window', () => {
    const config = { ...plain, max_position_embeddings: 4096, sliding_window: 1024 }
    expect(toModelConfig(config).contextLength).toBe(4096)
    expect(toModelConfig({ ...config, use_sliding_window: true }).contextLength).toBe(1024)
  })

  test.each([
    [{ architectures: ['GPT2LMHeadModel'] }, /architecture GPT2LMHeadModel is not supported; supported are Llama/],
    [{ architectures: undefined }, /architecture undefined is not supported/],
    [{ hidden_act: 'gelu' }, /hidden_act gelu is not supported/],
    [{ quantization_config: {} }, /quantization_config is not supported/],
    [{ num_hidden_layers: 0 }, /num_hidden_layers must be a whole number of at least 1, not 0/],
    [{ vocab_size: undefined }, /vocab_size must be a number, not undefined/],
    [{ num_attention_heads: 3, head_dim: 16 }, /num_attention_heads 3 is not a multiple of num_key_value_heads 2/],
    [{ head_dim: 15 }, /head_dim 15 is odd/],
    [{ rope_scaling: { rope_type: 'yarn', factor: 2 } }, /rope type yarn is not supported/],
    [{ rope_scaling: { rope_type: 'llama3', factor: 2 } }, /low_freq_factor must be a number/],
  ])('%j is refused', (changes, message) => {
    expect(() => toModelConfig({ ...plain, ...changes })).toThrow(message)
  })
})

test('linear rope scaling stretches positions', () => {
  const scaled = toModelConfig({ ...plain, rope_scaling: { rope_type: 'linear', factor: 4 } })
  const [wide, narrow] = [ropeAngles(scaled, 9), ropeAngles(toModelConfig(plain), 3)]
  expect(wide.cosine.slice(8 * 8)).toEqual(narrow.cosine.slice(2 * 8))
})
