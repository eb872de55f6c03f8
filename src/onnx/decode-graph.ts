/**
 * The generation graph: the model with a key-value cache. The cache is fed as it is and only the new tokens' keys and
 * values come out, to be written into it: onnxruntime-node copies every output, so an operation that gives back the
 * grown cache (GroupQueryAttention) would copy all of it for each token. Measured on tiny-chat's shape with 8 sequences
 * and 2,048 positions: 6 to 20 ms for a step that itself takes 1 ms.
 */
import { factorNames } from './adapter.ts'
import type { Graph } from './graph.ts'
import { type Attention, type Lora, noLora, splitHeads, traceBlocks, traceLogits } from './model.ts'
import type { ModelConfig } from './model-config.ts'
import { rotary, rotaryTables, softmax } from './model-operations.ts'
import { ropeAngles } from './rope.ts'
import { add, concatenate, matmul, reshape, split, transpose } from './tensor-operations.ts'
import type { GraphWeights } from './weights.ts'

export const cacheNames = (layer: number) => [`key.${layer}`, `value.${layer}`] as const
export const newName = (cacheName: string) => `new.${cacheName}`

/**
 * Inputs: `ids` int32 and `position` int64 [batch, length], the new tokens and their places; `pastMask` [batch, 1, 1,
 * positions], added to the scores of the cached tokens; `newMask` [query heads per key head · length, length], added to
 * those of the new tokens; `sizes` int64 [2], positions and length; `picked` int32 [wanted], the new tokens whose logits
 * are wanted, counted row after row; the cache, [batch, key heads, positions, head size] per layer; with `hasLora` the
 * factors of every layer, of one rank, B multiplied by the adapter's scale.
 * Outputs: `logits` [wanted, vocabulary] and `new.<cache name>` [batch, key heads, length, head size].
 */
export function buildDecodeGraph(
  graph: Graph,
  config: ModelConfig,
  weights: GraphWeights,
  hasLora: boolean,
  contextLength: number,
): void {
  const ids = graph.input('ids', ['batch', 'length'], 'int32')
  const picked = graph.input('picked', ['wanted'], 'int32')
  const lora: Lora = (layerName, inputs, outputs) => {
    const { a, b } = factorNames(layerName)
    return { a: graph.input(a, ['rank', inputs]), b: graph.input(b, [outputs, 'rank']), scale: 1 }
  }
  const parts = { config, weights, lora: hasLora ? lora : noLora }
  const hidden = traceBlocks(parts, ids, cachedAttention(graph, config, contextLength))
  const flat = reshape(hidden, ['tokens', config.hiddenSize])
  const wanted = graph.operation('Gather', [flat, picked], ['wanted', config.hiddenSize])
  graph.output(traceLogits(parts, wanted), 'logits')
}

function cachedAttention(graph: Graph, config: ModelConfig, contextLength: number): Attention {
  const { heads, keyValueHeads, headSize } = config
  const position = graph.input('position', ['batch', 'length'], 'int64')
  const pastMask = graph.input('pastMask', ['batch', 1, 1, 'positions'])
  const newMask = graph.input('newMask', ['rows', 'length'])
  const sizes = graph.input('sizes', [2], 'int64')
  const tables = rotaryTables(graph, ropeAngles(config, contextLength), headSize / 2)
  const scoring = { transposeB: true, alpha: headSize ** -0.5 }

  return (layer, query, key, value) => {
    const turnedQuery = rotary(splitHeads(query, heads, headSize), position, tables)
    const newKey = rotary(splitHeads(key, keyValueHeads, headSize), position, tables)
    const newValue = splitHeads(value, keyValueHeads, headSize)
    const [keyName, valueName] = cacheNames(layer)
    const cacheShape = ['batch', keyValueHeads, 'positions', headSize]
    const pastKey = graph.input(keyName, cacheShape)
    const pastValue = graph.input(valueName, cacheShape)
    graph.output(newKey, newName(keyName))
    graph.output(newValue, newName(valueName))

    // the query heads that share a key head lie side by side, so that one batched product serves the group
    const grouped = reshape(turnedQuery, ['batch', keyValueHeads, 'rows', headSize])
    const pastScores = add(matmul(grouped, pastKey, scoring), pastMask)
    const newScores = add(matmul(grouped, newKey, scoring), newMask)
    const shares = softmax(concatenate(pastScores, newScores, 'allPositions'))
    const [pastShares, newShares] = split(shares, sizes, ['positions', 'length'])
    const mixed = add(matmul(pastShares, pastValue), matmul(newShares, newValue))
    const apart = transpose(reshape(mixed, ['batch', heads, 'length', headSize]), [0, 2, 1, 3])
    return reshape(apart, ['batch', 'length', heads * headSize])
  }
}
