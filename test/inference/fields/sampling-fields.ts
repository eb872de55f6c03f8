import { expect } from 'vitest'
import type { Sampling } from '../../../src/inference/engine.ts'
import { faultOf, read } from '../chat-wire.ts'
import { changes, type FieldTest } from './field-test.ts'

const sampling = (field: string, value: unknown, key: keyof Sampling, expected: unknown, beside: object = {}) =>
  changes(field, value, task => task.sampling[key], expected, beside)

const JSON_SCHEMA = { type: 'object', properties: { a: { type: 'integer' } } }

/** Null is the same as leaving the field out. */
function nullIsNone(field: string): FieldTest {
  return {
    field,
    does: 'null asks for nothing',
    check: () => expect(read({ [field]: null })).toEqual(read({})),
  }
}

export const samplingFields: FieldTest[] = [
  sampling('frequency_penalty', 0.5, 'frequencyPenalty', 0.5),
  sampling('presence_penalty', -0.5, 'presencePenalty', -0.5),
  sampling('repetition_penalty', 1.2, 'repetitionPenalty', 1.2),
  sampling('logit_bias', { 7: 250, 9: -1.5, 10: -250 }, 'logitBias', [
    [7, 100],
    [9, -1.5],
    [10, -100],
  ]),
  sampling('max_tokens', 5, 'maxTokens', 5),
  sampling('max_completion_tokens', 6, 'maxTokens', 6),
  sampling('max_completion_tokens', 6, 'maxTokens', 6, { max_tokens: 5 }),
  changes('max_completion_tokens', 6, task => task.outputBound, { field: 'max_completion_tokens', tokens: 6 }),
  changes('max_tokens', 5, task => task.outputBound, { field: 'max_tokens', tokens: 5 }),
  changes('min_tokens', 4, task => task.outputBound, { field: 'min_tokens', tokens: 4 }),
  sampling('min_tokens', 4, 'minTokens', 4),
  sampling('n', 3, 'n', 3),
  sampling('seed', 7, 'seed', 7),
  sampling('seed', 0, 'seed', 0),
  {
    field: 'seed',
    does: '-1 is a random one',
    check: () => expect(read({ seed: -1 }).sampling.seed).toBeNull(),
  },
  sampling('stop', 'x', 'stop', ['x']),
  sampling('stop', ['x', 'y'], 'stop', ['x', 'y']),
  sampling('stop_token_ids', [7, 8], 'stopTokenIds', [7, 8]),
  sampling('include_stop_str_in_output', true, 'includeStop', true),
  sampling('ignore_eos', true, 'ignoreEos', true),
  sampling('temperature', 0.7, 'temperature', 0.7),
  sampling('temperature', 0, 'temperature', 0),
  sampling('temperature', 1e-9, 'temperature', 0),
  sampling('top_p', 0.5, 'topP', 0.5),
  sampling('top_k', 7, 'topK', 7),
  { field: 'top_k', does: '-1 keeps all', check: () => expect(read({ top_k: -1 }).sampling.topK).toBe(0) },
  sampling('min_p', 0.1, 'minP', 0.1),
  sampling('use_beam_search', true, 'beam', { lengthPenalty: 1 }),
  sampling('length_penalty', 0.6, 'beam', { lengthPenalty: 0.6 }, { use_beam_search: true }),
  sampling('allowed_token_ids', [7, 8], 'allowedTokenIds', [7, 8]),
  sampling('bad_words', ['a b'], 'badWords', ['a b']),
  sampling('skip_special_tokens', false, 'skipSpecialTokens', false),
  sampling('spaces_between_special_tokens', false, 'spacesBetweenSpecialTokens', false),
  sampling('repetition_detection', { max_pattern_size: 4, min_count: 3 }, 'repetitionDetection', {
    maxPatternSize: 4,
    minPatternSize: 1,
    minCount: 3,
  }),
  {
    field: 'repetition_detection',
    does: 'a largest pattern of 0 is off',
    check: () => expect(read({ repetition_detection: { min_count: 5 } }).sampling.repetitionDetection).toBeNull(),
  },
  sampling('logprobs', true, 'topLogprobs', 0),
  sampling('top_logprobs', 3, 'topLogprobs', 3, { logprobs: true }),
  sampling('prompt_logprobs', 2, 'promptLogprobs', 2),
  sampling('prompt_logprobs', 0, 'promptLogprobs', 0),
  {
    field: 'logprobs',
    does: 'is on for a trained model unless it is false',
    check() {
      const of = (fields: object) => read(fields, { model: { trained: true } }).sampling.topLogprobs
      expect([of({}), of({ logprobs: null }), of({ logprobs: false })]).toEqual([0, 0, null])
    },
  },
  sampling('response_format', { type: 'json_object' }, 'constraint', { kind: 'json_object' }),
  sampling('response_format', { type: 'json_schema', json_schema: { name: 'a', schema: JSON_SCHEMA } }, 'constraint', {
    kind: 'json_schema',
    schema: JSON_SCHEMA,
  }),
  sampling('response_format', { json_schema: { name: 'a', strict: false } }, 'constraint', { kind: 'json_object' }),
  {
    field: 'response_format',
    does: 'text is free',
    check: () => expect(read({ response_format: { type: 'text' } }).sampling.constraint).toBeNull(),
  },
  ...[
    [{ json: JSON_SCHEMA }, { kind: 'json_schema', schema: JSON_SCHEMA }],
    [{ json: JSON.stringify(JSON_SCHEMA) }, { kind: 'json_schema', schema: JSON_SCHEMA }],
    [{ regex: ' +' }, { kind: 'regex', pattern: ' +' }],
    [{ choice: ['a', 'b'] }, { kind: 'choice', choices: ['a', 'b'] }],
    [{ grammar: 'root ::= "a"' }, { kind: 'grammar', text: 'root ::= "a"' }],
    [{ json_object: true }, { kind: 'json_object' }],
    [{ structural_tag: '{"triggers": []}' }, { kind: 'structural_tag', tag: { triggers: [] } }],
    [{ json_object: true, disable_any_whitespace: true }, { disableAnyWhitespace: true }],
    [{ json_object: true, whitespace_pattern: ' ?' }, { whitespacePattern: ' ?' }],
    [{ json: JSON_SCHEMA, disable_additional_properties: true }, { disableAdditionalProperties: true }],
  ].map(([value, source]) => ({
    field: 'structured_outputs',
    does: `${JSON.stringify(value)} is the rule ${JSON.stringify(source)}`,
    check: () => expect(read({ structured_outputs: value }).sampling.constraint).toMatchObject(source!),
  })),
  {
    field: 'structured_outputs',
    does: 'takes our own backend, and another only where it was chosen automatically and may be replaced',
    check() {
      const of = (more: object) => faultOf({ structured_outputs: { regex: 'a', ...more } })
      const fault = { loc: ['body', 'structured_outputs', '_backend'], type: 'value_error' }
      expect([of({ _backend: 'trainyard' }), of({ _backend: 'auto' }), of({ _backend: null })]).toEqual([
        null,
        null,
        null,
      ])
      expect(of({ _backend: 'other' })).toEqual(fault)
      expect(of({ _backend: 'other', _backend_was_auto: true })).toBeNull()
      expect(of({ _backend: 'other', _backend_was_auto: true, disable_fallback: true })).toEqual(fault)
    },
  },
  ...[
    ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'logit_bias', 'max_tokens', 'temperature'],
    ...['max_completion_tokens', 'n', 'seed', 'stop', 'stop_token_ids', 'top_p', 'top_k', 'min_p', 'logprobs'],
    ...['top_logprobs', 'prompt_logprobs', 'allowed_token_ids', 'repetition_detection', 'response_format'],
    'structured_outputs',
  ].map(nullIsNone),
]
