/** Chats that are wrong in detail: what is refused, alternatives, and keys of a reply. */
import { isOf, type Json, replyJson, toError } from './change-replies.ts'
import { jsonOf, requestJson } from './change-requests.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

/** What is to be refused, and is taken as if it were not there: how to tell it, and what to leave out. */
const ACCEPTED: Readonly<Record<string, (body: Json) => boolean>> = {
  'json-object-false': ({ structured_outputs: rule }) => rule?.json_object === false,
  'empty-regex': ({ structured_outputs: rule }) => rule?.regex === '',
  'back-reference': ({ structured_outputs: rule }) => /\\1/.test(rule?.regex ?? ''),
  'look-ahead': ({ structured_outputs: rule }) => /\(\?=/.test(rule?.regex ?? ''),
  'blank-grammar': ({ structured_outputs: rule }) => rule?.grammar === ' ',
  'white-space-of-letters': ({ structured_outputs: rule }) => rule?.whitespace_pattern === 'x',
  'malformed-structural-tag': ({ structured_outputs: rule }) => rule?.structural_tag === '{',
  'long-request-id': ({ request_id }) => request_id?.length > 256,
  'long-salt': ({ cache_salt }) => cache_salt?.length > 128,
  ...Object.fromEntries(
    ['messages', 'tools', 'add_generation_prompt', 'continue_final_message'].map(name => [
      `variable-${name.replaceAll('_', '-')}`,
      ({ chat_template_kwargs }: Json) => chat_template_kwargs?.[name] !== undefined,
    ]),
  ),
  ...Object.fromEntries(
    ['input_audio', 'file'].map(type => [
      `part-${type.replaceAll('_', '-')}`,
      ({ messages }: Json) => JSON.stringify(messages ?? null).includes(`"type":"${type}"`),
    ]),
  ),
}

function leaveOut(body: Json): void {
  for (const field of ['structured_outputs', 'request_id', 'cache_salt', 'chat_template_kwargs']) delete body[field]
  for (const message of body.messages)
    if (Array.isArray(message.content))
      message.content = message.content.filter((part: Json) => typeof part === 'string' || part.type === 'text')
}

export const chatDetailFaults: Fault[] = [
  ...Object.entries(ACCEPTED).map(([what, isIt]) => ({
    name: `accepted-${what}`,
    rule: 'createChatCompletion 422: what is refused by name',
    breaks: `A chat is accepted with this: ${what.replaceAll('-', ' ')}.`,
    ...requestJson(CHAT, body => {
      if (Array.isArray(body.messages) && isIt(body)) leaveOut(body)
    }),
  })),
  {
    name: 'text-format-excludes-rules',
    rule: 'createChatCompletion: structured_outputs may stand beside a response_format of text',
    breaks: 'A response_format of text beside structured_outputs is a 422.',
    onRequest(request, context) {
      const body = isOf(CHAT, context) ? jsonOf(request) : undefined
      return body?.structured_outputs && body.response_format?.type === 'text'
        ? toError(422, 'two forms at once')
        : request
    },
  },
  {
    name: 'empty-model-unknown',
    rule: 'createChatCompletion: an empty model takes the default one',
    breaks: 'A model of the empty text is a 404.',
    onRequest: (request, context) =>
      isOf(CHAT, context) && jsonOf(request)?.model === '' ? toError(404, 'There is no such model.') : request,
  },
  {
    name: 'end-of-turn-not-in-ids',
    rule: 'createChatCompletion: token_ids have the end of turn too',
    breaks: 'The end of turn is in no token_ids, no logprobs and no count.',
    onReply(reply, request, context) {
      const asked = isOf(CHAT, context) ? jsonOf(request) : undefined
      if (!asked || asked.stop || asked.stop_token_ids || asked.structured_outputs || asked.use_beam_search)
        return reply
      const { onReply } = replyJson(CHAT, ({ choices, usage }) => {
        for (const choice of choices) {
          if (choice.finish_reason !== 'stop') continue
          choice.token_ids?.pop()
          choice.logprobs?.content?.pop()
          usage.completion_tokens--
          usage.total_tokens--
        }
      })
      return onReply(reply, request, context)
    },
  },
  {
    name: 'logprobs-in-bits',
    rule: 'createChatCompletion: logprobs are natural logarithms',
    breaks: 'Log-probabilities are to the base of 2.',
    ...eachToken(one => {
      one.logprob /= Math.LN2
    }),
  },
  {
    name: 'alternatives-ascend',
    rule: 'createChatCompletion: top_logprobs are most probable first',
    breaks: 'Alternatives come least probable first.',
    ...eachToken(({ top_logprobs }) => top_logprobs?.reverse()),
  },
  {
    name: 'alternatives-repeat',
    rule: 'createChatCompletion: top_logprobs are the most probable tokens',
    breaks: 'The fifth alternative is the fourth once more.',
    ...eachToken(({ top_logprobs }) => {
      if (top_logprobs?.length === 5) top_logprobs[4] = { ...top_logprobs[3] }
    }),
  },
  {
    name: 'alternatives-unasked',
    rule: 'createChatCompletion: top_logprobs are empty when none were asked for',
    breaks: 'Where no alternatives are asked for, each token is its own one.',
    ...eachToken(one => {
      if (one.top_logprobs?.length === 0)
        one.top_logprobs.push({ token: one.token, logprob: one.logprob, bytes: one.bytes })
    }),
  },
  {
    name: 'prompt-logprobs-not-by-rank',
    rule: 'createChatCompletion: prompt_logprobs have the rank of each token by probability',
    breaks: 'The tokens of the ranks 2 and 3 have the log-probabilities of each other.',
    ...replyJson(CHAT, ({ prompt_logprobs }) => {
      for (const place of prompt_logprobs ?? []) {
        const [second, third] = [2, 3].map(rank => Object.values<Json>(place ?? {}).find(one => one.rank === rank))
        if (second && third) [second.logprob, third.logprob] = [third.logprob, second.logprob]
      }
    }),
  },
  {
    name: 'null-keys-left-out',
    rule: 'createChatCompletion: every key is always sent',
    breaks: 'A completion has no service_tier and no kv_transfer_params.',
    ...replyJson(CHAT, ({ service_tier: _, kv_transfer_params: __, ...rest }) => rest),
  },
  {
    name: 'refusal-empty',
    rule: 'createChatCompletion: this service says null as refusal',
    breaks: 'The refusal of every message is an empty text.',
    ...replyJson(CHAT, ({ choices }) => {
      for (const { message } of choices) message.refusal = ''
    }),
  },
  {
    name: 'tool-calls-empty',
    rule: 'createChatCompletion: tool_calls are null',
    breaks: 'The tool_calls of every message are an empty list.',
    ...replyJson(CHAT, ({ choices }) => {
      for (const { message } of choices) message.tool_calls = []
    }),
  },
]

/** Changes each generated token and its alternatives. */
function eachToken(change: (one: Json) => unknown): Pick<Fault, 'onReply'> {
  return replyJson(CHAT, ({ choices }) => {
    for (const one of choices.flatMap(({ logprobs }: Json) => logprobs?.content ?? [])) {
      change(one)
      for (const other of one.top_logprobs) change(other)
    }
  })
}
