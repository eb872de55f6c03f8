/** Token sequences to rows of a few fixed lengths, since the training graph is built and kept once per length. */
import { countTrainable, type TokenSequence } from './conversation.ts'
import type { PackedRow } from './rows.ts'

/** Row lengths in tokens, ascending. Attention's cost grows with the square, so a job takes the smallest that it can. */
const ROW_LENGTHS = [512, 1024, 2048] as const
/** No sequence is longer than the longest row, whatever the model's context. */
export const MAX_SEQUENCE_TOKENS = 2048

/** A sequence with what its trainable tokens carry. */
export interface WeightedSequence {
  tokens: TokenSequence
  weight: number
  advantage: number
  /** Which trajectory or conversation it belongs to. */
  trajectory: number
}

/** The longest sequence that can be trained on, in tokens. */
export function toSequenceLimit(contextLength: number): number {
  return Math.min(contextLength, MAX_SEQUENCE_TOKENS)
}

/** The smallest row length that holds every one of the sequences. Throws RangeError for sequences above MAX_SEQUENCE_TOKENS. */
export function toRowLength(sequences: readonly WeightedSequence[]): number {
  const longest = sequences.reduce((most, { tokens }) => Math.max(most, tokens.ids.length), 0)
  const length = ROW_LENGTHS.find(candidate => candidate >= longest)
  if (length === undefined) throw new RangeError(`A sequence of ${longest} tokens does not fit a row`)
  return length
}

/**
 * First fit: every sequence goes whole into the first row with room, in the order given. Rows without a trainable token are
 * left out.
 */
export function packRows(sequences: readonly WeightedSequence[], length: number): PackedRow[] {
  const bins: { sequences: WeightedSequence[]; room: number }[] = []
  // Bins before this one have no room even for the shortest sequence: keeps many short sequences from costing quadratic time.
  let firstOpen = 0
  const shortest = sequences.reduce((least, { tokens }) => Math.min(least, tokens.ids.length), length)
  for (const sequence of sequences) {
    const size = sequence.tokens.ids.length
    let index = firstOpen
    while (index < bins.length && bins[index]!.room < size) index++
    if (index === bins.length) bins.push({ sequences: [], room: length })
    const bin = bins[index]!
    bin.sequences.push(sequence)
    bin.room -= size
    while (firstOpen < bins.length && bins[firstOpen]!.room < shortest) firstOpen++
  }
  return bins.map(bin => toRow(bin.sequences, length)).filter(row => row.trainableTokens > 0)
}

function toRow(sequences: readonly WeightedSequence[], length: number): PackedRow {
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
    trajectories: new Set(sequences.map(({ trajectory }) => trajectory)).size,
  }
  let start = 0
  sequences.forEach(({ tokens, weight, advantage }, number) => {
    tokens.ids.forEach((id, position) => {
      const at = start + position
      row.ids[at] = id
      row.sequence[at] = number
      row.position[at] = position
      if (position === 0) return
      row.target[at - 1] = id
      if (!tokens.trainable[position]) return
      row.weight[at - 1] = weight
      row.advantage[at - 1] = advantage
      row.oldLogprob[at - 1] = tokens.oldLogprobs[position]!
      row.trainableTokens++
    })
    start += tokens.ids.length
  })
  return row
}

/** The sequence's first `limit` tokens, or null where none of them can be trained on. */
export function truncate(sequence: TokenSequence, limit: number): TokenSequence | null {
  const { ids, trainable, oldLogprobs } = sequence
  const kept =
    ids.length <= limit
      ? sequence
      : { ids: ids.slice(0, limit), trainable: trainable.slice(0, limit), oldLogprobs: oldLogprobs.slice(0, limit) }
  return countTrainable([kept]) === 0 ? null : kept
}

/** The same items in an order drawn from the seed (Fisher-Yates), the same for every run. */
export function shuffle<T>(items: readonly T[], seed: number): T[] {
  const random = createRandom(seed)
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const item = shuffled[last]!
    shuffled[last] = shuffled[other]!
    shuffled[other] = item
  }
  return shuffled
}

/** Uniform numbers in [0, 1): the splitmix32 generator, whose 32 bits of state are enough for an order of rows. */
function createRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}
