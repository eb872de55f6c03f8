import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/errors.ts'
import { type ChatRequest, checkRoom, fromChatRequest } from '../../src/inference/chat.ts'
import { operationById, resolveSchema, type SchemaObject } from '../../src/spec/document.ts'

const LIMITS = { maxMessages: 4, maxChoices: 8, maxTopLogprobs: 5, maxStop: 2 }
const messages = [{ role: 'user', content: 'hi' }]

function read(fields: object, trained = false) {
  return fromChatRequest({ messages, ...fields } as ChatRequest, trained, LIMITS)
}

/** The place and type of the 422 that a request gets, or null. */
function faultOf(fields: object): { loc: string[]; type: string } | null {
  try {
    read(fields)
    return null
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error
    const { loc, type } = error.detail![0]!
    return { loc, type }
  }
}

describe('what a request asks of the engine', () => {
  test('nothing but messages gives the defaults', () => {
    const { prompt, sampling, options } = read({})
    expect(prompt).toMatchObject({ messages, tools: null, addGenerationPrompt: true, continueFinalMessage: false })
    expect(sampling).toEqual({
      maxTokens: null,
      temperature: 1,
      topP: 1,
      topK: 0,
      minP: 0,
      seed: null,
      n: 1,
      stop: [],
      topLogprobs: null,
    })
    expect(options).toMatchObject({ logprobs: false, tokenIds: false, promptTokenIds: false, usageFrame: false })
  })

  test.each([
    [{ max_tokens: 5 }, { maxTokens: 5 }],
    [{ max_completion_tokens: 6 }, { maxTokens: 6 }],
    [{ max_completion_tokens: 6, max_tokens: 5 }, { maxTokens: 6 }],
    [{ max_completion_tokens: null, max_tokens: 5 }, { maxTokens: 5 }],
    [{ temperature: 0 }, { temperature: 0 }],
    [
      { temperature: null, top_p: null, top_k: null, min_p: null, seed: null, n: null },
      { temperature: 1, topP: 1, n: 1 },
    ],
    [{ top_k: -1 }, { topK: 0 }],
    [
      { top_k: 7, top_p: 0.5, min_p: 0.1, seed: 3, n: 2 },
      { topK: 7, topP: 0.5, minP: 0.1, seed: 3, n: 2 },
    ],
    [{ stop: 'x' }, { stop: ['x'] }],
    [{ stop: ['x', 'y'] }, { stop: ['x', 'y'] }],
    [{ stop: null }, { stop: [] }],
    [{ logprobs: true }, { topLogprobs: 0 }],
    [{ logprobs: true, top_logprobs: 3 }, { topLogprobs: 3 }],
    [{ logprobs: false, top_logprobs: 0 }, { topLogprobs: null }],
  ])('%j is %j', (fields, sampling) => {
    expect(read(fields).sampling).toMatchObject(sampling)
  })

  test('a trained model gives log-probabilities and token ids unless told not to', () => {
    expect(read({}, true)).toMatchObject({ sampling: { topLogprobs: 0 }, options: { logprobs: true, tokenIds: true } })
    expect(read({ logprobs: null }, true).options).toMatchObject({
      logprobs: true,
      tokenIds: true,
      promptTokenIds: false,
    })
    expect(read({ logprobs: false }, true)).toMatchObject({
      sampling: { topLogprobs: null },
      options: { logprobs: false, tokenIds: false },
    })
    expect(read({ return_token_ids: false }, true).options).toMatchObject({ logprobs: true, tokenIds: false })
    expect(read({ return_token_ids: true }).options).toMatchObject({
      logprobs: false,
      tokenIds: true,
      promptTokenIds: true,
    })
  })

  test.each([
    [{ include_usage: true }, true, false],
    [{ include_usage: true, continuous_usage_stats: true }, true, true],
    [{ include_usage: false, continuous_usage_stats: true }, false, false],
    [null, false, false],
  ])('stream_options %j', (stream_options, usageFrame, usageInEveryFrame) => {
    expect(read({ stream: true, stream_options }).options).toMatchObject({ usageFrame, usageInEveryFrame })
  })
})

