/** Fields of a chat request that have no effect, and tokens that do not repeat. */
import { type Json, replyJson } from './change-replies.ts'
import { requestJson, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

/** Fields with an effect that can be seen from outside. What `add_special_tokens` adds is up to a tokenizer, and that of tiny-chat adds none. */
const FIELDS = [
  'add_generation_prompt',
  'allowed_token_ids',
  'bad_words',
  'continue_final_message',
  'echo',
  'frequency_penalty',
  'ignore_eos',
  'include_reasoning',
  'include_stop_str_in_output',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'min_tokens',
  'min_p',
  'n',
  'presence_penalty',
  'prompt_logprobs',
  'repetition_detection',
  'repetition_penalty',
  'request_id',
  'response_format',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'seed',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'stop',
  'stop_token_ids',
  'structured_outputs',
  'temperature',
  'tools',
  'top_k',
  'top_logprobs',
  'top_p',
  'truncate_prompt_tokens',
  'use_beam_search',
  'chat_template_kwargs',
  'documents',
  'length_penalty',
  'cache_salt',
]

/** What has to go with a field so that the rest is still a good request. */
const WITH: Record<string, string[]> = { logprobs: ['top_logprobs'], use_beam_search: ['length_penalty'] }

export const chatFieldFaults: Fault[] = [
  ...FIELDS.map(field => ({
    name: `${field.replaceAll('_', '-')}-ignored`,
    rule: `createChatCompletion: ${field}`,
    breaks: `${field} has no effect.`,
    ...whereGood(
      requestJson(CHAT, body => {
        for (const name of [field, ...(WITH[field] ?? [])]) delete body[name]
      }),
    ),
  })),
  {
    name: 'stop-cut-late',
    rule: 'createChatCompletion: stop texts are not in the content',
    breaks: 'The stop text stays in the content.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (body.stop) body.include_stop_str_in_output = true
      }),
    ),
  },
  {
    name: 'max-tokens-first',
    rule: 'createChatCompletion: max_tokens yields to max_completion_tokens',
    breaks: 'max_tokens goes before max_completion_tokens.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (Number.isInteger(body.max_tokens)) body.max_completion_tokens = body.max_tokens
      }),
    ),
  },
  {
    name: 'max-tokens-plus-one',
    rule: 'createChatCompletion: max_completion_tokens is the most tokens of each choice',
    breaks: 'One token more comes than was allowed.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (Number.isInteger(body.max_completion_tokens) && body.max_completion_tokens > 0) body.max_completion_tokens++
      }),
    ),
  },
  {
    name: 'request-id-header-ignored',
    rule: 'schema ChatCompletionRequest: the header x-request-id goes before request_id',
    breaks: 'The id of a completion is always a random one.',
    ...replyJson(CHAT, body => ({ ...body, id: `chatcmpl-${crypto.randomUUID()}` })),
  },
  {
    name: 'cached-tokens-all',
    rule: 'createChatCompletion: cache_salt shares cached prompts only with the same salt',
    breaks: 'cached_tokens is always the whole prompt.',
    ...replyJson(CHAT, body => {
      body.usage.prompt_tokens_details = { cached_tokens: body.usage.prompt_tokens }
    }),
  },
  {
    name: 'beams-unsorted',
    rule: 'createChatCompletion: use_beam_search gives the best sequences',
    breaks: 'The contents of choices come in the reverse order.',
    ...replyJson(CHAT, body => {
      body.choices = body.choices.toReversed().map((choice: Json, index: number) => ({ ...choice, index }))
    }),
  },
]
