import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endsInReasoning, ReasoningSplitter, readReasoningMarks } from '../../src/inference/reasoning.ts'
import { MARKS } from './chat-wire.ts'

/** The whole text fed in pieces of the given lengths, the rest at once. */
function split(text: string, startsInReasoning: boolean, lengths: number[] = []) {
  const splitter = new ReasoningSplitter(MARKS, startsInReasoning)
  const pieces: { reasoning: string; content: string }[] = []
  let place = 0
  for (const length of lengths) {
    pieces.push(splitter.push(text.slice(place, place + length)))
    place += length
  }
  pieces.push(splitter.push(text.slice(place)), splitter.end())
  const join = (key: 'reasoning' | 'content') => pieces.map(piece => piece[key]).join('')
  return [join('reasoning'), join('content')]
}

describe('text between the marks is reasoning', () => {
  test.each([
    ['<think>so</think>yes', false, 'so', 'yes'],
    ['\n<think>\nso\n</think>\n\nyes', false, '\nso\n', '\n\nyes'],
    ['so</think>yes', true, 'so', 'yes'],
    ['<think>cut off', false, 'cut off', ''],
    ['cut off </thi', true, 'cut off </thi', ''],
    ['plain', false, '', 'plain'],
    ['  plain', false, '', '  plain'],
    ['<thin', false, '', '<thin'],
    ['a <think>b</think>', false, '', 'a <think>b</think>'],
    ['<think>a</think>b<think>c</think>', false, 'a', 'b<think>c</think>'],
    ['<think></think>', false, '', ''],
    ['', true, '', ''],
  ])('%j', (text, startsInReasoning, reasoning, content) => {
    expect(split(text, startsInReasoning)).toEqual([reasoning, content])
    const single = Array.from(text, () => 1)
    expect(split(text, startsInReasoning, single)).toEqual([reasoning, content])
  })

  test('wherever the stream is cut', () => {
    const piece = fc.constantFrom('<think>', '</think>', '<', 'think>', '</th', 'a', ' ', '\n')
    fc.assert(
      fc.property(fc.array(piece), fc.boolean(), fc.array(fc.nat(9)), (pieces, startsInReasoning, lengths) => {
        const text = pieces.join('')
        expect(split(text, startsInReasoning, lengths)).toEqual(split(text, startsInReasoning))
      }),
      { seed: 5 },
    )
  })

  test('and comes as soon as it can be no mark', () => {
    const splitter = new ReasoningSplitter(MARKS, true)
    expect(splitter.push('so </')).toEqual({ reasoning: 'so ', content: '' })
    expect(splitter.push('b>')).toEqual({ reasoning: '</b>', content: '' })
  })
})

test.each([
  [[1, 2, 50], true],
  [[1, 2, 50, 198], true],
  [[50, 1, 2, 3], false],
  [[1, 50, 51, 198], false],
  [[1, 2, 3], false],
])('the prompt %j leaves reasoning open: %s', (ids, isOpen) => {
  expect(endsInReasoning(MARKS, ids)).toBe(isOpen)
  expect(endsInReasoning({ ...MARKS, openId: null }, ids)).toBe(false)
})

describe('a model has marks where its template or tokenizer knows them', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trainyard-reasoning-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))

  test('in the configuration', () => {
    write('tokenizer_config.json', {
      chat_template: "{{ '<think>' }}{{ '</think>' }}",
      added_tokens_decoder: { 50: { content: '<think>' }, 51: { content: '</think>' } },
    })
    expect(readReasoningMarks(folder)).toEqual(MARKS)
  })

  test('in a template of its own', () => {
    write('chat_template.jinja', "{{ message.content.split('</think>')[-1] }}")
    expect(readReasoningMarks(folder)).toEqual({ ...MARKS, openId: null, closeId: null })
  })

  test('and none elsewhere', () => {
    write('tokenizer_config.json', { chat_template: '{{ messages }}' })
    expect(readReasoningMarks(folder)).toBeNull()
    rmSync(join(folder, 'tokenizer_config.json'))
    expect(readReasoningMarks(folder)).toBeNull()
  })
})
