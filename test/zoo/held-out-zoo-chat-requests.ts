/** Held-out faults in chat completions: how their requests are read. */
import type { Fault } from './fault.ts'
import {
  bodyOf,
  chatOperations as chat,
  isObject,
  type Json,
  numberOf,
  onBody,
  refusal,
  withoutKeys,
} from './held-out-zoo-tools.ts'

export const chatRequestFaults: Fault[] = [
  {
    name: 'held-max-tokens-wins',
    rule: 'ChatCompletionRequest max_tokens: `max_completion_tokens`, which wins when both are set',
    breaks: 'The deprecated `max_tokens` wins when both limits are sent.',
    onRequest: onBody(chat, body =>
      typeof body['max_tokens'] === 'number' && typeof body['max_completion_tokens'] === 'number'
        ? { ...body, max_completion_tokens: body['max_tokens'] }
        : undefined,
    ),
  },
  {
    name: 'held-seed-zero-is-no-seed',
    rule: 'ChatCompletionRequest seed: the same seed gives the same text; omitted, null or -1 is random',
    breaks: 'Seed 0 counts as none, as in `if (seed)`.',
    onRequest: onBody(chat, body => (body['seed'] === 0 ? withoutKeys(body, 'seed') : undefined)),
  },
  {
    name: 'held-seed-lost-with-several-choices',
    rule: 'ChatCompletionRequest seed: the same request with the same seed gives the same text',
    breaks: 'With `n` above 1 the draws are seeded at random.',
    onRequest: onBody(chat, body =>
      numberOf(body['n']) > 1 && body['seed'] != null ? withoutKeys(body, 'seed') : undefined,
    ),
  },
  {
    name: 'held-only-first-stop-text',
    rule: 'ChatCompletionRequest stop: up to 16 texts that end a choice where they first appear',
    breaks: 'Of several stop texts only the first one ends a choice.',
    onRequest: onBody(chat, body =>
      Array.isArray(body['stop']) && body['stop'].length > 1 && body['stop'].length <= 16
        ? { ...body, stop: body['stop'].slice(0, 1) }
        : undefined,
    ),
  },
  {
    name: 'held-single-stop-text-stays',
    rule: 'ChatCompletionRequest stop: the text itself is left out unless `include_stop_str_in_output` is set',
    breaks: 'A stop text that is sent as a string, not as a list, stays in the content.',
    onRequest: onBody(chat, body =>
      typeof body['stop'] === 'string' && body['include_stop_str_in_output'] === undefined
        ? { ...body, include_stop_str_in_output: true }
        : undefined,
    ),
  },
  {
    name: 'held-priority-ignored',
    rule: 'Interface, errors: a `priority` other than 0 is an error without priority scheduling',
    breaks: 'Any priority is taken.',
    onRequest: onBody(chat, body => (typeof body['priority'] === 'number' ? { ...body, priority: 0 } : undefined)),
  },
  {
    name: 'held-continue-and-generate',
    rule: 'Interface, errors: `continue_final_message` together with `add_generation_prompt` is invalid',
    breaks: 'Both sent as true are taken, and the message is continued.',
    onRequest: onBody(chat, body =>
      body['continue_final_message'] === true && body['add_generation_prompt'] === true
        ? { ...body, add_generation_prompt: false }
        : undefined,
    ),
  },
  {
    name: 'held-temperature-two-refused',
    rule: 'ChatCompletionRequest temperature: maximum 2',
    breaks: 'A temperature of exactly 2 is refused.',
    onRequest: onBodyRefused(body => body['temperature'] === 2, 'temperature', 'Input should be less than 2'),
  },
  {
    name: 'held-null-parallel-tool-calls',
    rule: 'Interface, chat request: `parallel_tool_calls` is a boolean or null',
    breaks: 'Null is refused.',
    onRequest: onBodyRefused(
      body => body['parallel_tool_calls'] === null,
      'parallel_tool_calls',
      'Input should be a boolean',
    ),
  },
  {
    name: 'held-top-k-zero-is-one',
    rule: 'ChatCompletionRequest top_k: omitted, null, 0 or -1 keeps all',
    breaks: '0 keeps a single token.',
    onRequest: onBody(chat, body => (body['top_k'] === 0 ? { ...body, top_k: 1 } : undefined)),
  },
  {
    name: 'held-parts-joined-without-break',
    rule: 'TextContentPart text: parts are joined with a line break',
    breaks: 'Text parts of a message are joined with nothing between them.',
    onRequest: onBody(chat, body => {
      const messages = body['messages']
      if (!Array.isArray(messages) || messages.every(message => joinParts(message) === message)) return undefined
      return { ...body, messages: messages.map(joinParts) }
    }),
  },
  {
    name: 'held-null-logprobs-is-false',
    rule: 'ChatCompletionRequest logprobs: omitted or null, it is on for trained models',
    breaks: 'Null switches the log-probabilities of a trained model off.',
    onRequest: onBody(chat, body => (body['logprobs'] === null ? { ...body, logprobs: false } : undefined)),
  },
  {
    name: 'held-two-structured-rules',
    rule: 'createChatCompletion, rules between fields: `structured_outputs` has exactly one rule',
    breaks: 'Of several rules the first one is followed and the others are ignored.',
    onRequest: onBody(chat, body => {
      const rules = body['structured_outputs']
      if (!isObject(rules)) return undefined
      const kinds = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag']
      const given = kinds.filter(kind => rules[kind] != null)
      return given.length > 1 ? { ...body, structured_outputs: withoutKeys(rules, ...given.slice(1)) } : undefined
    }),
  },
  {
    name: 'held-schema-without-strict-is-loose',
    rule: 'JsonSchemaResponseFormat strict: whether to follow the schema exactly. It is always followed',
    breaks: 'Unless `strict` is true, any JSON object will do.',
    onRequest: onBody(chat, body => {
      const format = body['response_format']
      if (!isObject(format) || !isObject(format['json_schema'])) return undefined
      if (format['json_schema']['strict'] === true) return undefined
      return { ...body, response_format: { type: 'json_object' } }
    }),
  },
]

/** Refuses a field that is in order. Only where credentials are sent, so that their absence is still told first. */
function onBodyRefused(faulty: (body: Json) => boolean, field: string, message: string): Fault['onRequest'] {
  return (request, context) => {
    if (!chat.includes(context.operationId) || !request.headers['authorization']) return request
    return faulty(bodyOf(request)) ? refusal(request, 422, message, ['body', field]) : request
  }
}

/** Only messages all of whose parts are text. */
function joinParts(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message['content']) || message['content'].length < 2) return message
  const texts = message['content'].map(part => (isObject(part) ? part['text'] : part))
  return texts.every(text => typeof text === 'string') ? { ...message, content: texts.join('') } : message
}
