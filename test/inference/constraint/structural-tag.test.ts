import { describe, expect, test } from 'vitest'
import { compileConstraint } from '../../../src/inference/constraint/constraint.ts'
import { accepts, createTestRandom, start, tinyChat, writeText } from './writer.ts'

const allows = (tag: unknown, text: string) => accepts({ kind: 'structural_tag', tag }, text)
const format = (format: unknown) => ({ type: 'structural_tag', format })

const weather = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const structures = {
  structures: [
    { begin: '<function=weather>', schema: weather, end: '</function>' },
    { begin: '<function=time>', schema: { type: 'integer' }, end: '</function>' },
  ],
  triggers: ['<function='],
}

describe('structures and triggers', () => {
  test('leave text free until a trigger, and then follow a structure', () => {
    for (const text of [
      '',
      'no call, 1 < 2 <func <function',
      'Hi <function=weather>{"city":"Rome"}</function>',
      '<function=time>12</function> and <function=time>-3</function>!',
      '<<function=time>1</function>',
    ]) {
      expect(allows(structures, text), text).toBe(true)
    }
    for (const text of [
      'Hi <function=',
      '<function=other>1</function>',
      '<function=weather>{"city":1}</function>',
      '<function=time>1.5</function>',
      '<function=time>1',
      '<function=time>1</function><function=',
    ]) {
      expect(allows(structures, text), text).toBe(false)
    }
  })

  test('may come as JSON text, as requests bring them', () => {
    expect(allows(JSON.stringify({ type: 'structural_tag', ...structures }), 'a <function=time>1</function>')).toBe(
      true,
    )
  })

  test('hold for triggers that overlap', () => {
    const overlapping = {
      structures: [
        { begin: '<ab>', schema: { const: 1 }, end: '.' },
        { begin: 'abc', schema: { const: 2 }, end: '.' },
      ],
      triggers: ['<ab', 'abc'],
    }
    expect(allows(overlapping, '<ab>1.')).toBe(true)
    expect(allows(overlapping, 'aabc2.ab')).toBe(true)
    expect(allows(overlapping, 'abc1.')).toBe(false)
    const repeating = { structures: [{ begin: 'aab', schema: { const: 1 }, end: '' }], triggers: ['aab'] }
    expect(['aaa', 'aaab', 'aaab1', 'abaab1'].map(text => allows(repeating, text))).toEqual([true, false, true, true])
    const inner = { structures: [{ begin: 'bc', schema: { const: 1 }, end: '' }], triggers: ['bc', 'abcd'] }
    expect(() => allows(inner, '')).toThrow('no tag begins with the trigger "abcd"')
    const within = {
      structures: [...inner.structures, { begin: 'abcd', schema: { const: 2 }, end: '' }],
      triggers: inner.triggers,
    }
    expect(['abc', 'abc1', 'bc1', 'abx'].map(text => allows(within, text))).toEqual([false, true, true, true])
    // the first mark to be complete decides
    expect(allows(overlapping, '<abc2.')).toBe(false)
  })

  test('a model without sense never leaves a tag half done', () => {
    const random = createTestRandom(11)
    const state = start(
      {
        kind: 'structural_tag',
        tag: { structures: [{ begin: 't(', schema: { type: 'boolean' }, end: ')' }], triggers: ['t('] },
      },
      tinyChat,
    )
    for (let round = 0; round < 30; round++) {
      const text = writeText(state, tinyChat, random, 120)
      if (text !== null) expect(text.replaceAll(/t\((true|false)\)/g, '')).not.toContain('t(')
    }
  })
})

