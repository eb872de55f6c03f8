/** Good requests of chats that mean something else than they say: draws, biases, ends of a text, prompts and forms. */
import type { Json } from './change-replies.ts'
import { requestJson, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { isObject } from './held-out-zoo-tools.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

interface Change {
  name: string
  rule: string
  breaks: string
  change(body: Json): void
}

/** Good requests that mean something else than they say. */
const MISREAD: Change[] = [
  {
    name: 'bias-halved',
    rule: 'logit_bias is added to logits',
    breaks: 'Half of a bias is added.',
    change: ({ logit_bias }) => {
      for (const id of Object.keys(logit_bias ?? {})) logit_bias[id] /= 2
    },
  },
  {
    name: 'bias-doubled',
    rule: 'logit_bias is added to logits',
    breaks: 'A bias is added twice.',
    change: ({ logit_bias }) => {
      for (const id of Object.keys(logit_bias ?? {})) logit_bias[id] *= 2
    },
  },
  {
    name: 'cold-temperature-raised',
    rule: 'temperature divides the logits',
    breaks: 'A temperature between 0.01 and 1 is 1.',
    change: body => {
      if (body.temperature > 0.01 && body.temperature < 1) body.temperature = 1
    },
  },
  {
    name: 'hot-temperature-lowered',
    rule: 'temperature divides the logits',
    breaks: 'A temperature above 1 is its inverse.',
    change: body => {
      if (body.temperature > 1) body.temperature = 1 / body.temperature ** 2
    },
  },
  {
    name: 'top-k-one-less',
    rule: 'top_k is the number of the most probable tokens to draw from',
    breaks: 'One token less than top_k stays.',
    change: body => {
      if (body.top_k > 1) body.top_k--
    },
  },
  {
    name: 'top-k-one-more',
    rule: 'top_k is the number of the most probable tokens to draw from',
    breaks: 'One token more than a top_k above 1 stays.',
    change: body => {
      if (body.top_k > 1) body.top_k++
    },
  },
  {
    name: 'min-p-a-tenth',
    rule: 'min_p drops tokens below this share of the best one',
    breaks: 'A min_p below 0.8 counts for a tenth.',
    change: body => {
      if (body.min_p < 0.8) body.min_p /= 10
    },
  },
  {
    name: 'top-p-squared',
    rule: 'top_p keeps the fewest tokens that reach this sum',
    breaks: 'The square of top_p is taken.',
    change: body => {
      if (body.top_p > 0) body.top_p **= 2
    },
  },
  {
    name: 'top-p-raised',
    rule: 'top_p keeps the fewest tokens that reach this sum',
    breaks: 'A top_p above a half is nearly 1.',
    change: body => {
      if (body.top_p > 0.5 && body.top_p < 1) body.top_p = 0.999
    },
  },
  {
    name: 'beams-drawn-when-hot',
    rule: 'use_beam_search looks for the best sequences instead of drawing',
    breaks: 'Above the temperature 0 choices are drawn although beams are asked for.',
    change: body => {
      if (body.temperature > 0) delete body.use_beam_search
    },
  },
  {
    name: 'stop-token-text-kept',
    rule: 'include_stop_str_in_output is false by default',
    breaks: 'The text of a stop token is always in the content.',
    change: body => {
      if (body.stop_token_ids?.length > 0) body.include_stop_str_in_output = true
    },
  },
  {
    name: 'stop-token-text-never-kept',
    rule: 'include_stop_str_in_output keeps the text of the stop token',
    breaks: 'The text of a stop token is never in the content.',
    change: body => {
      if (body.stop_token_ids?.length > 0) delete body.include_stop_str_in_output
    },
  },
  {
    name: 'least-tokens-not-before-stop-tokens',
    rule: 'min_tokens before stop_token_ids end a choice',
    breaks: 'A stop token ends a choice before its least tokens.',
    change: body => {
      if (body.stop_token_ids?.length > 0) delete body.min_tokens
    },
  },
  {
    name: 'shortest-pattern-of-one',
    rule: 'repetition_detection looks for patterns of at least min_pattern_size',
    breaks: 'Patterns of one token count whatever min_pattern_size says.',
    change: ({ repetition_detection: detection }) => {
      if (detection?.min_pattern_size > 1) detection.min_pattern_size = 1
    },
  },
  {
    name: 'truncation-by-one-less',
    rule: 'truncate_prompt_tokens keeps a prompt that is short enough',
    breaks: 'A truncation above 4 keeps one token less than it says.',
    change: body => {
      if (body.truncate_prompt_tokens > 4) body.truncate_prompt_tokens--
    },
  },
  {
    name: 'prompt-alternatives-at-least-one',
    rule: 'prompt_logprobs 0 reports the token alone',
    breaks: 'prompt_logprobs of 0 is 1.',
    change: body => {
      if (body.prompt_logprobs === 0 && body.stream !== true) body.prompt_logprobs = 1
    },
  },
  {
    name: 'answers-in-a-history-dropped',
    rule: 'messages are the conversation so far',
    breaks: 'What the assistant said before is not read.',
    change: body => {
      const last = body.messages.length - 1
      body.messages = body.messages.filter(({ role }: Json, at: number) => role !== 'assistant' || at === last)
    },
  },
  {
    name: 'first-message-of-three-dropped',
    rule: 'messages are the conversation so far',
    breaks: 'Only the last two messages are read.',
    change: body => {
      body.messages = body.messages.slice(-2)
    },
  },
  {
    name: 'part-without-type-dropped',
    rule: 'messages: without a type {text} is text',
    breaks: 'Parts without a type are not read.',
    change: ({ messages }) => {
      for (const message of messages)
        if (Array.isArray(message.content))
          message.content = message.content.filter((part: Json) => typeof part === 'string' || part.type)
    },
  },
  {
    name: 'refusal-part-dropped',
    rule: 'messages: a part of type refusal is read as text',
    breaks: 'Refusals are not read.',
    change: ({ messages }) => {
      for (const message of messages)
        if (Array.isArray(message.content))
          message.content = message.content.filter(({ type }: Json) => type !== 'refusal')
    },
  },
  {
    name: 'choice-as-expression',
    rule: 'structured_outputs: choice is one of these texts',
    breaks: 'A choice is read as regular expressions.',
    change: ({ structured_outputs: rule }) => {
      if (!rule?.choice) return
      rule.regex = rule.choice.join('|')
      delete rule.choice
    },
  },
  {
    name: 'json-object-of-any-kind',
    rule: 'structured_outputs: json_object is any JSON object',
    breaks: 'With json_object any JSON value may come.',
    change: ({ structured_outputs: rule }) => {
      if (rule?.json_object !== true) return
      rule.json = { type: ['object', 'integer'] }
      delete rule.json_object
    },
  },
  ...['maxItems', 'pattern', 'maxLength', 'const', 'minimum'].map(keyword => ({
    name: `schema-${keyword.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}-ignored`,
    rule: 'structured_outputs: json is a schema that the text matches',
    breaks: `${keyword} in a schema has no effect.`,
    change: ({ structured_outputs: rule }: Json) => {
      if (typeof rule?.json === 'object') delete rule.json[keyword]
    },
  })),
]

export const chatMeaningFaults: Fault[] = MISREAD.map(({ change, rule, ...fault }) => ({
  ...fault,
  rule: `createChatCompletion: ${rule}`,
  ...whereGood(
    requestJson(CHAT, body => {
      // What is no conversation is refused all the same.
      if (Array.isArray(body.messages) && body.messages.every(isObject)) change(body)
    }),
  ),
}))
