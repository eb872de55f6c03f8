import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { toAdvantages, toRewardSummary, toTokenScales } from '../../src/training/advantages.ts'

interface Golden {
  groups: number[][]
  counts: number[][]
  scale: boolean
  balance: number
  advantages: number[][]
  scales: { weight: number; advantage: number }[]
}

const goldens: Golden[] = JSON.parse(readFileSync(`${import.meta.dirname}/goldens/token-scales.json`, 'utf8'))

describe('toAdvantages', () => {
  test('divides by the population standard deviation plus 1e-6', () => {
    // mean 2, variance ((-2)^2 + 2^2) / 2 = 4
    const expected = 2 / 2.000001
    expect(toAdvantages([0, 4], true)).toEqual([-expected, expected])
  })

  test('only subtracts the mean without scaling', () => {
    expect(toAdvantages([1, 2, 6], false)).toEqual([-2, -1, 3])
  })

  test.each([[[]], [[3]], [[0, 0]], [[0.1, 0.1, 0.1]], [[1e6 + 0.1, 1e6 + 0.1, 1e6 + 0.1]]])(
    'is exactly 0 where %j has nothing to compare',
    rewards => {
      for (const scale of [true, false]) expect(toAdvantages(rewards, scale)).toEqual(rewards.map(() => 0))
    },
  )

  test('is exactly 0 for a reward at the mean, whatever the rounding', () => {
    // The mean of these three is computed as 0.20000000000000004.
    expect(toAdvantages([0.1, 0.2, 0.3], true)[1]).toBe(0)
  })

  test('keeps differences that are small but real', () => {
    expect(toAdvantages([1, 1 + 1e-9], false)[1]).toBeGreaterThan(0)
  })
})

describe('toTokenScales', () => {
  test('gives every trajectory the same total weight, mean 1 over tokens, and mean |advantage| * weight 1', () => {
    const scales = toTokenScales(
      [
        { advantage: 1, trainableTokens: 1, keptTokens: 1 },
        { advantage: -1, trainableTokens: 3, keptTokens: 3 },
      ],
      0,
    )!
    // Weights 1 and 1/3 have mean (1 + 3/3) / 4 = 1/2; |advantage| * weight then has mean 1 already.
    expect(scales[0]!.weight).toBeCloseTo(2, 5)
    expect(scales[1]!.weight).toBeCloseTo(2 / 3, 5)
    expect(scales.map(({ advantage }) => advantage)).toEqual([expect.closeTo(1, 5), expect.closeTo(-1, 5)])
  })

  test.each([
    { balance: 0.5, expected: [4 / 3, -2 / 3] },
    { balance: 1, expected: [2, -0] },
    { balance: -0.5, expected: [2 / 3, -4 / 3] },
    { balance: -1, expected: [0, -2] },
  ])('balance $balance shrinks one side before normalisation', ({ balance, expected }) => {
    const one = { trainableTokens: 2, keptTokens: 2 }
    const scales = toTokenScales(
      [
        { ...one, advantage: 1 },
        { ...one, advantage: -1 },
      ],
      balance,
    )!
    scales.forEach(({ advantage }, i) => {
      expect(advantage).toBeCloseTo(expected[i]!, 5)
    })
  })

  test('counts the tokens before truncation in the weight and those after it in the means', () => {
    const scales = toTokenScales(
      [
        { advantage: 1, trainableTokens: 4, keptTokens: 1 },
        { advantage: -1, trainableTokens: 2, keptTokens: 2 },
      ],
      0,
    )!
    // Weights 1/4 and 1/2 have mean (1/4 + 2/2) / 3 = 5/12.
    expect(scales.map(({ weight }) => weight)).toEqual([expect.closeTo(0.6, 5), expect.closeTo(1.2, 5)])
  })

  test('is null where nothing is left', () => {
    expect(toTokenScales([], 0)).toBeNull()
    expect(toTokenScales([{ advantage: 1, trainableTokens: 5, keptTokens: 0 }], 0)).toBeNull()
    expect(toTokenScales([{ advantage: -1, trainableTokens: 5, keptTokens: 5 }], 1)).toBeNull()
  })

  test.each(goldens.map((golden, i) => ({ ...golden, i })))('equals the token-by-token computation $i', golden => {
    const advantages = golden.groups.map(group => toAdvantages(group, golden.scale))
    expect(advantages).toEqual(golden.advantages.map(group => group.map(value => expect.closeTo(value, 9))))
    const counts = golden.counts.flat()
    const trajectories = advantages
      .flat()
      .map((advantage, i) => ({ advantage, trainableTokens: counts[i]!, keptTokens: counts[i]! }))
    expect(toTokenScales(trajectories, golden.balance)).toEqual(
      golden.scales.map(({ weight, advantage }) => {
        return { weight: expect.closeTo(weight, 9), advantage: expect.closeTo(advantage, 9) }
      }),
    )
  })
})

describe('toRewardSummary', () => {
  test('counts groups and failed rollouts, and averages rewards and deviations', () => {
    const summary = toRewardSummary([
      { rewards: [0, 4], exceptions: 1 },
      { rewards: [2, 2], exceptions: 0 },
      { rewards: [5], exceptions: 0 },
      { rewards: [], exceptions: 1 },
    ])
    expect(summary).toEqual({
      num_groups_submitted: 4,
      num_groups_trainable: 1,
      num_trajectories: 5,
      reward: 13 / 5,
      // Deviations 2 and 0 of the two groups that have two trajectories.
      reward_std_dev: 1,
      exception_rate: 2 / 7,
    })
  })

  test('is all numbers for no groups', () => {
    for (const value of Object.values(toRewardSummary([]))) expect(value).toBe(0)
  })
})
