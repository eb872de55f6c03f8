/** Held-out faults in chat completions that come as one body. */
import { changeJson, type Fault, type ZooReply } from './fault.ts'
import {
  beside,
  bodyOf,
  chatOperations as chat,
  isObject,
  type Json,
  numberOf,
  objectsOf,
  onSuccess,
  textOf,
  withBody,
} from './held-out-zoo-tools.ts'

function changeChoices(completion: Json, change: (choice: Json) => Json): Json {
  return { ...completion, choices: objectsOf(completion['choices']).map(change) }
}

function changeTokens(choice: Json, change: (token: Json) => Json): Json {
  const logprobs = choice['logprobs']
  if (!isObject(logprobs)) return choice
  return { ...choice, logprobs: { ...logprobs, content: objectsOf(logprobs['content']).map(change) } }
}

function contentOf(choice: Json): string {
  return isObject(choice['message']) ? textOf(choice['message']['content']) : ''
}

export const chatFaults: Fault[] = [
  {
    name: 'held-deprecated-limit-ends-as-stop',
    rule: 'ChatCompletionChoice finish_reason: `length` at the token limit',
    breaks: 'A choice that ends at the limit of the deprecated `max_tokens` says `stop`.',
    onReply: onSuccess(chat, (completion, request) => {
      const body = bodyOf(request)
      if (body['max_completion_tokens'] != null || body['max_tokens'] == null) return completion
      return changeChoices(completion, choice =>
        choice['finish_reason'] === 'length' ? { ...choice, finish_reason: 'stop' } : choice,
      )
    }),
  },
  {
    name: 'held-usage-of-first-choice',
    rule: 'ChatCompletionUsage completion_tokens: generated tokens of all choices',
    breaks: 'With `n` above 1 `completion_tokens` is about that of one choice.',
    onReply: onSuccess(chat, (completion, request) => {
      const n = numberOf(bodyOf(request)['n'])
      const usage = completion['usage']
      if (n < 2 || !isObject(usage)) return completion
      const completionTokens = Math.ceil(numberOf(usage['completion_tokens']) / n)
      const totalTokens = numberOf(usage['prompt_tokens']) + completionTokens
      return { ...completion, usage: { ...usage, completion_tokens: completionTokens, total_tokens: totalTokens } }
    }),
  },
  {
    name: 'held-logprobs-after-temperature',
    rule: 'TokenLogprob logprob: probability under the model, before temperature and filters',
    breaks: 'Log-probabilities are those of the logits divided by the temperature.',
    onReply: onSuccess(chat, (completion, request) => {
      const temperature = numberOf(bodyOf(request)['temperature'])
      if (temperature < 0.00001) return completion
      const scale = (token: Json) => ({ ...token, logprob: Math.max(-9999, numberOf(token['logprob']) / temperature) })
      return changeChoices(completion, choice =>
        changeTokens(choice, token => ({
          ...scale(token),
          top_logprobs: objectsOf(token['top_logprobs']).map(scale),
        })),
      )
    }),
  },
  {
    name: 'held-alternatives-without-the-token',
    rule: 'TokenLogprob top_logprobs: the `top_logprobs` most probable tokens at this place, most probable first',
    breaks: 'The token that was drawn is left out of its own alternatives, and the next one takes its place.',
    async onRequest(request, context) {
      const body = bodyOf(request)
      const wanted = numberOf(body['top_logprobs'])
      if (!chat.includes(context.operationId) || body['stream'] === true || wanted < 1 || wanted > 19) return request
      const reply = await context.send(withBody(request, { ...body, top_logprobs: wanted + 1 }))
      if (reply.status !== 200) return reply
      return changeJson<Json>(reply, completion =>
        changeChoices(completion, choice =>
          changeTokens(choice, token => ({
            ...token,
            top_logprobs: objectsOf(token['top_logprobs'])
              .filter(other => String(other['bytes']) !== String(token['bytes']))
              .slice(0, wanted),
          })),
        ),
      )
    },
  },
  {
    name: 'held-bytes-of-shown-token',
    rule: "TokenLogprob bytes: the token's bytes, where the token shows bytes that are no whole character as U+FFFD",
    breaks: '`bytes` encodes the shown text, so half a character has the bytes of U+FFFD.',
    onReply: onSuccess(chat, completion =>
      changeChoices(completion, choice =>
        changeTokens(choice, token =>
          textOf(token['token']).includes('\uFFFD')
            ? { ...token, bytes: [...Buffer.from(textOf(token['token']))] }
            : token,
        ),
      ),
    ),
  },
  {
    name: 'held-prompt-logprobs-skip-first',
    rule: 'ChatCompletion prompt_logprobs: one entry for each token of the prompt; the first token has none, null',
    breaks: 'The entry of the first token is missing, so the list is one shorter than the prompt.',
    onReply: onSuccess(chat, completion =>
      Array.isArray(completion['prompt_logprobs'])
        ? { ...completion, prompt_logprobs: completion['prompt_logprobs'].slice(1) }
        : completion,
    ),
  },
  {
    name: 'held-id-of-body-wins',
    rule: 'ChatCompletion id: `chatcmpl-` followed by the header `x-request-id` when sent, else by `request_id`',
    breaks: '`request_id` of the body wins over the header.',
    onReply: onSuccess(chat, (completion, request) => {
      const id = bodyOf(request)['request_id']
      return typeof id === 'string' && id !== '' ? { ...completion, id: `chatcmpl-${id}` } : completion
    }),
  },
  {
    name: 'held-choices-as-they-finish',
    rule: 'ChatCompletion choices: in order of their index',
    breaks: 'Choices stand in the order in which they finished, the shortest first.',
    onReply: onSuccess(chat, completion => ({
      ...completion,
      choices: objectsOf(completion['choices']).toSorted((a, b) => contentOf(a).length - contentOf(b).length),
    })),
  },
  {
    name: 'held-stop-reason-of-end-of-turn',
    rule: 'ChatCompletionChoice stop_reason: one of `stop_token_ids`, or null when it ended otherwise',
    breaks: "A choice that ends at the model's own end of turn gives the id of that token.",
    onReply: onSuccess(chat, (completion, request) => {
      if (bodyOf(request)['stop'] != null) return completion
      return changeChoices(completion, choice => {
        const last: unknown = Array.isArray(choice['token_ids']) ? choice['token_ids'].at(-1) : undefined
        if (choice['finish_reason'] !== 'stop' || choice['stop_reason'] !== null || last === undefined) return choice
        return { ...choice, stop_reason: last }
      })
    }),
  },
  {
    name: 'held-token-ids-without-end-of-turn',
    rule: 'ChatCompletionChoice token_ids: ids of the generated tokens, the end of turn included',
    breaks: 'The last id is missing where a choice stops.',
    onReply: onSuccess(chat, completion =>
      changeChoices(completion, choice =>
        choice['finish_reason'] === 'stop' && Array.isArray(choice['token_ids'])
          ? { ...choice, token_ids: choice['token_ids'].slice(0, -1) }
          : choice,
      ),
    ),
  },
  {
    name: 'held-echo-of-any-role',
    rule: 'Interface, echo: prepended with the last message if both have the same role',
    breaks: "The last message comes first even where it is the user's and the answer the assistant's.",
    onReply: onSuccess(chat, (completion, request) => {
      const body = bodyOf(request)
      const last = objectsOf(body['messages']).at(-1)
      if (body['echo'] !== true || last?.['role'] !== 'user') return completion
      return changeChoices(completion, choice => {
        const message = choice['message'] as Json
        if (message['role'] === 'user') return choice
        return { ...choice, message: { ...message, content: textOf(last['content']) + contentOf(choice) } }
      })
    }),
  },
  {
    name: 'held-slash-redirects',
    rule: 'createChatCompletionSlash: answered here, never by a redirect',
    breaks: 'The path with a slash answers 308 with the address without it.',
    onReply(reply, request, context): ZooReply {
      if (context.operationId !== 'createChatCompletionSlash' || reply.status !== 200) return reply
      const location = beside(request, '/v1/chat/completions')
      return {
        status: 308,
        headers: { location, 'x-request-id': reply.headers['x-request-id'], 'content-type': 'text/plain' },
        body: Buffer.from('Moved'),
      }
    },
  },
]
