/** Draws against the exact distribution that the settings' definitions give, by Pearson's chi-square test. */
import { describe, expect, test } from 'vitest'
import type { Sampling } from '../../src/inference/engine.ts'
import { LogitRules } from '../../src/onnx/logit-rules.ts'
import { createRandom } from '../../src/onnx/random.ts'
import { drawToken } from '../../src/onnx/sampler.ts'
import { plainSampling } from './plain-request.ts'

const VOCABULARY = 40
const DRAWS = 20_000
const PROMPT = [3, 4, 5, 5]
/** Already generated before every draw. */
const OUTPUT = [7, 8, 8, 3, 9, 9, 9]

const normal = createRandom(11)
const logits = Float32Array.from({ length: VOCABULARY }, () => {
  return Math.sqrt(-2 * Math.log(1 - normal())) * Math.cos(2 * Math.PI * normal()) * 1.5
})

/** Softmax of what is left, the rest 0. */
function toShares(values: number[]): number[] {
  const weights = values.map(Math.exp)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map(weight => weight / total)
}

const rankOf = (shares: number[], id: number) => shares.filter(share => share > shares[id]!).length
const normalise = (shares: number[]) => {
  const total = shares.reduce((sum, share) => sum + share, 0)
  return shares.map(share => share / total)
}

/** The definitions, one after the other, in the plainest way. */
function exactShares(settings: Partial<Sampling>): number[] {
  const { temperature, topK, topP, minP, ...rules } = { ...plainSampling, temperature: 1, ...settings }
  let values = [...logits]
  for (const [id, bias] of rules.logitBias) values[id]! += bias
  values = values.map((value, id) => {
    if (!PROMPT.includes(id) && !OUTPUT.includes(id)) return value
    return value > 0 ? value / rules.repetitionPenalty : value * rules.repetitionPenalty
  })
  values = values.map((value, id) => {
    const count = OUTPUT.filter(other => other === id).length
    return value - (count > 0 ? rules.presencePenalty : 0) - count * rules.frequencyPenalty
  })
  if (rules.allowedTokenIds) {
    values = values.map((value, id) => (rules.allowedTokenIds?.includes(id) ? value : -Infinity))
  }
  let shares = toShares(values.map(value => value / temperature))
  const best = Math.max(...shares)
  shares = normalise(shares.map(share => (share >= minP * best ? share : 0)))
  if (topK > 0) shares = normalise(shares.map((share, id) => (rankOf(shares, id) < topK ? share : 0)))
  const before = (id: number) =>
    shares.filter((_, other) => rankOf(shares, other) < rankOf(shares, id)).reduce((sum, share) => sum + share, 0)
  return normalise(shares.map((share, id) => (before(id) < topP ? share : 0)))
}

function countDraws(settings: Partial<Sampling>): number[] {
  const sampling = { ...plainSampling, temperature: 1, ...settings }
  const rules = new LogitRules({ sampling, promptIds: PROMPT, badWords: [], eosIds: [], isSpecial: () => false }, null)
  for (const id of OUTPUT) rules.accept(id)
  const random = createRandom(5)
  const counts = new Array<number>(VOCABULARY).fill(0)
  for (let draw = 0; draw < DRAWS; draw++) counts[drawToken(rules.apply(logits, OUTPUT), sampling, random).id]! += 1
  return counts
}

/** Chi-square with tokens of few expected draws put together; how far above its expectation, in standard deviations.
 * Infinite where a token came that must not. */
function deviation(counts: number[], shares: number[]): number {
  let [chiSquare, cells] = [0, 0]
  let [restCount, restShare] = [0, 0]
  if (counts.some((count, id) => count > 0 && shares[id] === 0)) return Infinity
  counts.forEach((count, id) => {
    const expected = shares[id]! * DRAWS
    if (expected === 0) return
    if (expected < 5) {
      restCount += count
      restShare += shares[id]!
      return
    }
    chiSquare += (count - expected) ** 2 / expected
    cells += 1
  })
  if (restShare * DRAWS >= 5) {
    chiSquare += (restCount - restShare * DRAWS) ** 2 / (restShare * DRAWS)
    cells += 1
  }
  // Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is nearly normal
  const freedom = cells - 1
  return ((chiSquare / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom))
}

/** One in a thousand is above this by chance; the seeds are fixed, so it happens never or always. */
const MOST_DEVIATION = 3.1

const cases: [string, Partial<Sampling>][] = [
  ['temperature 1', {}],
  ['temperature 0.6', { temperature: 0.6 }],
  ['temperature 1.8', { temperature: 1.8 }],
  ['top_p 0.7', { topP: 0.7 }],
  ['top_p 0.95', { topP: 0.95 }],
  ['top_k 5', { topK: 5 }],
  ['top_k 30', { topK: 30 }],
  ['min_p 0.2', { minP: 0.2 }],
  ['min_p 0.02', { minP: 0.02 }],
  ['top_k, top_p, min_p and temperature', { topK: 12, topP: 0.8, minP: 0.05, temperature: 1.3 }],
  ['min_p and top_p', { minP: 0.1, topP: 0.7 }],
  ['presence penalty', { presencePenalty: 1.5 }],
  ['negative presence penalty', { presencePenalty: -1 }],
  ['frequency penalty', { frequencyPenalty: 0.8 }],
  ['negative frequency penalty', { frequencyPenalty: -0.7 }],
  ['repetition penalty', { repetitionPenalty: 1.8 }],
  ['repetition reward', { repetitionPenalty: 0.5 }],
  [
    'all penalties',
    { presencePenalty: 0.5, frequencyPenalty: 0.3, repetitionPenalty: 1.3, temperature: 0.9, topP: 0.9 },
  ],
  [
    'logit bias',
    {
      logitBias: [
        [0, 2],
        [1, -100],
        [2, 0.5],
      ],
    },
  ],
  ['allowed tokens', { allowedTokenIds: [1, 2, 3, 20, 30] }],
]

describe.each(cases)('%s', (_, settings) => {
  const shares = exactShares(settings)
  const counts = countDraws(settings)

  test('draws follow the exact distribution', () => {
    expect(deviation(counts, shares)).toBeLessThan(MOST_DEVIATION)
  })

  test('and would be seen not to, if the most probable token were a little more so', () => {
    const best = shares.indexOf(Math.max(...shares))
    const bias = [...(settings.logitBias ?? []), [best, 0.5] as [number, number]]
    expect(deviation(counts, exactShares({ ...settings, logitBias: bias }))).toBeGreaterThan(MOST_DEVIATION)
  })
})

test('large vocabularies are filtered as small ones are', () => {
  // more tokens than are looked at first, with long ties
  const many = Float32Array.from({ length: 5000 }, (_, id) => -Math.floor(id / 50) / 20)
  const random = createRandom(1)
  const draw = (settings: Partial<Sampling>) => {
    const sampling = { ...plainSampling, temperature: 1, ...settings }
    const ids = Array.from({ length: 3000 }, () => drawToken(many, sampling, random).id)
    return Math.max(...ids)
  }
  expect(draw({ topK: 120 })).toBe(119)
  // 100 steps of 50: the share of the first k steps is (1 - e^(-k / 20)) / (1 - e^(-5))
  const mostOf = (topP: number) => Math.ceil(-20 * Math.log(1 - topP * (1 - Math.exp(-5))) * 50)
  for (const topP of [0.5, 0.99]) {
    const most = draw({ topP })
    expect(most).toBeLessThan(mostOf(topP) + 1)
    expect(most).toBeGreaterThan(mostOf(topP) - 60)
  }
})
