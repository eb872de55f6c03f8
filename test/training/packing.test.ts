import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TokenSequence } from '../../src/training/conversation.ts'
import {
  packRows as packRowsOfLength,
  shuffle,
  toRowLength,
  toSequenceLimit,
  truncate,
  type WeightedSequence,
} from '../../src/training/packing.ts'
import type { PackedRow } from '../../src/training/rows.ts'

/** `trainable` counts from the end, as completions do; ids are 1-based so that padding can be told apart. */
function toSequence(length: number, trainable: number, first = 1): TokenSequence {
  const ids = Array.from({ length }, (_, i) => first + i)
  const on = ids.map((_, i) => i >= length - trainable)
  return { ids, trainable: on, oldLogprobs: on.map((value, i) => (value ? -i / 8 : Number.NaN)) }
}

function toWeighted(tokens: TokenSequence, trajectory = 0): WeightedSequence {
  return { tokens, weight: 0.5, advantage: -2, trajectory }
}

function packRows(sequences: WeightedSequence[]): PackedRow[] {
  return packRowsOfLength(sequences, toRowLength(sequences))
}

/** The sequences in a row, read back from its arrays alone. */
function unpack(row: PackedRow): { ids: number[]; targets: number[]; weights: number[]; positions: number[] }[] {
  const found: ReturnType<typeof unpack> = []
  row.sequence.forEach((number, i) => {
    if (number < 0) return
    found[number] ??= { ids: [], targets: [], weights: [], positions: [] }
    found[number].ids.push(row.ids[i]!)
    found[number].targets.push(row.target[i]!)
    found[number].weights.push(row.weight[i]!)
    found[number].positions.push(row.position[i]!)
  })
  return found
}

describe('packRows', () => {
  test('lays two sequences side by side with targets one step ahead', () => {
    const [row, ...others] = packRows([toWeighted(toSequence(4, 2)), toWeighted(toSequence(3, 1, 11), 1)])
    expect(others).toEqual([])
    expect(row).toMatchObject({ length: 512, trainableTokens: 3, trajectories: 2 })
    expect([...row!.ids.slice(0, 8)]).toEqual([1, 2, 3, 4, 11, 12, 13, 0])
    expect([...row!.target.slice(0, 8)]).toEqual([2, 3, 4, 0, 12, 13, 0, 0])
    expect([...row!.weight.slice(0, 8)]).toEqual([0, 0.5, 0.5, 0, 0, 0.5, 0, 0])
    expect([...row!.advantage.slice(0, 8)]).toEqual([0, -2, -2, 0, 0, -2, 0, 0])
    expect([...row!.oldLogprob.slice(0, 4)]).toEqual([Number.NaN, -0.25, -0.375, Number.NaN])
    expect([...row!.sequence.slice(0, 8)]).toEqual([0, 0, 0, 0, 1, 1, 1, -1])
    expect([...row!.position.slice(0, 8)]).toEqual([0, 1, 2, 3, 0, 1, 2, 0])
  })

  test.each([
    [512, 512],
    [513, 1024],
    [1025, 2048],
    [2048, 2048],
  ])('takes the smallest row for a sequence of %i tokens: %i', (tokens, length) => {
    expect(packRows([toWeighted(toSequence(tokens, 1))])[0]!.length).toBe(length)
  })

  test('refuses what fits no row', () => {
    expect(() => packRows([toWeighted(toSequence(2049, 1))])).toThrow(RangeError)
  })

  test('goes back to an earlier row that still has room', () => {
    const sizes = [300, 300, 200, 212]
    const rows = packRows(sizes.map((size, i) => toWeighted(toSequence(size, 1, 1 + 1000 * i), i)))
    expect(rows.map(row => unpack(row).map(({ ids }) => ids.length))).toEqual([
      [300, 200],
      [300, 212],
    ])
  })

  test('makes no row of nothing, nor of prompts alone', () => {
    expect(packRows([])).toEqual([])
    expect(packRows([toWeighted(toSequence(10, 0))])).toEqual([])
  })

  test('256 sequences of 30 tokens make 16 rows', () => {
    const sequences = Array.from({ length: 256 }, (_, i) => toWeighted(toSequence(30, 8), i))
    expect(packRows(sequences)).toHaveLength(16)
  })

  test('every token of every sequence is in exactly one row, in order, and nothing crosses', () => {
    const lengths = fc.array(fc.tuple(fc.integer({ min: 2, max: 700 }), fc.integer({ min: 1, max: 40 })), {
      minLength: 1,
      maxLength: 40,
    })
    fc.assert(
      fc.property(lengths, sizes => {
        let first = 1
        const sequences = sizes.map(([length, trainable], i) => {
          const sequence = toSequence(length, Math.min(trainable, length - 1), first)
          first += length
          return toWeighted(sequence, i)
        })
        const rows = packRows(sequences)
        const found = rows.flatMap(unpack).sort((a, b) => a.ids[0]! - b.ids[0]!)
        expect(found.map(({ ids }) => ids)).toEqual(sequences.map(({ tokens }) => tokens.ids))
        found.forEach(({ ids, targets, weights, positions }, i) => {
          expect(targets).toEqual([...ids.slice(1), 0])
          expect(positions).toEqual(ids.map((_, position) => position))
          const { trainable } = sequences[i]!.tokens
          expect(weights).toEqual([...trainable.slice(1), false].map(on => (on ? 0.5 : 0)))
        })
        for (const row of rows) {
          const runs = row.sequence.filter((number, i) => number >= 0 && number !== row.sequence[i - 1])
          expect([...runs]).toEqual(runs.length === 0 ? [] : Array.from(runs.keys()))
          expect(row.trainableTokens).toBe(row.weight.filter(weight => weight > 0).length)
          expect(row.trajectories).toBe(runs.length)
        }
        const space = rows.reduce((sum, row) => sum + row.length, 0)
        // First fit leaves at most one row half empty.
        expect(sequences.reduce((sum, { tokens }) => sum + tokens.ids.length, 0) * 2).toBeGreaterThan(
          space - rows[0]!.length,
        )
      }),
      { numRuns: 100 },
    )
  })
})

describe('truncate', () => {
  test('keeps the start, and nothing where no trainable token is left', () => {
    const sequence = toSequence(10, 4)
    expect(truncate(sequence, 10)).toBe(sequence)
    expect(truncate(sequence, 8)).toEqual({
      ids: sequence.ids.slice(0, 8),
      trainable: sequence.trainable.slice(0, 8),
      oldLogprobs: sequence.oldLogprobs.slice(0, 8),
    })
    expect(truncate(sequence, 6)).toBeNull()
  })

  test('is limited by the context and by the longest row', () => {
    expect(toSequenceLimit(100)).toBe(100)
    expect(toSequenceLimit(32_768)).toBe(2048)
  })
})

describe('shuffle', () => {
  test('keeps every item, repeats with its seed, and differs between seeds', () => {
    const items = Array.from({ length: 50 }, (_, i) => i)
    expect(shuffle(items, 3)).toEqual(shuffle(items, 3))
    expect(shuffle(items, 3)).not.toEqual(items)
    expect(shuffle(items, 3)).not.toEqual(shuffle(items, 4))
    expect(shuffle(items, 3).sort((a, b) => a - b)).toEqual(items)
  })

  test('puts each item first equally often', () => {
    const counts = [0, 0, 0, 0]
    for (let seed = 0; seed < 4000; seed++) counts[shuffle([0, 1, 2, 3], seed)[0]!]!++
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(120)
  })
})
