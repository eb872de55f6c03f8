/**
 * Rotary position tables. @see https://arxiv.org/abs/2104.09864 and, for the scaling, transformers' modeling_rope_utils
 */
import type { ModelConfig, RopeScaling } from './model-config.ts'

export interface RopeAngles {
  /** [positions, half the head width] */
  cosine: Float32Array
  sine: Float32Array
}

export function ropeAngles(config: ModelConfig, positions: number): RopeAngles {
  const half = config.headSize / 2
  const frequencies = Array.from({ length: half }, (_, index) => {
    const frequency = config.rope.theta ** ((-2 * index) / config.headSize)
    return config.rope.scaling ? scaleFrequency(frequency, config.rope.scaling) : frequency
  })
  const cosine = new Float32Array(positions * half)
  const sine = new Float32Array(positions * half)
  for (let position = 0; position < positions; position++) {
    for (let index = 0; index < half; index++) {
      const angle = position * frequencies[index]
      cosine[position * half + index] = Math.cos(angle)
      sine[position * half + index] = Math.sin(angle)
    }
  }
  return { cosine, sine }
}

/** Llama 3: long waves are stretched by `factor`, short ones stay, those between are blended. */
function scaleFrequency(frequency: number, scaling: RopeScaling): number {
  if (scaling.type === 'linear') return frequency / scaling.factor
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContext } = scaling
  const turns = (originalContext * frequency) / (2 * Math.PI)
  if (turns < lowFrequencyFactor) return frequency / factor
  if (turns > highFrequencyFactor) return frequency
  const blend = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
  return (1 - blend) * (frequency / factor) + blend * frequency
}
