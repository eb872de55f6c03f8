import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createExplanation, createTest } from '../../src/spec/compile-schema.ts'
import type { SchemaObject } from '../../src/spec/document.ts'
import { operationById } from '../../src/spec/document.ts'
import { SEED_FIELDS } from './chat-seed-fields.ts'

const { components, requestBody } = operationById('createChatCompletion')
const requestSchema = requestBody!.content.get('application/json')!.schema!
const accepts = createTest(requestSchema, components)
const explain = createExplanation(requestSchema, components)
const properties = (components.ChatCompletionRequest as SchemaObject).properties as Record<string, SchemaObject>

const messages = [{ role: 'user', content: 'hello' }]
const component = (name: string) => createTest({ $ref: `#/components/schemas/${name}` }, components)

describe('the fields of the chat request', () => {
  test('are those of the interface, no more and no fewer', () => {
    expect(Object.keys(properties)).toEqual(SEED_FIELDS.map(field => field.name))
  })

  test.each(SEED_FIELDS)('$name has the default $default', field => {
    expect(properties[field.name]!.default).toEqual(field.default)
  })

  test.each(SEED_FIELDS)('$name takes the values that the interface permits', ({ name, good }) => {
    for (const value of good) expect.soft(explain({ messages, [name]: value }, true), JSON.stringify(value)).toEqual([])
  })

  test.each(SEED_FIELDS)('$name refuses what breaks its type or limits', ({ name, bad }) => {
    expect(bad.length).toBeGreaterThan(0)
    for (const value of bad) expect.soft(accepts({ messages, [name]: value }), JSON.stringify(value)).toBe(false)
  })

  test('only max_tokens is deprecated', () => {
    const deprecated = Object.keys(properties).filter(name => properties[name]!.deprecated === true)
    expect(deprecated).toEqual(['max_tokens'])
  })

  test('only messages is required, and unknown keys are accepted', () => {
    expect(accepts({ messages })).toBe(true)
    expect(accepts({ model: 'tiny-chat' })).toBe(false)
    expect(accepts({ messages, logits_processors: [], vllm_xargs: {} })).toBe(true)
  })

  test('what asks for something out of reach has a value that asks for nothing', () => {
    const outOfReach = Object.keys(properties).filter(name => properties[name]!['x-supported'] === false)
    expect(outOfReach).toEqual(['mm_processor_kwargs', 'kv_transfer_params', 'engine_xargs'])
    for (const name of outOfReach) for (const none of [null, {}]) expect(accepts({ messages, [name]: none })).toBe(true)
  })
})

const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }

describe('messages that real clients send', () => {
  test.each([
    ['developer', { role: 'developer', content: 'Be brief.', name: 'ops' }],
    ['system as parts', { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }],
    ['user', { role: 'user', content: 'hello', name: null }],
    ['user with an image', { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
    ['user with a bare string part', { role: 'user', content: ['hello'] }],
    ['user with a part without a type', { role: 'user', content: [{ text: 'hello' }] }],
    ['assistant', { role: 'assistant', content: 'hi' }],
    ['assistant without content', { role: 'assistant', tool_calls: [call] }],
    [
      'assistant with nulls',
      { role: 'assistant', content: null, tool_calls: null, function_call: null, refusal: null },
    ],
    ['assistant with no tool calls', { role: 'assistant', content: 'hi', tool_calls: [] }],
    [
      'assistant with extra keys',
      { role: 'assistant', content: 'hi', reasoning_content: 'so', annotations: null, audio: null },
    ],
    ['tool', { role: 'tool', content: '3', tool_call_id: 'call_1' }],
    ['tool without an id', { role: 'tool', content: '3' }],
    ['function', { role: 'function', content: '3', name: 'add' }],
    ['function without a name', { role: 'function', content: '3' }],
    ['custom', { role: 'custom', content: 'x', name: 'y' }],
    ['generic', { role: 'critic', content: [{ type: 'text', text: 'x' }], tools: [{}], reasoning: null }],
  ])('%s', (_, message) => {
    expect(explain({ messages: [message] }, true)).toEqual([])
    expect(component('MessageOrChoice')(message)).toBe(true)
  })

  test('a choice as a completion returned it', () => {
    const { value } = readExample('createChatCompletion-tuned') as { value: { choices: unknown[] } }
    expect(explain({ messages: value.choices }, true)).toEqual([])
  })

  test.each([
    ['no role', { content: 'hello' }, '/messages/0'],
    ['an empty role', { role: '', content: 'hello' }, '/messages/0/role'],
    ['a role that is no text', { role: 7, content: 'hello' }, '/messages/0/role'],
    ['user without content', { role: 'user' }, '/messages/0'],
    ['user with null', { role: 'user', content: null }, '/messages/0/content'],
    ['content that is a number', { role: 'system', content: 7 }, '/messages/0/content'],
    ['a text part without text', { role: 'user', content: [{ type: 'text' }] }, '/messages/0/content/0'],
    ['a part that is null', { role: 'user', content: [null] }, '/messages/0/content/0'],
    ['a call without a function', { role: 'assistant', tool_calls: [{ id: 'a' }] }, '/messages/0/tool_calls/0'],
    [
      'arguments that are an object',
      { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: {} } }] },
      '/messages/0/tool_calls/0/function/arguments',
    ],
  ])('refuses %s, naming the place', (_, message, place) => {
    const errors = explain({ messages: [message] }, true)
    expect(errors.map(error => error.instancePath)).toEqual([place])
  })
})

