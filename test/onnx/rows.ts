import type { PackedRow } from '../../src/training/rows.ts'

export interface RowSequence {
  ids: number[]
  /** Index of the first token that trains. */
  trainFrom: number
  weight?: number
  advantage?: number
}

/** A packed row of these sequences. */
export function rowOf(sequences: RowSequence[], length: number): PackedRow {
  const row: PackedRow = {
    length,
    ids: new Int32Array(length),
    target: new Int32Array(length),
    weight: new Float32Array(length),
    advantage: new Float32Array(length),
    oldLogprob: new Float32Array(length).fill(Number.NaN),
    sequence: new Int32Array(length).fill(-1),
    position: new Int32Array(length),
    trainableTokens: 0,
    trajectories: sequences.length,
  }
  let start = 0
  sequences.forEach(({ ids, trainFrom, weight = 1, advantage = 1 }, number) => {
    ids.forEach((id, index) => {
      row.ids[start + index] = id
      row.sequence[start + index] = number
      row.position[start + index] = index
      if (index === 0) return
      row.target[start + index - 1] = id
      if (index < trainFrom) return
      row.weight[start + index - 1] = weight
      row.advantage[start + index - 1] = advantage
      row.trainableTokens += 1
    })
    start += ids.length
  })
  return row
}
