import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { GeneratePart, Sampling } from '../../src/inference/engine.ts'
import { Generation } from '../../src/onnx/generation.ts'
import { TokenTable } from '../../src/onnx/token-table.ts'
import { fixtures } from './golden.ts'

const tokens = new TokenTable(join(fixtures, 'tiny-llama'))
const [END_OF_TEXT, , END_OF_TURN] = [0, 1, 2]
const idOf = (letter: string) => tokens.tokenId([...Buffer.from(letter)])!
const plain: Sampling = {
  maxTokens: null,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 1,
  n: 1,
  stop: [],
  topLogprobs: null,
}

/** Generates as if the model wanted exactly these tokens. */
function generate(ids: number[], sampling: Partial<Sampling> = {}, maxTokens = 100) {
  const settings = { index: 3, promptLength: 5, maxTokens, sampling: { ...plain, ...sampling }, seed: 1 }
  const generation = new Generation(settings, tokens)
  const parts: GeneratePart[] = []
  for (const id of ids) {
    if (generation.isFinished) break
    const logits = new Float32Array(264)
    logits[id] = 50
    parts.push(...generation.advance(logits))
  }
  const deltas = parts.filter(part => part.type === 'delta')
  return {
    text: deltas.map(({ text }) => text).join(''),
    ids: deltas.flatMap(delta => delta.tokens.map(({ id }) => id)),
    finish: parts.find(part => part.type === 'finish'),
    generation,
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
  const { text, ids, finish, generation } = generate([...'hello'].map(idOf), { stop: ['lxx'] }, 4)
  expect(text).toBe('hell')
  expect(ids).toHaveLength(4)
  expect(finish).toMatchObject({ reason: 'length' })
  expect(generation.length).toBe(9)
})

test('a stop string across tokens finishes with all its tokens and none of its text', () => {
  const { text, ids, finish } = generate([...'hello'].map(idOf), { stop: ['ell'] })
  expect(text).toBe('h')
  expect(ids).toEqual([...'hell'].map(idOf))
  expect(finish).toMatchObject({ reason: 'stop' })
})