describe('choices in trajectories', () => {
  const isElement = component('MessageOrChoice')
  const logprobs = { content: [{ token: 'token_id:7', bytes: [97], logprob: -0.1, top_logprobs: [] }], refusal: null }
  const message = {
    role: 'assistant',
    content: 'a',
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: null,
  }

  test.each([
    [
      'as the service gave it',
      {
        index: 0,
        message: { ...message, reasoning: null },
        logprobs,
        finish_reason: 'stop',
        stop_reason: null,
        token_ids: [7],
      },
    ],
    [
      'with defaults left out',
      {
        index: 0,
        message: { role: 'assistant', content: 'a' },
        logprobs: { content: [{ token: 'a', logprob: -1 }] },
        finish_reason: 'stop',
      },
    ],
    ['without log-probabilities', { finish_reason: 'length', message, logprobs: null }],
    ['of a refusal', { finish_reason: 'stop', message, logprobs: { content: null, refusal: logprobs.content } }],
    [
      'with extra keys',
      { finish_reason: 'tool_calls', message: { ...message, tool_calls: [call] }, stop_reason: '</s>', custom: 1 },
    ],
  ])('are accepted %s', (_, choice) => {
    expect(isElement(choice)).toBe(true)
  })

  test('are refused with log-probabilities that are no numbers, or without a message', () => {
    expect(isElement({ finish_reason: 'stop', message, logprobs: { content: [{ token: 'a', logprob: '-1' }] } })).toBe(
      false,
    )
    expect(isElement({ finish_reason: 'stop' })).toBe(false)
    expect(isElement({ finish_reason: 'stop', message, token_ids: [1.5] })).toBe(false)
  })

  test('are messages when they have a role', () => {
    expect(isElement({ role: 'user', content: 'a', finish_reason: 'stop', message })).toBe(true)
    expect(isElement({ role: 'user', content: 7, finish_reason: 'stop', message })).toBe(false)
  })

  test('are what a completion gives back', () => {
    const { value } = readExample('createChatCompletion-tuned') as { value: { choices: unknown[] } }
    expect(value.choices.map(isElement)).toEqual([true])
  })
})

describe('replies', () => {
  test('a completion needs model, choices and usage, and has no other keys than the declared ones', () => {
    const isCompletion = component('ChatCompletion')
    const { value } = readExample('createChatCompletion') as { value: Record<string, unknown> }
    const { model, choices, usage } = value
    expect(isCompletion(value)).toBe(true)
    expect(isCompletion({ model, choices, usage })).toBe(true)
    expect(isCompletion({ model, choices })).toBe(false)
    expect(isCompletion({ ...value, extra: null })).toBe(false)
    expect(isCompletion({ ...value, service_tier: 'gold' })).toBe(false)
  })

  test.each([
    ['createChatCompletion-stream', 6, 0],
    ['createChatCompletion-stream-error', 2, 1],
  ])('each event of the example %s is one of the declared ones, then comes [DONE]', (name, chunks, errors) => {
    const { value } = readExample(name) as { value: string }
    const data = value
      .trimEnd()
      .split('\n\n')
      .map(event => event.replace(/^data: /, ''))
    expect(data.pop()).toBe('[DONE]')
    const events = data.map(text => JSON.parse(text) as unknown)
    expect(events.filter(component('ChatCompletionStreamEvent'))).toHaveLength(chunks + errors)
    expect(events.filter(component('ChatCompletionChunk'))).toHaveLength(chunks)
    expect(events.filter(component('ChatCompletionStreamError'))).toHaveLength(errors)
  })
})

function readExample(name: string): unknown {
  return parse(readFileSync(new URL(`../../spec/examples/${name}.yaml`, import.meta.url), 'utf8'))
}
