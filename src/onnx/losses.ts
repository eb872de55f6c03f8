/**
 * The training objectives as traced operations; gradients follow from the tracing.
 * Formulas: the open-source training client's policy loss, with d = l - o for the new and the old log-probability of a
 * token.
 */
import type { RlConfig } from '../training/engine.ts'
import type { Value } from './graph.ts'
import {
  add,
  cast,
  clip,
  compare,
  divideByConstant,
  exp,
  matmul,
  minimum,
  multiply,
  negate,
  reshape,
  scale,
  stopGradient,
  subtract,
  sum,
  where,
} from './tensor-operations.ts'

/** What of an RlConfig shapes the loss. */
export type PolicyConfig = Pick<
  RlConfig,
  | 'ppo'
  | 'epsilon'
  | 'epsilonHigh'
  | 'maskProbRatio'
  | 'maxNegativeAdvantageImportanceSamplingWeight'
  | 'k2Tau'
  | 'importanceSamplingLevel'
>

export type Objective = { type: 'sft' } | { type: 'rl'; config: PolicyConfig }

/** Everything is per token, [batch · length, 1], except `sequence` [batch, length]. */
export interface PolicyInputs {
  /** New log-probabilities, through which the gradient flows. */
  logprob: Value
  /** Old log-probabilities; NaN where missing. */
  oldLogprob: Value
  advantage: Value
  /** 0 where a token does not train. */
  weight: Value
  /** Number of the sequence that the token belongs to, within its row. */
  sequence: Value
}

/**
 * Cross-entropy and policy loss alike: minus the weighted sum. Whoever feeds the weights divides by the token count.
 */
export function weightedLoss(objective: Value, weight: Value): Value {
  return negate(sum(multiply(objective, weight), [0, 1]))
}

/** What a token contributes to the policy objective, [batch · length, 1]; to be weighted, summed and maximised. */
export function policyObjective(inputs: PolicyInputs, config: PolicyConfig): Value {
  const { logprob } = inputs
  const { graph } = logprob
  const isMissing = graph.operation('IsNaN', [inputs.oldLogprob], inputs.oldLogprob.shape, { dtype: 'bool' })
  const old = where(isMissing, stopGradient(logprob), inputs.oldLogprob)
  const difference = subtract(logprob, old)
  const low = 1 - config.epsilon
  const high = 1 + config.epsilonHigh

  let ratio = importanceRatio(difference, inputs, config.importanceSamplingLevel)
  const cap = config.maxNegativeAdvantageImportanceSamplingWeight
  if (cap !== null) ratio = minimum(ratio, graph.scalar(cap))
  if (config.maskProbRatio) {
    const isInside = compare(
      'And',
      compare('Greater', ratio, graph.scalar(low)),
      compare('Less', ratio, graph.scalar(high)),
    )
    ratio = where(isInside, ratio, graph.scalar(0))
  }
  const advantage =
    config.k2Tau === null ? inputs.advantage : subtract(inputs.advantage, scale(stopGradient(difference), config.k2Tau))
  if (config.ppo) return minimum(multiply(ratio, advantage), multiply(clip(ratio, low, high), advantage))
  return multiply(multiply(clip(stopGradient(ratio), low, high), advantage), logprob)
}

function importanceRatio(
  difference: Value,
  inputs: PolicyInputs,
  level: PolicyConfig['importanceSamplingLevel'],
): Value {
  if (level === 'token') return exp(difference)
  const mean = sequenceMean(difference, inputs)
  if (level === 'sequence') return exp(mean)
  if (level === 'average') return scale(add(exp(difference), exp(mean)), 1 / 2)
  // the square root of the product of both ratios
  return exp(scale(add(difference, mean), 1 / 2))
}

/** Mean of `x` over the trainable tokens of each token's sequence. */
function sequenceMean(x: Value, { weight, sequence }: PolicyInputs): Value {
  const { graph } = x
  const [batch, length] = sequence.shape as [number, number]
  const isSame = compare('Equal', reshape(sequence, [batch, length, 1]), reshape(sequence, [batch, 1, length]))
  const same = cast(isSame, 'float32')
  const trains = cast(compare('Greater', weight, graph.scalar(0)), 'float32')
  const total = matmul(same, reshape(multiply(x, trains), [batch, length, 1]))
  const counts = matmul(same, reshape(trains, [batch, length, 1]))
  // a sequence without trainable tokens has count 0 and is never used, but must not become NaN
  const safeCounts = graph.operation('Max', [counts, graph.scalar(1)], counts.shape)
  return reshape(divideByConstant(total, safeCounts), x.shape)
}
