import { describe, expect, test } from 'vitest'
import type { GeneratePart, Sampling } from '../../src/inference/engine.ts'
import { BeamSearch } from '../../src/onnx/beam-search.ts'
import { LogitRules } from '../../src/onnx/logit-rules.ts'
import { tokenLogprob } from '../../src/onnx/logprobs.ts'
import { createRandom } from '../../src/onnx/random.ts'
import type { TokenTable } from '../../src/onnx/token-table.ts'
import { plainSampling } from './plain-request.ts'

/** Tokens 1 to 4 are the letters a to d; 0 ends a turn. */
const EOS = 0
const VOCABULARY = 5
const tokens = {
  eosIds: [EOS],
  bytes: (id: number) => Buffer.from('.abcd'[id]!),
  text: (id: number) => '.abcd'[id]!,
  isSpecial: (id: number) => id === EOS,
} as unknown as TokenTable

/** A model whose logits depend on all that came before. */
function modelLogits(ids: readonly number[]): Float32Array {
  const random = createRandom(ids.reduce((seed, id) => seed * 7 + id + 1, 1))
  return Float32Array.from({ length: VOCABULARY }, () => random() * 4)
}

interface Sequence {
  ids: number[]
  text: string
  reason: string
  /** Sum of the log-probabilities that were reported. */
  logprob: number
}

function search(n: number, lengthPenalty: number, maxTokens: number, changes: Partial<Sampling> = {}): Sequence[] {
  const sampling = { ...plainSampling, n, beam: { lengthPenalty }, topLogprobs: 0, ...changes }
  const ends = { ...sampling, maxTokens, eosIds: [EOS] }
  const rules = new LogitRules({ sampling, promptIds: [1], badWords: [], eosIds: [EOS], isSpecial: () => false }, null)
  const parts: GeneratePart[] = []
  const beams = new BeamSearch({ sampling, lengthPenalty, ends, rules, tokens }, part => parts.push(part))
  let sequences: number[][] = [[]]
  while (sequences.length > 0) {
    expect(sequences.length).toBeLessThanOrEqual(beams.reservedSlots)
    const next = beams.advance(sequences.map(modelLogits))
    sequences = next.map(({ parent, token }) => [...sequences[parent]!, token])
  }
  const found: Sequence[] = []
  for (const part of parts) {
    if (part.type === 'finish') found[part.index]!.reason = part.reason
    if (part.type !== 'delta') continue
    const logprob = part.tokens.reduce((sum, token) => sum + token.logprob, 0)
    found[part.index] = { ids: part.tokens.map(({ id }) => id), text: part.text, reason: '', logprob }
  }
  return found
}

/** Every sequence there is, best first. */
function enumerate(lengthPenalty: number, maxTokens: number): { ids: number[]; score: number; logprob: number }[] {
  const all: { ids: number[]; logprob: number }[] = []
  const grow = (ids: number[], logprob: number) => {
    const logits = modelLogits(ids)
    for (let id = 0; id < VOCABULARY; id++) {
      const longer = { ids: [...ids, id], logprob: logprob + tokenLogprob(logits, id, 0).logprob }
      if (id === EOS || longer.ids.length === maxTokens) all.push(longer)
      else grow(longer.ids, longer.logprob)
    }
  }
  grow([], 0)
  return all
    .map(entry => ({ ...entry, score: entry.logprob / entry.ids.length ** lengthPenalty }))
    .sort((a, b) => b.score - a.score)
}

describe('with room for every sequence', () => {
  test.each([-1, 0, 0.7, 1, 3])('finds the best of all in their order: length penalty %d', lengthPenalty => {
    const expected = enumerate(lengthPenalty, 3)
    const found = search(60, lengthPenalty, 3)
    found.slice(0, 40).forEach((sequence, index) => {
      expect(sequence.ids).toEqual(expected[index]!.ids)
      expect(sequence.logprob).toBeCloseTo(expected[index]!.logprob, 4)
      expect(sequence.reason).toBe(sequence.ids.at(-1) === EOS ? 'stop' : 'length')
    })
  })

  test('the length penalty decides between short and long', () => {
    const lengths = (lengthPenalty: number) => search(60, lengthPenalty, 3)[0]!.ids.length
    expect(lengths(-3)).toBeLessThan(lengths(3))
  })
})

test('few beams come best first and are never worse than greedy', () => {
  const found = search(3, 0, 8, { ignoreEos: true })
  const greedy = search(1, 0, 8, { ignoreEos: true })
  expect(found.map(({ logprob }) => logprob)).toEqual(found.map(({ logprob }) => logprob).toSorted((a, b) => b - a))
  expect(found[0]!.logprob).toBeGreaterThanOrEqual(greedy[0]!.logprob)
  expect(new Set(found.map(({ ids }) => String(ids))).size).toBe(3)
})

test('a search goes on while longer texts may still come out better', () => {
  // two texts end at once, but under this penalty length is worth more
  const scores = (maxTokens: number) => search(2, 3, maxTokens).map(({ ids, logprob }) => logprob / ids.length ** 3)
  expect(scores(2)[0]).toBeLessThan(scores(8)[0]!)
  expect(search(2, 3, 8)[0]!.ids).toHaveLength(8)
})

test('an ignored end of turn is a token like others', () => {
  for (const { ids, reason } of search(20, 1, 4, { ignoreEos: true })) {
    expect(ids).toHaveLength(4)
    expect(reason).toBe('length')
  }
})

test('stop strings and stop tokens end a beam', () => {
  for (const { text, ids, reason } of search(10, 1, 6, { stop: ['ab'] })) {
    expect(text).not.toContain('ab')
    if (String(ids.slice(-2)) === '1,2') expect(reason).toBe('stop')
  }
  expect(search(30, 0, 3, { stop: ['ab'] }).some(({ ids }) => String(ids.slice(-2)) === '1,2')).toBe(true)
  const stopped = search(10, 0, 6, { stopTokenIds: [2], includeStop: true }).filter(({ ids }) => ids.includes(2))
  expect(stopped.length).toBeGreaterThan(0)
  for (const { ids, text } of stopped) {
    expect(ids.indexOf(2)).toBe(ids.length - 1)
    expect(text).toMatch(/b$/)
  }
})

test('rules act on every beam', () => {
  for (const { ids } of search(4, 0, 6, { allowedTokenIds: [1, 2], minTokens: 6 })) {
    expect(ids.every(id => id === 1 || id === 2)).toBe(true)
  }
})

test('more beams than there are texts are refused', () => {
  expect(() => search(3, 0, 2, { allowedTokenIds: [1] })).toThrow(/only 1 different texts are possible, not 3/)
})