describe('formats', () => {
  const tag = (begin: string, content: unknown, end: string) => ({ type: 'tag', begin, content, end })
  const anyText = { type: 'any_text' }
  const integer = { type: 'json_schema', json_schema: { type: 'integer' } }

  test('const_string, regex, grammar, json_schema, sequence and or', () => {
    const parts = format({
      type: 'sequence',
      elements: [
        { type: 'const_string', value: 'a=' },
        {
          type: 'or',
          elements: [integer, { type: 'regex', pattern: '[xy]{2}' }, { type: 'grammar', grammar: 'root ::= "g"+' }],
        },
      ],
    })
    for (const text of ['a=12', 'a=xy', 'a=ggg']) expect(allows(parts, text), text).toBe(true)
    for (const text of ['12', 'a=', 'a=x', 'a=12xy']) expect(allows(parts, text), text).toBe(false)
  })

  test('a tag may hold free text up to its end', () => {
    const think = format({ type: 'sequence', elements: [tag('<think>', anyText, '</think>'), integer] })
    expect(allows(think, '<think>so < it </thin is</think>7')).toBe(true)
    expect(allows(think, '<think>so</think>x')).toBe(false)
    expect(allows(think, '<think>so')).toBe(false)
  })

  test('triggered tags: any number, at least one, or one at most', () => {
    const tags = {
      type: 'triggered_tags',
      triggers: ['<'],
      tags: [tag('<a>', integer, '</a>'), tag('<b>', anyText, '</b>')],
    }
    const texts = ['', 'free', 'x<a>1</a>y', '<a>1</a><b>t</b>']
    const allowed = (extra: object) => texts.map(text => allows(format({ ...tags, ...extra }), text))
    expect(allowed({})).toEqual([true, true, true, true])
    expect(allowed({ at_least_one: true })).toEqual([false, false, true, true])
    expect(allowed({ stop_after_first: true })).toEqual([true, true, false, false])
    expect(allows(format({ ...tags, stop_after_first: true }), 'x<a>1</a>')).toBe(true)
  })

  test('triggered tags within a tag stop at its end', () => {
    const inner = { type: 'triggered_tags', triggers: ['<'], tags: [tag('<a>', integer, '</a>')] }
    const outer = format({ type: 'sequence', elements: [tag('[', inner, ']'), { type: 'const_string', value: '.' }] })
    expect(allows(outer, '[x<a>1</a>y].')).toBe(true)
    expect(allows(outer, '[].')).toBe(true)
    expect(allows(outer, '[x]y].')).toBe(false)
    // as long as a tag is still missing, the end mark is text like any other
    const withOne = format(tag('[', { ...inner, at_least_one: true }, ']'))
    expect(['[]', '[]<a>1</a>]', '[<a>1</a>y]'].map(text => allows(withOne, text))).toEqual([false, true, true])
  })

  test('tags with separator', () => {
    const tags = {
      type: 'tags_with_separator',
      separator: ', ',
      tags: [tag('(', integer, ')'), tag('{', integer, '}')],
    }
    const texts = ['', '(1)', '(1), {2}', '(1){2}']
    expect(texts.map(text => allows(format(tags), text))).toEqual([true, true, true, false])
    expect(texts.map(text => allows(format({ ...tags, at_least_one: true }), text))).toEqual([false, true, true, false])
    expect(texts.map(text => allows(format({ ...tags, stop_after_first: true }), text))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  const faults: [string, unknown, string[], string][] = [
    ['no object', [], [], 'must be an object'],
    ['text that is not JSON', 'x', [], 'is not JSON'],
    ['no triggers', { structures: structures.structures }, ['triggers'], 'must be a list of at least one'],
    ['no structures', { structures: [], triggers: ['<'] }, ['structures'], 'must be a list of at least one'],
    ['an empty trigger', { ...structures, triggers: [''] }, ['triggers', '0'], 'not empty'],
    ['a structure without trigger', { ...structures, triggers: ['<f>'] }, [], 'no trigger begins the tag'],
    ['a field that would be ignored', { ...structures, strict: true }, ['strict'], 'is not supported'],
    [
      'a structure without end',
      { triggers: ['<'], structures: [{ begin: '<' }] },
      ['structures', '0', 'end'],
      'must be a string',
    ],
    [
      'a schema at fault',
      { triggers: ['<'], structures: [{ begin: '<', end: '>', schema: { not: {} } }] },
      ['structures', '0', 'schema', 'not'],
      'keyword not',
    ],
    [
      'an unknown format',
      format({ type: 'qwen_xml_parameter' }),
      ['format', 'type'],
      'qwen_xml_parameter is not supported',
    ],
    ['a pattern at fault', format({ type: 'regex', pattern: '(' }), ['format', 'pattern'], '( without its )'],
    ['a grammar at fault', format({ type: 'grammar', grammar: 'a' }), ['format', 'grammar'], 'needs ::='],
    [
      'free text before other text',
      format({ type: 'sequence', elements: [anyText, integer] }),
      ['format', 'elements', '0'],
      'free text can stand only',
    ],
    ['free text without an end', format(tag('<', anyText, '')), ['format', 'content'], 'free text can stand only'],
  ]

  test.for(faults)('refused: %s', ([, tag, path, message]) => {
    const compile = () => compileConstraint({ kind: 'structural_tag', tag })
    expect(compile).toThrow(expect.objectContaining({ path, message: expect.stringContaining(message) }))
  })
})
