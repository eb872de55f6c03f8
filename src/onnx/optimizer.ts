/** AdamW with clipping by global norm. @see https://arxiv.org/abs/1711.05101; defaults: the open-source trainer's */
import type { Parameter } from './weights.ts'

export interface OptimizerSettings {
  weightDecay: number
  /** The gradient is scaled down to this Euclidean norm; infinity: never. */
  maxGradientNorm: number
}

export const rlOptimizer: OptimizerSettings = { weightDecay: 0.1, maxGradientNorm: 0.1 }
export const sftOptimizer: OptimizerSettings = { weightDecay: 0, maxGradientNorm: 1 }

/** Mean and mean square of the gradient for each parameter, by parameter name. */
export interface OptimizerState {
  /** Steps taken. */
  steps: number
  moments: Map<string, { mean: Float32Array; square: Float32Array }>
}

const BETA_MEAN = 0.9
const BETA_SQUARE = 0.99
const EPSILON = 1e-8
/** Keeps the clipping factor finite, as torch's clip_grad_norm_ does. */
const NORM_EPSILON = 1e-6

export function createOptimizerState(parameters: readonly Parameter[]): OptimizerState {
  const zeros = ({ data }: Parameter) => ({
    mean: new Float32Array(data.length),
    square: new Float32Array(data.length),
  })
  return { steps: 0, moments: new Map(parameters.map(parameter => [parameter.name, zeros(parameter)])) }
}

export function gradientNorm(gradients: readonly Float32Array[]): number {
  let squares = 0
  for (const gradient of gradients) {
    for (let index = 0; index < gradient.length; index++) squares += gradient[index] ** 2
  }
  return Math.sqrt(squares)
}

/**
 * Changes the parameters and the state in place; `gradients` in the order of `parameters`. Returns the norm before
 * clipping.
 */
export function optimizerStep(
  parameters: readonly Parameter[],
  gradients: readonly Float32Array[],
  state: OptimizerState,
  settings: OptimizerSettings,
  learningRate: number,
): number {
  const norm = gradientNorm(gradients)
  // a step on such a gradient would leave nothing but NaN
  if (!Number.isFinite(norm))
    throw new Error(`The gradient is not finite at step ${state.steps + 1}; lower the learning rate`)
  const clipping = Math.min(1, settings.maxGradientNorm / (norm + NORM_EPSILON))
  state.steps += 1
  const meanCorrection = 1 / (1 - BETA_MEAN ** state.steps)
  const squareCorrection = 1 / (1 - BETA_SQUARE ** state.steps)
  const keep = 1 - learningRate * settings.weightDecay
  parameters.forEach(({ name, data }, parameterIndex) => {
    const gradient = gradients[parameterIndex]
    const moments = state.moments.get(name)
    if (!moments) throw new Error(`The optimizer has no state for ${name}`)
    const { mean, square } = moments
    for (let index = 0; index < data.length; index++) {
      const slope = gradient[index] * clipping
      const newMean = BETA_MEAN * mean[index] + (1 - BETA_MEAN) * slope
      const newSquare = BETA_SQUARE * square[index] + (1 - BETA_SQUARE) * slope * slope
      mean[index] = newMean
      square[index] = newSquare
      const direction = (newMean * meanCorrection) / (Math.sqrt(newSquare * squareCorrection) + EPSILON)
      data[index] = data[index] * keep - learningRate * direction
    }
  })
  return norm
}
