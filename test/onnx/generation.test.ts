import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GeneratePart, Sampling } from '../../src/inference/engine.ts'
import { Generation, toGeneratedToken } from '../../src/onnx/generation.ts'
import { LogitRules } from '../../src/onnx/logit-rules.ts'
import { TokenTable } from '../../src/onnx/token-table.ts'
import { fixtures } from './golden.ts'
import { plainSampling } from './plain-request.ts'

const tokens = new TokenTable(join(fixtures, 'tiny-llama'))
const [END_OF_TEXT, , END_OF_TURN] = [0, 1, 2]
const idOf = (letter: string) => tokens.tokenId([...Buffer.from(letter)])!
/** Generates as if the model wanted exactly these tokens. */
function generate(ids: number[], changes: Partial<Sampling> = {}, maxTokens = 100) {
  const sampling = { ...plainSampling, ...changes }
  const { eosIds } = tokens
  const isSpecial = (id: number) => tokens.isSpecial(id)
  const rules = new LogitRules({ sampling, promptIds: [5], badWords: [], eosIds, isSpecial }, null)
  const parts: GeneratePart[] = []
  const emit = (part: GeneratePart) => parts.push(part)
  const ends = { ...sampling, maxTokens, eosIds }
  const generation = new Generation({ index: 3, sampling, seed: 1, ends, rules, tokens }, emit)
  for (const id of ids) {
    const logits = new Float32Array(264)
    logits[id] = 50
    if (generation.advance([logits]).length === 0) break
  }
  const deltas = parts.filter(part => part.type === 'delta')
  return {
    text: deltas.map(({ text }) => text).join(''),
    ids: deltas.flatMap(delta => delta.tokens.map(({ id }) => id)),
    finish: parts.find(part => part.type === 'finish'),
  }
}

test('the end of a turn finishes with its token and without its text', () => {
  const { text, ids, finish } = generate([idOf('h'), idOf('i'), END_OF_TURN!, idOf('x')])
  expect(text).toBe('hi')
  expect(ids).toEqual([idOf('h'), idOf('i'), END_OF_TURN])
  expect(finish).toEqual({ type: 'finish', index: 3, reason: 'stop', stopTokenId: null })
})

test('the end of a turn shows text held back for a stop string', () => {
  const { text, finish } = generate([idOf('h'), idOf('i'), END_OF_TURN!], { stop: ['never'] })
  expect(text).toBe('hi')
  expect(finish).toMatchObject({ reason: 'stop' })
})

test('other special tokens count but do not show', () => {
  const { text, ids } = generate([idOf('a'), END_OF_TEXT!, idOf('b')])
  expect(text).toBe('ab')
  expect(ids).toHaveLength(3)
})

test('the most tokens finish with length, text held back included', () => {
  const { text, ids, finish } = generate([...'hello'].map(idOf), { stop: ['lxx'] }, 4)
  expect(text).toBe('hell')
  expect(ids).toHaveLength(4)
  expect(finish).toMatchObject({ reason: 'length' })
})

test('a stop string across tokens finishes with all its tokens and none of its text', () => {
  const { text, ids, finish } = generate([...'hello'].map(idOf), { stop: ['ell'] })
  expect(text).toBe('h')
  expect(ids).toEqual([...'hell'].map(idOf))
  expect(finish).toMatchObject({ reason: 'stop' })
})

describe('special tokens in the text', () => {
  const ids = [idOf('a'), END_OF_TEXT!, END_OF_TEXT!, idOf('b'), idOf('c')]

  test('are left out, or shown set apart by spaces or not', () => {
    expect(generate(ids).text).toBe('abc')
    const shown = { skipSpecialTokens: false }
    expect(generate(ids, shown).text).toBe('a <|endoftext|> <|endoftext|> bc')
    expect(generate(ids, { ...shown, spacesBetweenSpecialTokens: false }).text).toBe('a<|endoftext|><|endoftext|>bc')
  })
})

describe('what ends a choice', () => {
  const hello = [...'hello'].map(idOf)

  test('a stop token, with its id, and its text only where asked for', () => {
    const stopTokenIds = [idOf('l')!]
    expect(generate(hello, { stopTokenIds })).toMatchObject({
      text: 'he',
      ids: hello.slice(0, 3),
      finish: { reason: 'stop', stopTokenId: idOf('l') },
    })
    expect(generate(hello, { stopTokenIds, includeStop: true }).text).toBe('hel')
  })

  test('a stop string, which stays where asked for', () => {
    expect(generate(hello, { stop: ['ell'], includeStop: true }).text).toBe('hell')
  })

  test('the end of a turn stays only where special tokens are shown too', () => {
    const ids = [idOf('a'), END_OF_TURN!]
    expect(generate(ids, { includeStop: true }).text).toBe('a')
    const shown = { includeStop: true, skipSpecialTokens: false, spacesBetweenSpecialTokens: false }
    expect(generate(ids, shown).text).toBe('a<|im_end|>')
  })

  test('the end of a turn, unless it is to be ignored', () => {
    const ids = [idOf('a'), END_OF_TURN!, idOf('b')]
    expect(generate(ids).finish).toMatchObject({ reason: 'stop' })
    expect(generate(ids, { ignoreEos: true })).toMatchObject({ text: 'ab', ids, finish: undefined })
  })

  test('no stop string that is complete before the least number of tokens', () => {
    expect(generate([...hello, ...hello], { stop: ['ell', 'o'], minTokens: 4 }).text).toBe('hell')
    expect(generate([...hello, ...hello], { stop: ['ell'], minTokens: 5 }).text).toBe('helloh')
  })

  test('blocks that repeat, of a length within the bounds', () => {
    const ids = [...'xabcabcabc'].map(idOf)
    const detection = { minPatternSize: 2, maxPatternSize: 4, minCount: 3 }
    expect(generate(ids, { repetitionDetection: detection })).toMatchObject({
      text: 'xabcabcabc',
      finish: { reason: 'repetition', stopTokenId: null },
    })
    expect(generate(ids, { repetitionDetection: { ...detection, maxPatternSize: 2 } }).finish).toBeUndefined()
    expect(generate(ids, { repetitionDetection: { ...detection, minCount: 4 } }).finish).toBeUndefined()
    expect(generate(ids, { repetitionDetection: { ...detection, minCount: 2 } }).text).toBe('xabcabc')
    const late = { repetitionDetection: { ...detection, minCount: 2 }, minTokens: 9 }
    expect(generate(ids, late).text).toBe('xabcabcab')
  })

  test('of several reasons at one token, stop comes before length', () => {
    expect(generate(hello, { stopTokenIds: [idOf('l')!] }, 3).finish).toMatchObject({ stopTokenId: idOf('l') })
    expect(generate(hello, { stop: ['ell'] }, 4).finish).toMatchObject({ reason: 'stop' })
    expect(generate(hello, { stop: ['never'] }, 4).finish).toMatchObject({ reason: 'length' })
  })
})

test('no log-probabilities are made up where none were asked for', () => {
  const sampling = { ...plainSampling, topLogprobs: null }
  const logits = new Float32Array(264)
  expect(toGeneratedToken({ sampling, tokens }, logits, 5).logprob).toBeNaN()
  expect(toGeneratedToken({ sampling: { ...sampling, topLogprobs: 0 }, tokens }, logits, 5).logprob).toBeCloseTo(
    -Math.log(264),
    5,
  )
})
