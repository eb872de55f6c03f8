/** The training graph: model, objective and backward pass for a fixed number of rows of a fixed length. */
import { type Graph, gradients, type Value } from './graph.ts'
import { type Objective, policyObjective, weightedLoss } from './losses.ts'
import { type Attention, MASKED_SCORE, type ModelParts, splitHeads, traceBlocks, traceLogits } from './model.ts'
import type { ModelConfig } from './model-config.ts'
import { entropies, rotary, rotaryTables, softmax, tokenLogprobs } from './model-operations.ts'
import { ropeAngles } from './rope.ts'
import { add, compare, matmul, reshape, transpose, where } from './tensor-operations.ts'

export interface TrainGraphShape {
  /** Rows in one run. */
  rows: number
  /** Tokens in a row. */
  length: number
}

/**
 * Inputs: `ids`, `sequence` int32 and `position` int64 [rows, length]; `target` int32 [tokens], `weight` [tokens, 1]
 * and for RL `advantage`, `oldLogprob` [tokens, 1], where tokens = rows · length; and every value of `trained` by its
 * own name.
 * Outputs: `loss` [1, 1], `logprob` [tokens, 1], for RL `entropy` [tokens, 1], and `gradient:<name>` for each trained
 * value.
 */
export function buildTrainGraph(
  graph: Graph,
  parts: ModelParts,
  trained: readonly Value[],
  shape: TrainGraphShape,
  objective: Objective,
): void {
  const { config } = parts
  const tokens = shape.rows * shape.length
  const row = [shape.rows, shape.length]
  const column = [tokens, 1]
  const ids = graph.input('ids', row, 'int32')
  const sequence = graph.input('sequence', row, 'int32')
  const position = graph.input('position', row, 'int64')
  const target = graph.input('target', [tokens], 'int32')
  const weight = graph.input('weight', column)

  const hidden = traceBlocks(parts, ids, packedAttention(graph, config, shape, sequence, position))
  const logits = traceLogits(parts, reshape(hidden, [tokens, config.hiddenSize]))
  const { logprob, distribution } = tokenLogprobs(logits, target)
  graph.output(logprob, 'logprob')

  let contribution = logprob
  if (objective.type === 'rl') {
    const advantage = graph.input('advantage', column)
    const oldLogprob = graph.input('oldLogprob', column)
    contribution = policyObjective({ logprob, oldLogprob, advantage, weight, sequence }, objective.config)
    graph.output(entropies(distribution), 'entropy')
  }
  const loss = weightedLoss(contribution, weight)
  graph.output(loss, 'loss')
  const found = gradients(loss, trained, add)
  trained.forEach((value, index) => {
    graph.output(found[index], `gradient:${value.name}`, value.shape)
  })
}

/** Causal attention within each sequence of a packed row, in primitive operations so that it has a gradient. */
function packedAttention(
  graph: Graph,
  config: ModelConfig,
  { rows, length }: TrainGraphShape,
  sequence: Value,
  position: Value,
): Attention {
  const { heads, keyValueHeads, headSize } = config
  const group = heads / keyValueHeads
  const tables = rotaryTables(graph, ropeAngles(config, length), headSize / 2)
  const order = Int32Array.from({ length }, (_, index) => index)
  const isEarlier = compare('LessOrEqual', graph.constant(order, [1, length]), graph.constant(order, [length, 1]))
  const isSame = compare(
    'Equal',
    reshape(sequence, [rows, 1, 1, length, 1]),
    reshape(sequence, [rows, 1, 1, 1, length]),
  )
  const mask = where(compare('And', isSame, isEarlier), graph.scalar(0), graph.scalar(MASKED_SCORE))

  return (_layer, query, key, value) => {
    const turnedQuery = rotary(splitHeads(query, heads, headSize), position, tables)
    const turnedKey = rotary(splitHeads(key, keyValueHeads, headSize), position, tables)
    // the query heads that share a key head lie side by side, so that one batched product serves the group
    const grouped = reshape(turnedQuery, [rows, keyValueHeads, group * length, headSize])
    const scores = matmul(grouped, turnedKey, { transposeB: true, alpha: headSize ** -0.5 })
    const masked = add(reshape(scores, [rows, keyValueHeads, group, length, length]), mask)
    const shares = reshape(softmax(masked), [rows, keyValueHeads, group * length, length])
    const mixed = reshape(matmul(shares, splitHeads(value, keyValueHeads, headSize)), [rows, heads, length, headSize])
    return reshape(transpose(mixed, [0, 2, 1, 3]), [rows, length, heads * headSize])
  }
}
