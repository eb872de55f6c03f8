import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/errors.ts'
import { toConstraintLoc } from '../../src/inference/chat-constraint.ts'
import { checkRoom } from '../../src/inference/chat-rules.ts'
import { faultOf, messages, read } from './chat-wire.ts'

const tag = '{"triggers": []}'

describe('a rule between fields, or a cap, is a 422 that names the place', () => {
  test.each<[object, string, string]>([
    [{ messages: Array(5).fill(messages[0]) }, 'messages', 'too_long'],
    [{ n: 9 }, 'n', 'less_than_equal'],
    [{ n: 2, temperature: 0 }, 'n', 'value_error'],
    [{ n: 2, temperature: 1e-9 }, 'n', 'value_error'],
    [{ logprobs: true, top_logprobs: 6 }, 'top_logprobs', 'less_than_equal'],
    [{ top_logprobs: 1 }, 'top_logprobs', 'value_error'],
    [{ top_logprobs: 1, logprobs: false }, 'top_logprobs', 'value_error'],
    [{ prompt_logprobs: 1, stream: true }, 'prompt_logprobs', 'value_error'],
    [{ prompt_logprobs: -1, stream: true }, 'prompt_logprobs', 'value_error'],
    [{ prompt_logprobs: -1 }, 'prompt_logprobs', 'less_than_equal'],
    [{ prompt_logprobs: 6 }, 'prompt_logprobs', 'less_than_equal'],
    [{ min_tokens: 3, max_tokens: 2 }, 'min_tokens', 'less_than_equal'],
    [{ min_tokens: 3, max_completion_tokens: 2, max_tokens: 5 }, 'min_tokens', 'less_than_equal'],
    [{ stop: ['a', 'b', 'c'] }, 'stop', 'too_long'],
    [{ bad_words: Array(1025).fill('a') }, 'bad_words', 'too_long'],
    [{ cache_salt: 'a'.repeat(129) }, 'cache_salt', 'too_long'],
    [{ request_id: 'a'.repeat(257) }, 'request_id', 'too_long'],
    [{ stream_options: { include_usage: null } }, 'stream_options', 'value_error'],
    [{ stream_options: {}, stream: false }, 'stream_options', 'value_error'],
    [{ add_generation_prompt: true, continue_final_message: true }, 'continue_final_message', 'value_error'],
    [{ priority: 1 }, 'priority', 'value_error'],
    [{ truncate_prompt_tokens: 0 }, 'truncate_prompt_tokens', 'greater_than_equal'],
    [{ truncate_prompt_tokens: 100 }, 'truncate_prompt_tokens', 'less_than_equal'],
    [{ truncate_prompt_tokens: 91, max_tokens: 10 }, 'truncate_prompt_tokens', 'less_than_equal'],
    [{ chat_template: '{{ 1 }}' }, 'chat_template', 'not_trusted'],
    [{ chat_template_kwargs: { chat_template: 'a' } }, 'chat_template_kwargs.chat_template', 'not_trusted'],
    [{ chat_template_kwargs: { messages: [] } }, 'chat_template_kwargs.messages', 'value_error'],
    [{ chat_template_kwargs: { tools: [] } }, 'chat_template_kwargs.tools', 'value_error'],
    [
      { chat_template_kwargs: { add_generation_prompt: 1 } },
      'chat_template_kwargs.add_generation_prompt',
      'value_error',
    ],
    [{ mm_processor_kwargs: { a: 1 } }, 'mm_processor_kwargs.a', 'not_supported'],
    [{ kv_transfer_params: { a: 1 } }, 'kv_transfer_params.a', 'not_supported'],
    [{ engine_xargs: { a: 1 } }, 'engine_xargs.a', 'not_supported'],
    [
      { repetition_detection: { max_pattern_size: 2, min_pattern_size: 3, min_count: 2 } },
      'repetition_detection.min_pattern_size',
      'less_than_equal',
    ],
    [
      { repetition_detection: { max_pattern_size: 2, min_count: 1 } },
      'repetition_detection.min_count',
      'greater_than_equal',
    ],
    [{ repetition_detection: { max_pattern_size: 2 } }, 'repetition_detection.min_count', 'greater_than_equal'],
    [{ structured_outputs: {} }, 'structured_outputs', 'value_error'],
    [{ structured_outputs: { json: null, disable_fallback: true } }, 'structured_outputs', 'value_error'],
    [{ structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs.choice', 'value_error'],
    [{ structured_outputs: { json: {}, structural_tag: tag } }, 'structured_outputs.structural_tag', 'value_error'],
    [{ structured_outputs: { json_object: true, json: {} } }, 'structured_outputs.json_object', 'value_error'],
    [{ structured_outputs: { json_object: false } }, 'structured_outputs.json_object', 'value_error'],
    [{ structured_outputs: { json: ' ' } }, 'structured_outputs.json', 'value_error'],
    [{ structured_outputs: { json: '{' } }, 'structured_outputs.json', 'json_invalid'],
    [{ structured_outputs: { regex: '' } }, 'structured_outputs.regex', 'value_error'],
    [{ structured_outputs: { regex: 'a\0' } }, 'structured_outputs.regex', 'value_error'],
    [{ structured_outputs: { grammar: ' \n' } }, 'structured_outputs.grammar', 'value_error'],
    [{ structured_outputs: { structural_tag: '' } }, 'structured_outputs.structural_tag', 'value_error'],
    [{ structured_outputs: { structural_tag: '{' } }, 'structured_outputs.structural_tag', 'json_invalid'],
    [{ structured_outputs: { regex: 'a', _backend: 'xgrammar' } }, 'structured_outputs._backend', 'value_error'],
    [
      { structured_outputs: { regex: 'a' }, response_format: { type: 'json_object' } },
      'structured_outputs',
      'value_error',
    ],
    [
      { structured_outputs: { regex: 'a' }, response_format: { json_schema: { schema: {} } } },
      'structured_outputs',
      'value_error',
    ],
    [
      { messages: [{ role: 'user', content: ['a', { type: 'image_url', image_url: {} }] }] },
      'messages.0.content.1',
      'value_error',
    ],
    [
      { messages: [{ message: { role: 'user', content: [{ input_audio: {} }] } }] },
      'messages.0.message.content.0',
      'value_error',
    ],
  ])('%j', (fields, place, type) => {
    expect(faultOf(fields)).toEqual({ loc: ['body', ...place.split('.')], type })
  })

  test.each<[object]>([
    [{ messages: Array(4).fill(messages[0]), n: 8, stop: ['a', 'b'] }],
    [{ logprobs: true, top_logprobs: 5 }],
    [{ n: 3, temperature: 0, use_beam_search: true }],
    [{ prompt_logprobs: 0, stream: true }],
    [{ min_tokens: 2, max_tokens: 2 }],
    [{ continue_final_message: true }],
    [{ add_generation_prompt: false, continue_final_message: true }],
    [{ truncate_prompt_tokens: 90, max_tokens: 10 }],
    [{ structured_outputs: { regex: 'a' }, response_format: { type: 'text' } }],
    [{ structured_outputs: null, response_format: { type: 'json_object' } }],
    [{ repetition_detection: {} }],
    [{ repetition_detection: { max_pattern_size: 2, min_pattern_size: 2, min_count: 2 } }],
    [{ chat_template_kwargs: { chat_template: null } }],
  ])('%j is fine', fields => {
    expect(faultOf(fields)).toBeNull()
  })

  test('what stands in the way of a model that reads text is named', () => {
    const image = () => read({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] })
    expect(image).toThrow(/a part of type image_url is not supported/)
    expect(() => read({ engine_xargs: { speed: 1 } })).toThrow(/no parameter named speed/)
  })
})

test('a prompt that leaves no room for what was asked names the field that asked', () => {
  const bound = { field: 'max_tokens', tokens: 10 }
  expect(() => checkRoom(90, 100, bound)).not.toThrow()
  expect(() => checkRoom(1000, 100, null)).not.toThrow()
  expect(() => checkRoom(91, 100, bound)).toThrow(ApiError)
  expect(read({ max_completion_tokens: 4, max_tokens: 3 }).outputBound).toEqual({
    field: 'max_completion_tokens',
    tokens: 4,
  })
})

test.each<[object, string[], string]>([
  [{ structured_outputs: { json: {} } }, ['properties', 'a'], 'structured_outputs.json.properties.a'],
  [{ structured_outputs: { regex: 'a' } }, [], 'structured_outputs.regex'],
  [
    { structured_outputs: { json_object: true, whitespace_pattern: 'a' } },
    ['whitespace_pattern'],
    'structured_outputs.whitespace_pattern',
  ],
  [{ response_format: { json_schema: { schema: {} } } }, ['not'], 'response_format.json_schema.schema.not'],
])('a fault in the rule of %j at %j is one of the request at %s', (fields, path, place) => {
  expect(toConstraintLoc(read(fields).constraintLoc, path).join('.')).toBe(place)
})
