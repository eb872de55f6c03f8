/** Chat completions that are not what was asked for. Fields that have no effect are a file of their own. */
import { isOf, type Json, replyItems, replyJson, toError, toJsonReply } from './change-replies.ts'
import { jsonOf, requestJson, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

function eachChoice(change: (choice: Json) => void): Pick<Fault, 'onReply'> {
  return replyJson(CHAT, body => {
    for (const choice of body.choices) change(choice)
  })
}

export const chatFaults: Fault[] = [
  {
    name: 'slash-missing',
    rule: 'createChatCompletionSlash: the same operation with a slash',
    breaks: 'The path with the slash is not there.',
    onRequest: (request, context) => (isOf('createChatCompletionSlash', context) ? toError(404, 'Not found') : request),
  },
  {
    name: 'slash-redirects',
    rule: 'createChatCompletionSlash: never by a redirect',
    breaks: 'The path with the slash is redirected to the other one.',
    onRequest: (request, context) =>
      isOf('createChatCompletionSlash', context)
        ? {
            status: 307,
            headers: {
              location: request.path.replace(/\/$/, ''),
              'x-request-id': '01990c5e-0000-7000-8000-00000000000f',
            },
            body: Buffer.alloc(0),
          }
        : request,
  },
  {
    name: 'slash-no-stream',
    rule: 'createChatCompletionSlash: the same operation with a slash',
    breaks: 'The path with the slash never streams.',
    ...whereGood(
      requestJson('createChatCompletionSlash', body => {
        delete body.stream
        delete body.stream_options
      }),
    ),
  },
  {
    name: 'slash-other-defaults',
    rule: 'createChatCompletionSlash: the same operation with a slash',
    breaks: 'The path with the slash gives one choice whatever n is.',
    ...whereGood(
      requestJson('createChatCompletionSlash', body => {
        if (body.n > 1) body.n = 1
      }),
    ),
  },
  {
    name: 'index-zero',
    rule: 'schema ChatCompletionChoice: index is the number of the choice',
    breaks: 'The index of every choice is 0.',
    ...eachChoice(choice => {
      choice.index = 0
    }),
  },
  {
    name: 'usage-sum',
    rule: 'schema ChatCompletionUsage: total_tokens is the sum of both',
    breaks: 'total_tokens is one too many.',
    ...replyJson(CHAT, body => {
      body.usage.total_tokens++
    }),
  },
  {
    name: 'usage-of-the-first-choice',
    rule: 'schema ChatCompletionUsage: completion_tokens of all choices',
    breaks: 'completion_tokens counts the first choice only.',
    ...replyJson(CHAT, body => {
      const { usage, choices } = body
      if (choices.length > 1) {
        usage.completion_tokens = choices[0].token_ids?.length ?? Math.floor(usage.completion_tokens / choices.length)
        usage.total_tokens = usage.prompt_tokens + usage.completion_tokens
      }
    }),
  },
  {
    name: 'usage-missing',
    rule: 'schema ChatCompletion: usage is required',
    breaks: 'Completions have no usage.',
    ...replyJson(CHAT, ({ usage: _, ...rest }) => rest),
  },
  {
    name: 'model-not-echoed',
    rule: 'schema ChatCompletion: model as it was asked for',
    breaks: 'The model of a completion is the name of the base model.',
    ...replyJson(CHAT, body => ({ ...body, model: 'base-model' })),
  },
  {
    name: 'model-resolved',
    rule: 'schema ChatCompletion: model as it was asked for',
    breaks: 'The model of a completion is the URI with the step that answered.',
    ...replyJson(CHAT, body => ({
      ...body,
      model: /:\/\/\/?[^:]+$/.test(body.model) ? `${body.model}:step0` : body.model,
    })),
  },
  {
    name: 'created-ms',
    rule: 'Ids, times and null: created is Unix seconds',
    breaks: 'The created of a completion is in milliseconds.',
    ...replyJson(CHAT, body => ({ ...body, created: body.created * 1000 })),
  },
  {
    name: 'model-created-ms',
    rule: 'Ids, times and null: created is Unix seconds',
    breaks: 'The created of a listed model is in milliseconds.',
    ...replyItems('listInferenceModels listRouterModels', item => ({ ...item, created: item.created * 1000 })),
  },
  {
    name: 'id-constant',
    rule: 'schema ChatCompletion: id is random unless request_id says it',
    breaks: 'Every completion has the same id.',
    ...replyJson(CHAT, body => ({ ...body, id: 'chatcmpl-1' })),
  },
  {
    name: 'role-missing',
    rule: 'schema ChatCompletionMessage: role is required',
    breaks: 'Messages of choices have no role.',
    ...eachChoice(choice => {
      delete choice.message.role
    }),
  },
  {
    name: 'finish-always-stop',
    rule: 'schema ChatCompletionChoice: finish_reason is `length` at the limit',
    breaks: 'finish_reason is always `stop`.',
    ...eachChoice(choice => {
      choice.finish_reason = 'stop'
    }),
  },
  {
    name: 'finish-always-length',
    rule: 'schema ChatCompletionChoice: finish_reason is `stop` at the end of turn or a stop text',
    breaks: 'finish_reason is always `length`.',
    ...eachChoice(choice => {
      choice.finish_reason = 'length'
    }),
  },
  {
    name: 'stop-reason-text',
    rule: 'schema ChatCompletionChoice: stop_reason is a token id or null',
    breaks: 'stop_reason says `stop`.',
    ...eachChoice(choice => {
      if (choice.finish_reason === 'stop') choice.stop_reason = 'stop'
    }),
  },
  {
    name: 'logprobs-always-off',
    rule: 'createChatCompletion: logprobs',
    breaks: 'No choice has log-probabilities.',
    ...eachChoice(choice => {
      choice.logprobs = null
    }),
  },
  {
    name: 'logprobs-positive',
    rule: 'createChatCompletion: logprobs are logarithms of probabilities',
    breaks: 'Log-probabilities have the wrong sign.',
    ...eachChoice(choice => {
      for (const entry of choice.logprobs?.content ?? []) entry.logprob = -entry.logprob
    }),
  },
  {
    name: 'logprobs-shape',
    rule: 'schema TokenLogprob: bytes is a list of integers',
    breaks: 'The bytes of a token are a string.',
    ...eachChoice(choice => {
      for (const entry of choice.logprobs?.content ?? [])
        entry.bytes = Buffer.from(entry.bytes ?? []).toString('base64')
    }),
  },
  {
    name: 'logprobs-one-short',
    rule: 'createChatCompletion: log-probability of each token',
    breaks: 'The last token has no log-probability.',
    ...eachChoice(choice => {
      choice.logprobs?.content?.pop()
    }),
  },
  {
    name: 'top-logprobs-one-short',
    rule: 'createChatCompletion: top_logprobs is the number of alternatives',
    breaks: 'One alternative fewer comes than was asked for.',
    ...eachChoice(choice => {
      for (const entry of choice.logprobs?.content ?? []) entry.top_logprobs?.pop()
    }),
  },
  {
    name: 'top-logprobs-unsorted',
    rule: 'createChatCompletion: alternatives, the most probable first',
    breaks: 'Alternatives come with the least probable one first.',
    ...eachChoice(choice => {
      for (const entry of choice.logprobs?.content ?? []) entry.top_logprobs?.reverse()
    }),
  },
  {
    name: 'logprobs-of-the-sampler',
    rule: 'createChatCompletion: log-probabilities are those of the model, before temperature',
    breaks: 'Log-probabilities are divided by the temperature.',
    onReply: (reply, request, context) => {
      const temperature = isOf(CHAT, context) ? Number(jsonOf(request)?.temperature ?? 1) : 1
      if (reply.status !== 200 || reply.body.length === 0 || temperature === 1 || temperature === 0) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      for (const choice of body.choices)
        for (const entry of choice.logprobs?.content ?? []) entry.logprob /= temperature
      return toJsonReply(200, body)
    },
  },
]
