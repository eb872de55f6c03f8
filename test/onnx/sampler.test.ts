import { describe, expect, test } from 'vitest'
import { exponential } from '../../src/onnx/exponential.ts'
import { normaliserOf, rankedLogprobs, tokenLogprob } from '../../src/onnx/logprobs.ts'
import { createRandom } from '../../src/onnx/random.ts'
import { type DrawSettings, drawToken } from '../../src/onnx/sampler.ts'

const plain: DrawSettings = { temperature: 1, topK: 0, topP: 1, minP: 0 }
/** Probabilities 0.4, 0.3, 0.2, 0.1. */
const logits = Float32Array.from([0.4, 0.1, 0.3, 0.2], Math.log)

/** How often each token comes in 20 000 draws, as shares. */
function shares(settings: Partial<DrawSettings>): number[] {
  const random = createRandom(7)
  const counts = [0, 0, 0, 0]
  for (let draw = 0; draw < 20_000; draw++) counts[drawToken(logits, { ...plain, ...settings }, random).id]! += 1
  return counts.map(count => Math.round(count / 200) / 100)
}

/** Within three standard deviations of 20 000 draws, and rounding. */
function expectShares(actual: number[], expected: number[]): void {
  actual.forEach((share, id) => {
    if (expected[id] === 0) expect(share).toBe(0)
    else expect(Math.abs(share - expected[id]!)).toBeLessThan(0.016)
  })
}

describe('drawing', () => {
  test('follows the probabilities', () => expectShares(shares({}), [0.4, 0.1, 0.3, 0.2]))

  test('temperature 0 takes the most probable', () => {
    expect(drawToken(logits, { ...plain, temperature: 0 }, () => 0.99).id).toBe(0)
  })

  test('temperature sharpens and flattens', () => {
    // squares of the probabilities, normalised by 0.3
    expectShares(shares({ temperature: 0.5 }), [0.533, 0.033, 0.3, 0.133])
    expectShares(shares({ temperature: 1000 }), [0.25, 0.25, 0.25, 0.25])
  })

  test('top_k keeps the k most probable', () => {
    expectShares(shares({ topK: 2 }), [0.571, 0, 0.429, 0])
    expectShares(shares({ topK: 9 }), [0.4, 0.1, 0.3, 0.2])
  })

  test('top_p keeps the fewest whose probabilities reach p', () => {
    expectShares(shares({ topP: 0.65 }), [0.571, 0, 0.429, 0])
    expectShares(shares({ topP: 0.75 }), [0.444, 0, 0.333, 0.222])
    expectShares(shares({ topP: 0.01 }), [1, 0, 0, 0])
  })

  test('top_p counts within what top_k kept', () => {
    // 0.4 of 0.7 is 0.57: enough
    expectShares(shares({ topK: 2, topP: 0.5 }), [1, 0, 0, 0])
  })

  test('min_p keeps what is at least p times as probable as the best', () => {
    expectShares(shares({ minP: 0.6 }), [0.571, 0, 0.429, 0])
  })

  test('one seed gives one sequence, another stream another', () => {
    const draws = (seed: number, stream: number) => {
      const random = createRandom(seed, stream)
      return Array.from({ length: 20 }, () => drawToken(logits, plain, random).id)
    }
    expect(draws(5, 0)).toEqual(draws(5, 0))
    expect(draws(5, 1)).not.toEqual(draws(5, 0))
    expect(draws(6, 0)).not.toEqual(draws(5, 0))
    expect(draws(-9.223372036854776e18, 0)).not.toEqual(draws(9.223372036854776e18, 1))
  })
})

test('the exponential is that of Math.exp', () => {
  for (let x = 0; x > -690; x -= 0.37) expect(Math.abs(exponential(x) / Math.exp(x) - 1)).toBeLessThan(1e-12)
  expect(exponential(0)).toBe(1)
  expect(exponential(-701)).toBe(0)
  expect(exponential(-Infinity)).toBe(0)
})

test('logits without any that can be drawn are refused rather than drawn from', () => {
  expect(() => drawToken(Float32Array.of(-Infinity, -Infinity), plain, () => 0.5)).toThrow(/no token to draw/)
  expect(() => drawToken(Float32Array.of(Number.NaN, 1), plain, () => 0.5)).toThrow(/NaN/)
})

describe('log-probabilities', () => {
  test('are those of the logits, with the most probable alternatives first', () => {
    const { logprob, top } = tokenLogprob(logits, 3, 3)
    expect(logprob).toBeCloseTo(Math.log(0.2), 6)
    expect(top.map(({ id }) => id)).toEqual([0, 2, 3])
    expect(top[1]!.logprob).toBeCloseTo(Math.log(0.3), 6)
  })

  test('come from the draw where it knows them', () => {
    const { normaliser } = drawToken(logits, { ...plain, topK: 1 }, () => 0.5)
    expect(normaliser).toBeCloseTo(normaliserOf(logits), 12)
    expect(drawToken(logits, { ...plain, temperature: 0.5 }, () => 0.5).normaliser).toBeNull()
  })

  test('do not depend on a constant added to all logits, and have a floor', () => {
    const shifted = Float32Array.of(1000, 990, -99_999)
    expect(tokenLogprob(shifted, 0, 0)).toMatchObject({ top: [] })
    expect(tokenLogprob(shifted, 0, 0).logprob).toBeCloseTo(-Math.log1p(Math.exp(-10)), 6)
    expect(tokenLogprob(shifted, 2, 0).logprob).toBe(-9999)
  })

  test('ranked, begin with the token itself and name no token twice', () => {
    expect(rankedLogprobs(logits, 3, 2).map(({ id, rank }) => [id, rank])).toEqual([
      [3, 3],
      [0, 1],
      [2, 2],
    ])
    expect(rankedLogprobs(logits, 2, 2).map(({ id, rank }) => [id, rank])).toEqual([
      [2, 2],
      [0, 1],
    ])
    // of equal ones the lower id comes first
    expect(rankedLogprobs(Float32Array.of(1, 1, 1), 1, 3).map(({ id, rank }) => [id, rank])).toEqual([
      [1, 2],
      [0, 1],
      [2, 3],
    ])
  })

  test('of the whole vocabulary are sorted', () => {
    const many = Float32Array.from({ length: 200 }, (_, id) => Math.sin(id))
    const { top } = tokenLogprob(many, 0, 200)
    expect(top).toHaveLength(200)
    expect(top.map(({ logprob }) => logprob)).toEqual(top.map(({ logprob }) => logprob).toSorted((a, b) => b - a))
    expect(tokenLogprob(many, 0, 20).top).toEqual(top.slice(0, 20))
  })
})
