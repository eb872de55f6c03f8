import { describe, expect, test } from 'vitest'
import { read } from './chat-wire.ts'

const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }

/** What the template gets of one message. */
const seen = (message: object) => read({ messages: [message] }).prompt.messages[0]

describe('every variant of a message comes to the template', () => {
  test.each([
    ['developer', { role: 'developer', content: 'Be brief.', tools: [{ type: 'function' }] }],
    ['system', { role: 'system', content: 'Be brief.' }],
    ['user', { role: 'user', content: 'hello', name: 'ada' }],
    ['assistant', { role: 'assistant', content: 'hi' }],
    ['assistant that calls', { role: 'assistant', content: 'so', tool_calls: [call, { ...call, id: 'call_2' }] }],
    ['tool', { role: 'tool', content: '3', tool_call_id: 'call_1' }],
    ['function', { role: 'function', content: '3', name: 'add' }],
    ['custom', { role: 'custom', content: 'x', name: 'y', other: 1 }],
    ['generic', { role: 'critic', content: 'x', tool_call_id: 'a' }],
  ])('%s, as it is', (_, message) => {
    expect(seen(message)).toEqual(message)
  })

  test('nulls and an empty list of calls are left out, since templates ask whether they are there', () => {
    const dumped = { role: 'assistant', content: 'hi', tool_calls: [], function_call: null, audio: null, name: null }
    expect(seen(dumped)).toEqual({ role: 'assistant', content: 'hi' })
    expect(seen({ role: 'assistant', tool_calls: [call] })).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call],
    })
  })

  test('a call in the older form is one of the newer', () => {
    const { function: called } = call
    expect(seen({ role: 'assistant', content: null, function_call: called })).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ type: 'function', function: called }],
    })
  })

  test.each(['reasoning', 'reasoning_content'])('%s stands under both names', key => {
    const both = { reasoning: 'so', reasoning_content: 'so' }
    expect(seen({ role: 'assistant', content: 'hi', [key]: 'so' })).toEqual({
      role: 'assistant',
      content: 'hi',
      ...both,
    })
  })
})

describe('content in parts', () => {
  test('a bare string, a part without a type and a refusal are text', () => {
    const content = ['a', { text: 'b' }, { type: 'text', text: 'c', extra: 1 }, { type: 'refusal', refusal: 'd' }]
    expect(seen({ role: 'assistant', content })!.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'text', text: 'c', extra: 1 },
      { type: 'text', text: 'd' },
    ])
  })

  test.each([
    ['image_url', { type: 'image_url', image_url: { url: 'x' } }],
    ['input_audio', { type: 'input_audio', input_audio: {} }],
    ['file', { file: {} }],
    ['thinking', { type: 'thinking', thinking: 'so' }],
    ['text', { type: 'text' }],
  ])('a part of type %s is refused by name', (type, part) => {
    expect(() => seen({ role: 'user', content: [part] })).toThrow(`a part of type ${type} is not supported`)
  })
})

test('a choice as a completion returned it is its message', () => {
  const message = { role: 'assistant', content: 'hi', refusal: null, tool_calls: null, reasoning: null, audio: null }
  const choice = { index: 0, finish_reason: 'stop', message, logprobs: { content: [] }, token_ids: [1] }
  expect(seen(choice)).toEqual({ role: 'assistant', content: 'hi' })
})
