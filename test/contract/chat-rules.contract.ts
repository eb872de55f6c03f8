import { expect } from 'vitest'
import { checkEach, section } from '../../src/contract/check.ts'
import { fieldSource } from './chat-sources.ts'
import { client, target } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
/** No vocabulary is as large. */
const NO_TOKEN = 2_000_000_000

const toSource = (_: string, __: object, place: string) => ({ source: fieldSource(place.split('.')[0]!) })

section('Chat requests that break a rule, which a mock does not know', { needs: ['memory'], home: false }, () => {
  const refuse = (more: object) =>
    client.refused('createChatCompletion', 422, { body: { model: target.baseModel, messages, ...more } })

  checkEach<[string, object, string]>([
    ['top-logprobs-without-logprobs', { top_logprobs: 2 }, 'top_logprobs'],
    ['streamed-prompt-logprobs', { prompt_logprobs: 1, stream: true }, 'prompt_logprobs'],
    ['prompt-logprobs-of-the-whole-vocabulary', { prompt_logprobs: -1 }, 'prompt_logprobs'],
    ['stream-options-without-stream', { stream_options: { include_usage: true } }, 'stream_options'],
    ['greedy-choices', { n: 2, temperature: 0 }, 'n'],
    ['more-least-than-most-tokens', { min_tokens: 6, max_completion_tokens: 5 }, 'min_tokens'],
    [
      'both-ways-to-end-the-prompt',
      { add_generation_prompt: true, continue_final_message: true },
      'continue_final_message',
    ],
    [
      'a-final-message-without-text-that-goes-on',
      { messages: [...messages, { role: 'assistant', content: '' }], continue_final_message: true },
      'messages.1.content',
    ],
    ['a-priority', { priority: 1 }, 'priority'],
    ['an-empty-list-of-messages', { messages: [] }, 'messages'],
    ['a-tool-choice-other-than-none', { tool_choice: 'auto' }, 'tool_choice'],
    ['an-empty-list-of-tools', { tools: [] }, 'tools'],
    ['a-penalty-out-of-range', { frequency_penalty: 2.5 }, 'frequency_penalty'],
    ['a-bias-by-name', { logit_bias: { hello: 1 } }, 'logit_bias'],
    ['a-bias-beyond-the-vocabulary', { logit_bias: { [NO_TOKEN]: 1 } }, 'logit_bias'],
    ['allowed-tokens-beyond-the-vocabulary', { allowed_token_ids: [NO_TOKEN] }, 'allowed_token_ids'],
    ['no-allowed-token', { allowed_token_ids: [] }, 'allowed_token_ids'],
    ['a-stop-token-beyond-the-vocabulary', { stop_token_ids: [NO_TOKEN] }, 'stop_token_ids'],
    ['an-empty-bad-word', { bad_words: [''] }, 'bad_words.0'],
    ['an-empty-stop', { stop: '' }, 'stop'],
    ['a-response-format-without-its-schema', { response_format: { type: 'json_schema' } }, 'response_format'],
    [
      'two-forms-at-once',
      { response_format: { type: 'json_object' }, structured_outputs: { regex: 'a' } },
      'structured_outputs',
    ],
    ['two-rules-at-once', { structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs'],
    ['no-rule', { structured_outputs: {} }, 'structured_outputs'],
    ['an-empty-choice', { structured_outputs: { choice: [] } }, 'structured_outputs.choice'],
    ['a-malformed-regex', { structured_outputs: { regex: '(a' } }, 'structured_outputs.regex'],
    ['a-malformed-grammar', { structured_outputs: { grammar: 'root ::= (' } }, 'structured_outputs.grammar'],
    ['a-grammar-without-end', { structured_outputs: { grammar: 'root ::= root "a"' } }, 'structured_outputs.grammar'],
    [
      'a-malformed-schema',
      { structured_outputs: { json: { type: 'object', properties: { a: { type: 'colour' } } } } },
      'structured_outputs.json.properties.a',
    ],
    [
      'a-malformed-schema-of-a-response-format',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'colour' } } } },
      'response_format.json_schema.schema',
    ],
    ['no-json-object', { structured_outputs: { json_object: false } }, 'structured_outputs.json_object'],
    ['an-empty-regex', { structured_outputs: { regex: '' } }, 'structured_outputs.regex'],
    ['a-back-reference', { structured_outputs: { regex: '(a)\\1' } }, 'structured_outputs.regex'],
    ['a-look-ahead', { structured_outputs: { regex: '(?=a)a' } }, 'structured_outputs.regex'],
    ['a-blank-grammar', { structured_outputs: { grammar: ' ' } }, 'structured_outputs.grammar'],
    [
      'white-space-of-letters',
      { structured_outputs: { json: { type: 'object' }, whitespace_pattern: 'x' } },
      'structured_outputs.whitespace_pattern',
    ],
    [
      'a-malformed-structural-tag',
      { structured_outputs: { structural_tag: '{' } },
      'structured_outputs.structural_tag',
    ],
    ['a-request-id-that-is-too-long', { request_id: 'x'.repeat(257) }, 'request_id'],
    ['a-salt-that-is-too-long', { cache_salt: 'x'.repeat(129) }, 'cache_salt'],
    ...['messages', 'tools', 'add_generation_prompt', 'continue_final_message'].map(
      (name): [string, object, string] => [
        `a-variable-that-is-set-already-${name.replaceAll('_', '-')}`,
        { chat_template_kwargs: { [name]: true } },
        `chat_template_kwargs.${name}`,
      ],
    ),
    ...['input_audio', 'file'].map((type): [string, object, string] => [
      `a-part-of-type-${type.replaceAll('_', '-')}`,
      { messages: [{ role: 'user', content: ['hi', { type, [type]: { data: 'aGk=' } }] }] },
      'messages.0.content.1',
    ]),
    ['another-backend', { structured_outputs: { regex: 'a', _backend: 'other' } }, 'structured_outputs._backend'],
    ['an-untrusted-template', { chat_template: '{{ 1 }}' }, 'chat_template'],
    [
      'an-untrusted-template-among-the-variables',
      { chat_template_kwargs: { chat_template: '{{ 1 }}' } },
      'chat_template_kwargs.chat_template',
    ],
    ['arguments-of-a-multimodal-processor', { mm_processor_kwargs: { a: 1 } }, 'mm_processor_kwargs'],
    ['parameters-of-a-transfer', { kv_transfer_params: { a: 1 } }, 'kv_transfer_params'],
    ['an-unknown-parameter-of-the-engine', { engine_xargs: { speed: 1 } }, 'engine_xargs.speed'],
    [
      'patterns-of-no-length',
      { repetition_detection: { max_pattern_size: 1, min_pattern_size: 2, min_count: 2 } },
      'repetition_detection',
    ],
    ['a-repetition-of-one', { repetition_detection: { max_pattern_size: 1, min_count: 1 } }, 'repetition_detection'],
    [
      'an-image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages.0.content.0',
    ],
    ['a-limit-beyond-the-context', { max_completion_tokens: 100_000_000 }, 'max_completion_tokens'],
    ['a-least-beyond-the-context', { min_tokens: 100_000_000 }, 'min_tokens'],
    ['a-truncation-beyond-the-context', { truncate_prompt_tokens: 100_000_000 }, 'truncate_prompt_tokens'],
    ['a-prompt-truncated-to-nothing', { truncate_prompt_tokens: 0 }, 'truncate_prompt_tokens'],
  ])('createChatCompletion/refuses-%s', toSource, async (_, more, place) => {
    const refusal = await refuse(more)
    const places = (refusal.detail as { loc: string[] }[]).map(({ loc }) => loc.join('.'))
    const wanted = `body.${place}`
    expect(
      places.some(found => found === wanted || found.startsWith(`${wanted}.`)),
      places.join(),
    ).toBe(true)
  })
})
