/** Packed rows as the inputs of the training graph. */
import type { Tensor } from 'onnxruntime-node'
import type { PackedRow } from '../training/rows.ts'
import { toTensor } from './session.ts'
import type { TrainGraphShape } from './train-graph.ts'

/** At most `shape.rows` rows; missing ones are padding. Weights are multiplied by `scale`. */
export function rowFeeds(
  rows: readonly PackedRow[],
  shape: TrainGraphShape,
  isRl: boolean,
  scale: number,
): Record<string, Tensor> {
  const { length } = shape
  const tokens = shape.rows * length
  const ids = new Int32Array(tokens)
  const target = new Int32Array(tokens)
  const sequence = new Int32Array(tokens).fill(-1)
  const position = new BigInt64Array(tokens)
  const weight = new Float32Array(tokens)
  const advantage = new Float32Array(tokens)
  const oldLogprob = new Float32Array(tokens).fill(Number.NaN)
  rows.forEach((row, rowIndex) => {
    if (row.length !== length) throw new Error(`A row has ${row.length} tokens; the graph takes ${length}`)
    const start = rowIndex * length
    ids.set(row.ids, start)
    target.set(row.target, start)
    sequence.set(row.sequence, start)
    advantage.set(row.advantage, start)
    oldLogprob.set(row.oldLogprob, start)
    for (let index = 0; index < length; index++) {
      position[start + index] = BigInt(row.position[index])
      weight[start + index] = row.weight[index] * scale
    }
  })
  const perRow = [shape.rows, length]
  const perToken = [tokens, 1]
  const feeds: Record<string, Tensor> = {
    ids: toTensor(ids, perRow),
    sequence: toTensor(sequence, perRow),
    position: toTensor(position, perRow),
    target: toTensor(target, [tokens]),
    weight: toTensor(weight, perToken),
  }
  if (isRl) {
    feeds['advantage'] = toTensor(advantage, perToken)
    feeds['oldLogprob'] = toTensor(oldLogprob, perToken)
  }
  return feeds
}