describe('a rule between fields, or a cap, is a 422 that names the field', () => {
  test.each([
    [{ messages: Array(5).fill(messages[0]) }, 'messages', 'too_long'],
    [{ n: 9 }, 'n', 'less_than_equal'],
    [{ n: 2, temperature: 0 }, 'n', 'value_error'],
    [{ logprobs: true, top_logprobs: 6 }, 'top_logprobs', 'less_than_equal'],
    [{ top_logprobs: 1 }, 'top_logprobs', 'value_error'],
    [{ top_logprobs: 1, logprobs: false }, 'top_logprobs', 'value_error'],
    [{ stop: ['a', 'b', 'c'] }, 'stop', 'too_long'],
    [{ stream_options: { include_usage: true } }, 'stream_options', 'value_error'],
    [{ add_generation_prompt: true, continue_final_message: true }, 'continue_final_message', 'value_error'],
    [{ priority: 1 }, 'priority', 'value_error'],
  ])('%j', (fields, field, type) => {
    expect(faultOf(fields)).toEqual({ loc: ['body', field], type })
  })

  test('the caps themselves are fine', () => {
    expect(faultOf({ messages: Array(4).fill(messages[0]), n: 8, stop: ['a', 'b'] })).toBeNull()
    expect(faultOf({ logprobs: true, top_logprobs: 5 })).toBeNull()
  })

  test('a prompt that leaves no room for what was asked names the field that asked', () => {
    const bound = { field: 'max_tokens', tokens: 10 }
    expect(() => checkRoom(90, 100, bound)).not.toThrow()
    expect(() => checkRoom(1000, 100, null)).not.toThrow()
    expect(() => checkRoom(91, 100, bound)).toThrow(ApiError)
    expect(read({ max_tokens: 3 }).options.outputBound).toEqual({ field: 'max_tokens', tokens: 3 })
    expect(read({ max_completion_tokens: 4, max_tokens: 3 }).options.outputBound).toEqual({
      field: 'max_completion_tokens',
      tokens: 4,
    })
  })
})

describe('a field that the contract marks as without effect yet', () => {
  const { requestBody, components } = operationById('createChatCompletion')
  const schema = resolveSchema(requestBody!.content.get('application/json')!.schema!, components) as SchemaObject
  const properties = Object.entries(schema.properties as Record<string, SchemaObject>)
  const unsupported = properties.filter(([, property]) => property['x-supported'] === false)

  test('there is no other kind of field that nothing reads', () => {
    const read = [
      'messages model logprobs top_logprobs max_tokens max_completion_tokens n seed stop stream stream_options temperature',
      'top_p tools tool_choice user top_k min_p return_token_ids',
    ]
    const known = [...read.join(' ').split(' '), ...unsupported.map(([name]) => name)]
    expect(properties.map(([name]) => name).toSorted()).toEqual(known.toSorted())
  })

  test.each(unsupported)(
    '%s: null, its default and nothing in it are accepted, anything else is a 422',
    (name, property) => {
      expect(faultOf({ [name]: null })).toBeNull()
      if (property.default !== undefined) expect(faultOf({ [name]: property.default })).toBeNull()
      const types = [property.type].flat()
      if (types.includes('array')) expect(faultOf({ [name]: [] })).toBeNull()
      if (types.includes('object')) expect(faultOf({ [name]: {} })).toBeNull()
      const other = property.default === true ? false : property.default === false ? true : 1
      const value = property.default === 1 ? 2 : other
      expect(faultOf({ [name]: value })).toEqual({
        loc: ['body', name],
        type: name === 'priority' ? 'value_error' : 'not_supported',
      })
    },
  )
})
