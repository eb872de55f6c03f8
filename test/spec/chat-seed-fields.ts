/** The request table of the interface: each field with its default, values that it permits, and values that it refuses. */
interface SeedField {
  name: string
  default: unknown
  good: unknown[]
  bad: unknown[]
}

/** The interface writes the bounds of int64 as JSON numbers. */
const BOUND = 9223372036854776000
/** The next number above the bound that a double holds. */
const BEYOND = 9223372036854778000

const boolean = (name: string, fallback: boolean): SeedField => ({
  name,
  default: fallback,
  good: [true, false],
  bad: [null, 'true', 1],
})

const nullableBoolean = (name: string, fallback?: boolean): SeedField => ({
  name,
  default: fallback,
  good: [true, false, null],
  bad: ['true', 1],
})

const nullableObject = (name: string): SeedField => ({
  name,
  default: undefined,
  good: [null, {}, { a: 1, b: 'c', d: [1, 'e'] }],
  bad: ['{}', [], 1],
})

export const SEED_FIELDS: SeedField[] = [
  { name: 'messages', default: undefined, good: [[{ role: 'user', content: 'a' }]], bad: [[], null, 'a', {}, ['a']] },
  { name: 'model', default: undefined, good: ['tiny-chat', '', null], bad: [1, ['tiny-chat']] },
  { name: 'frequency_penalty', default: 0, good: [-2, 0, 0.5, 2, null], bad: [-2.1, 2.1, '0'] },
  { name: 'presence_penalty', default: 0, good: [-2, 0, 0.5, 2, null], bad: [-2.1, 2.1, '0'] },
  {
    name: 'logit_bias',
    default: undefined,
    good: [null, {}, { 50256: -100, 7: 1.5 }],
    bad: [[], { a: 1 }, { 7: '1' }],
  },
  nullableBoolean('logprobs', false),
  { name: 'top_logprobs', default: 0, good: [0, 20, null], bad: [-1, 21, 1.5, '5'] },
  { name: 'max_tokens', default: undefined, good: [1, 4096, null], bad: [0, -1, 1.5, '5'] },
  { name: 'max_completion_tokens', default: undefined, good: [1, 4096, null], bad: [0, -1, 1.5, '5'] },
  { name: 'n', default: 1, good: [1, 128, null], bad: [0, 129, 1.5, '1'] },
  {
    name: 'response_format',
    default: { type: 'text' },
    good: [
      { type: 'text' },
      { type: 'json_object' },
      { json_schema: { name: 'a', description: 'b', schema: { type: 'object' }, strict: true } },
      { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
    ],
    bad: [
      {},
      'text',
      { type: 'yaml' },
      { type: 'json_schema' },
      { type: 'json_schema', json_schema: { schema: 'a' } },
      { type: 'yaml', json_schema: {} },
      { json_schema: { name: 7 } },
      { json_schema: { description: 7 } },
      { json_schema: { strict: 'yes' } },
    ],
  },
  { name: 'seed', default: undefined, good: [0, -1, BOUND, -BOUND, null], bad: [BEYOND, -BEYOND, 0.5, '1'] },
  {
    name: 'stop',
    default: [],
    good: ['a', [], ['a', 'b'], Array(16).fill('a'), null],
    bad: ['', [''], Array(17).fill('a'), [1], 1],
  },
  nullableBoolean('stream', false),
  {
    name: 'stream_options',
    default: undefined,
    good: [null, {}, { include_usage: true, continuous_usage_stats: false }],
    bad: [true, { include_usage: 1 }, { continuous_usage_stats: 'no' }],
  },
  { name: 'temperature', default: undefined, good: [0, 0.7, 2, null], bad: [-0.1, 2.1, '1'] },
  { name: 'top_p', default: undefined, good: [0.01, 1, null], bad: [0, 1.1, '1'] },
  {
    name: 'tools',
    default: undefined,
    good: [
      null,
      [{ type: 'function', function: { name: 'a' } }],
      [{ type: 'function', function: { name: 'a', description: 'b', parameters: { type: 'object' }, strict: true } }],
    ],
    bad: [
      [],
      {},
      [{ type: 'function' }],
      [{ type: 'web', function: { name: 'a' } }],
      [{ type: 'function', function: { name: '' } }],
      [{ type: 'function', function: { name: 'a', description: 7 } }],
      [{ type: 'function', function: { name: 'a', strict: 'yes' } }],
      [{ type: 'function', function: {} }],
    ],
  },
  { name: 'tool_choice', default: 'none', good: ['none'], bad: ['auto', 'required', null, { type: 'function' }] },
  { name: 'reasoning_effort', default: undefined, good: ['low', 'medium', 'high', null], bad: ['max', '', 1] },
  boolean('include_reasoning', true),
  nullableBoolean('parallel_tool_calls', true),
  { name: 'user', default: undefined, good: ['ada', null], bad: [1, {}] },
  boolean('use_beam_search', false),
  { name: 'top_k', default: undefined, good: [-1, 0, 1, 50, null], bad: [-2, 1.5, '1'] },
  { name: 'min_p', default: undefined, good: [0, 0.05, 1, null], bad: [-0.1, 1.1, '0'] },
  { name: 'repetition_penalty', default: undefined, good: [0.1, 1, 1.3, null], bad: [0, -1, '1'] },
  { name: 'length_penalty', default: 1, good: [0, 1, -0.5], bad: [null, '1'] },
  { name: 'stop_token_ids', default: undefined, good: [[], [0, 7], null], bad: [[-1], [1.5], ['7'], 7] },
  boolean('include_stop_str_in_output', false),
  boolean('ignore_eos', false),
  { name: 'min_tokens', default: 0, good: [0, 5], bad: [-1, null, 1.5] },
  boolean('skip_special_tokens', true),
  boolean('spaces_between_special_tokens', true),
  { name: 'truncate_prompt_tokens', default: undefined, good: [-1, 0, 5, BOUND, null], bad: [-2, BEYOND, 1.5] },
  { name: 'prompt_logprobs', default: undefined, good: [-1, 0, 20, null], bad: [-2, 21, 1.5] },
  { name: 'allowed_token_ids', default: undefined, good: [[0, 7], null], bad: [[], [-1], [1.5]] },
  { name: 'bad_words', default: undefined, good: [[], ['a b']], bad: [[''], [1], 'a'] },
  boolean('echo', false),
  boolean('add_generation_prompt', true),
  boolean('continue_final_message', false),
  boolean('add_special_tokens', false),
  {
    name: 'documents',
    default: undefined,
    good: [null, [], [{ title: 'a', text: 'b' }, {}]],
    bad: [{}, ['a'], [null]],
  },
  { name: 'chat_template', default: undefined, good: ['{{ messages }}', null], bad: [{}, 1] },
  nullableObject('chat_template_kwargs'),
  nullableObject('mm_processor_kwargs'),
  {
    name: 'structured_outputs',
    default: undefined,
    good: [
      null,
      { json: '{}', disable_fallback: false, disable_any_whitespace: true, disable_additional_properties: false },
      { json: { type: 'object' }, whitespace_pattern: ' ?', _backend: 'auto', _backend_was_auto: true },
      { regex: 'a+' },
      { choice: ['a', 'b'] },
      { grammar: 'root ::= "a"' },
      { json_object: true },
      { structural_tag: '{}' },
    ],
    bad: [
      '{}',
      { json: 7 },
      { choice: [] },
      { choice: 'a' },
      { choice: [7] },
      { regex: 7 },
      { grammar: 7 },
      { structural_tag: {} },
      { whitespace_pattern: 7 },
      { _backend: 7 },
      { disable_fallback: 'no' },
      { disable_any_whitespace: null },
      { disable_additional_properties: 1 },
      { json_object: 'yes' },
      { _backend_was_auto: 1 },
    ],
  },
  { name: 'priority', default: 0, good: [0, -5, 10], bad: [null, 0.5, '0'] },
  { name: 'request_id', default: undefined, good: ['abc'], bad: [null, 7] },
  nullableBoolean('return_tokens_as_token_ids'),
  nullableBoolean('return_token_ids'),
  { name: 'cache_salt', default: undefined, good: ['a', null], bad: ['', 7] },
  nullableObject('kv_transfer_params'),
  {
    name: 'engine_xargs',
    default: undefined,
    good: [null, {}, { a: 'b', c: 1.5, d: ['e', 2] }],
    bad: [[], { a: {} }, { a: true }, { a: [null] }],
  },
  {
    name: 'repetition_detection',
    default: undefined,
    good: [null, {}, { max_pattern_size: 8, min_pattern_size: 1, min_count: 3 }],
    bad: [
      7,
      { max_pattern_size: -1 },
      { min_pattern_size: 1.5 },
      { min_count: '3' },
      { min_pattern_size: -1 },
      { min_count: -1 },
    ],
  },
]
