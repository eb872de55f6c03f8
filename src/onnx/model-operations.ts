/** The layers of a transformer as operations on traced tensors, each with its gradient. */
import type { Graph, Value } from './graph.ts'
import { add, cast, exp, multiply, negate, reshape, scale, subtract, sum, unbroadcast } from './tensor-operations.ts'
import { MICROSOFT_DOMAIN } from './writer.ts'

/** Rows of the table `weight` [vocabulary, width] for token ids of any shape. */
export function embed(weight: Value, ids: Value): Value {
  const { graph } = weight
  const width = weight.shape[1]
  return graph.operation('Gather', [weight, ids], [...ids.shape, width], {
    backward: gradient => {
      const zeros = graph.operation('ConstantOfShape', [graph.integers(weight.shape as number[])], weight.shape)
      const rows = reshape(cast(ids, 'int64'), ['rows', 1])
      const scattered = graph.operation(
        'ScatterND',
        [zeros, rows, reshape(gradient, ['rows', width])],
        weight.shape,
        addUp,
      )
      return [scattered, null]
    },
  })
}

/** Scattered values that meet are added. */
const addUp = { attributes: { reduction: { text: 'add' } } } as const

export function softmax(a: Value): Value {
  const lastAxis = a.shape.length - 1
  const result: Value = a.graph.operation('Softmax', [a], a.shape, {
    attributes: { axis: { int: -1 } },
    backward: gradient => {
      const weighted = multiply(gradient, result)
      return [subtract(weighted, multiply(result, sum(weighted, [lastAxis])))]
    },
  })
  return result
}

/** x · sigmoid(x) */
export function silu(a: Value): Value {
  const { graph } = a
  const gate = graph.operation('Sigmoid', [a], a.shape)
  // the gate is hidden from differentiation: the whole derivative is written here
  const result: Value = graph.operation('Mul', [a, gate], a.shape, {
    backward: gradient => [multiply(gradient, multiply(gate, add(graph.scalar(1), subtract(a, result)))), null],
  })
  return result
}

/** Root-mean-square normalisation over the last axis, times `weight`. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const { graph } = x
  const lastAxis = x.shape.length - 1
  const width = x.shape.at(-1) as number
  const result: Value = graph.operation('SimplifiedLayerNormalization', [x, weight], x.shape, {
    attributes: { axis: { int: -1 }, epsilon: { float: epsilon }, stash_type: { int: 1 } },
    extraOutputs: 1,
    backward: gradient => {
      // the second output of the fused operation is 1 / rms
      const inverse = graph.value(result.extraOutputs[0], [...x.shape.slice(0, -1), 1])
      const normal = multiply(x, inverse)
      const scaled = multiply(gradient, weight)
      const mean = scale(sum(multiply(scaled, normal), [lastAxis]), 1 / width)
      return [
        x.needsGradient ? multiply(inverse, subtract(scaled, multiply(normal, mean))) : null,
        weight.needsGradient ? unbroadcast(multiply(gradient, normal), weight) : null,
      ]
    },
  })
  return result
}

export interface RotaryTables {
  cosine: Value
  sine: Value
}

/**
 * Rotary position embedding of x [batch, heads, length, head width]; turning back by the same angle is its gradient.
 */
export function rotary(x: Value, positions: Value, tables: RotaryTables): Value {
  const { cosine, sine } = tables
  return x.graph.operation('RotaryEmbedding', [x, positions, cosine, sine], x.shape, {
    domain: MICROSOFT_DOMAIN,
    backward: gradient => {
      const reversed = x.graph.operation('Neg', [sine], sine.shape)
      return [rotary(gradient, positions, { cosine, sine: reversed }), null, null, null]
    },
  })
}

export interface TokenLogprobs {
  /** Natural logarithm of the target's probability [tokens, 1]. */
  logprob: Value
  /** Log-probabilities of the whole vocabulary [tokens, vocabulary]; no gradient flows through them. */
  distribution: Value
}

/** Log-probability of `target` [tokens] under `logits` [tokens, vocabulary]; the gradient is one-hot minus softmax. */
export function tokenLogprobs(logits: Value, target: Value): TokenLogprobs {
  const { graph } = logits
  const distribution = graph.operation('LogSoftmax', [logits], logits.shape, { attributes: { axis: { int: -1 } } })
  const tokens = target.shape[0]
  const index = reshape(target, [tokens, 1])
  const picked = graph.operation('GatherElements', [distribution, index], [tokens, 1], {
    attributes: { axis: { int: 1 } },
  })
  const backward = (gradient: Value) => {
    const pushedDown = multiply(exp(distribution), negate(gradient))
    const attributes = { axis: { int: 1 }, ...addUp.attributes }
    return [graph.operation('ScatterElements', [pushedDown, index, gradient], logits.shape, { attributes })]
  }
  return { logprob: { ...picked, parents: [logits], needsGradient: logits.needsGradient, backward }, distribution }
}

/** Entropy in nats of each row of log-probabilities [tokens, vocabulary], as [tokens, 1]; without gradient. */
export function entropies(distribution: Value): Value {
  return negate(sum(multiply(exp(distribution), distribution), [1]))
}

/** Cosines and sines [positions, half the head width] as constants for `rotary` and GroupQueryAttention. */
export function rotaryTables(
  graph: Graph,
  angles: { cosine: Float32Array; sine: Float32Array },
  half: number,
): RotaryTables {
  const rows = angles.cosine.length / half
  return { cosine: graph.constant(angles.cosine, [rows, half]), sine: graph.constant(angles.sine, [rows, half]) }
}
