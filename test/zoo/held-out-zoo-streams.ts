/** Held-out faults in streamed chat completions. */
import { changeJson, type Fault, type ZooReply, type ZooRequest } from './fault.ts'
import {
  bodyOf,
  changeEvents,
  chatOperations as chat,
  isObject,
  type Json,
  numberOf,
  objectsOf,
  onBody,
  textOf,
} from './held-out-zoo-tools.ts'

/** A stream hook made of a change that may remember what it saw; made anew for each stream. */
function onChunks(start: (request: ZooRequest) => (chunk: Json) => Json[]): Fault['onEvents'] {
  return (pieces, request, context) =>
    chat.includes(context.operationId) ? changeEvents(pieces, start(request)) : pieces
}

function changeChoices(chunk: Json, change: (choice: Json) => Json): Json {
  return { ...chunk, choices: objectsOf(chunk['choices']).map(change) }
}

function deltaOf(choice: Json): Json {
  return isObject(choice['delta']) ? choice['delta'] : {}
}

function contentOf(choice: Json): string {
  return textOf(deltaOf(choice)['content'])
}

function isUsageChunk(chunk: Json): boolean {
  return Array.isArray(chunk['choices']) && chunk['choices'].length === 0 && 'usage' in chunk
}

export const streamFaults: Fault[] = [
  {
    name: 'held-role-in-every-chunk',
    rule: 'ChatCompletionDelta role: in the first chunk of each choice only',
    breaks: 'Every chunk that brings text says the role again.',
    onEvents: onChunks(() => chunk => [
      changeChoices(chunk, choice =>
        contentOf(choice) === '' ? choice : { ...choice, delta: { role: 'assistant', ...deltaOf(choice) } },
      ),
    ]),
  },
  {
    name: 'held-surrogate-pairs-split',
    rule: 'ChatCompletionDelta content: it never holds half a character',
    breaks: 'A character beyond the basic plane comes as two chunks with half of its surrogate pair each.',
    onEvents: onChunks(() => chunk => {
      const [choice] = objectsOf(chunk['choices'])
      const text = choice ? contentOf(choice) : ''
      const at = text.search(/[\uD800-\uDBFF][\uDC00-\uDFFF]/)
      if (!choice || at < 0) return [chunk]
      const part = (content: string) => ({ ...choice, delta: { content } })
      const first = { ...part(text.slice(0, at + 1)), logprobs: null, finish_reason: null, token_ids: null }
      return [
        { ...chunk, choices: [first] },
        { ...chunk, choices: [part(text.slice(at + 1))] },
      ]
    }),
  },
  {
    name: 'held-include-usage-off-by-default',
    rule: 'StreamOptions include_usage: default true',
    breaks: '`stream_options` without `include_usage` brings no usage chunk.',
    onRequest: onBody(chat, body => {
      const options = body['stream_options']
      if (!isObject(options) || options['include_usage'] !== undefined) return undefined
      return { ...body, stream_options: { ...options, include_usage: false } }
    }),
  },
  {
    name: 'held-usage-in-finishing-chunk',
    rule: 'createChatCompletion, the stream: with `include_usage`, a chunk with no choices and the usage',
    breaks: 'The usage comes in a chunk that repeats a choice with an empty delta.',
    onEvents: onChunks(() => chunk => {
      if (!isUsageChunk(chunk)) return [chunk]
      const choice = { index: 0, delta: {}, logprobs: null, finish_reason: null, stop_reason: null, token_ids: null }
      return [{ ...chunk, choices: [choice] }]
    }),
  },
  {
    name: 'held-only-first-choice-finishes',
    rule: 'ChatCompletionChunkChoice finish_reason: in exactly one chunk of each choice',
    breaks: 'Of several choices only the one of index 0 is told to have ended.',
    onEvents: onChunks(() => chunk => [
      changeChoices(chunk, choice => (choice['index'] === 0 ? choice : { ...choice, finish_reason: null })),
    ]),
  },
  {
    name: 'held-part-of-stop-text-streamed',
    rule: 'ChatCompletionDelta content: it never holds part of a stop text',
    breaks: 'The first character of the stop text was sent already when the text was recognised.',
    onEvents: onChunks(request => {
      const stop = bodyOf(request)['stop']
      const text = Array.isArray(stop) ? textOf(stop[0]) : textOf(stop)
      return chunk => [
        changeChoices(chunk, choice => {
          if (choice['finish_reason'] !== 'stop' || text.length < 2) return choice
          return { ...choice, delta: { ...deltaOf(choice), content: contentOf(choice) + text[0] } }
        }),
      ]
    }),
  },
  {
    name: 'held-end-of-turn-without-logprob',
    rule: 'ChatCompletionLogprobs content: one entry for each generated token in order, the end of turn included',
    breaks: 'A token that adds no text, such as the end of turn, has no log-probability.',
    onEvents: onChunks(() => chunk => [
      changeChoices(chunk, choice => (contentOf(choice) === '' ? { ...choice, logprobs: null } : choice)),
    ]),
  },
  {
    name: 'held-prompt-token-ids-repeated',
    rule: 'Interface, return_token_ids: in streaming, prompt_token_ids only in the first chunk',
    breaks: 'Every chunk has the ids of the prompt.',
    onEvents: onChunks(() => {
      let ids: unknown
      return chunk => {
        ids ??= chunk['prompt_token_ids']
        return [Array.isArray(ids) ? { ...chunk, prompt_token_ids: ids } : chunk]
      }
    }),
  },
  {
    name: 'held-token-ids-add-up',
    rule: 'Interface, return_token_ids: in streaming, token_ids carries the delta per chunk',
    breaks: '`token_ids` holds all ids of the choice so far.',
    onEvents: onChunks(() => {
      const soFar = new Map<unknown, unknown[]>()
      return chunk => [
        changeChoices(chunk, choice => {
          if (!Array.isArray(choice['token_ids'])) return choice
          const all = [...(soFar.get(choice['index']) ?? []), ...(choice['token_ids'] as unknown[])]
          soFar.set(choice['index'], all)
          return { ...choice, token_ids: all }
        }),
      ]
    }),
  },
  {
    name: 'held-continuous-usage-of-all-choices',
    rule: 'createChatCompletion, the stream: with `continuous_usage_stats` every chunk has the usage of its own choice',
    breaks: 'The usage in a chunk counts the tokens of all choices so far.',
    onEvents: onChunks(() => {
      const counts = new Map<unknown, number>()
      return chunk => {
        const [choice] = objectsOf(chunk['choices'])
        const usage = chunk['usage']
        if (!choice || !isObject(usage)) return [chunk]
        counts.set(choice['index'], numberOf(usage['completion_tokens']))
        const sum = [...counts.values()].reduce((a, b) => a + b, 0)
        const total = numberOf(usage['prompt_tokens']) + sum
        return [{ ...chunk, usage: { ...usage, completion_tokens: sum, total_tokens: total } }]
      }
    }),
  },
  {
    name: 'held-usage-chunk-has-own-id',
    rule: 'ChatCompletionChunk: `id`, `created` and `model` are the same in all chunks of a stream',
    breaks: 'The usage chunk has an id of its own.',
    onEvents: onChunks(() => chunk => [isUsageChunk(chunk) ? { ...chunk, id: `${textOf(chunk['id'])}-usage` } : chunk]),
  },
  {
    name: 'held-early-fault-inside-stream',
    rule: 'createChatCompletion, the stream: a fault found before the first token has its proper status',
    breaks: 'An unknown model is told by an event of a stream whose status is 200.',
    onReply(reply, request, context): ZooReply {
      if (!chat.includes(context.operationId) || reply.status !== 404) return reply
      if (bodyOf(request)['stream'] !== true) return reply
      const event = JSON.stringify({ error: bodyOf(reply)['error'] })
      const headers = { ...reply.headers, 'content-type': 'text/event-stream; charset=utf-8' }
      return { status: 200, headers, body: Buffer.from(`data: ${event}\n\ndata: [DONE]\n\n`) }
    },
  },
  {
    name: 'held-stream-without-own-type',
    rule: 'ChatCompletionRequest stream: the reply is a stream of server-sent events, `text/event-stream`',
    breaks: 'The stream is labelled `application/json`.',
    onReply(reply, _request, context) {
      if (!chat.includes(context.operationId) || reply.status !== 200) return reply
      if (!String(reply.headers['content-type']).startsWith('text/event-stream')) return reply
      return { ...reply, headers: { ...reply.headers, 'content-type': 'application/json; charset=utf-8' } }
    },
  },
  {
    name: 'held-stream-options-without-stream',
    rule: 'Schema ChatCompletionRequest stream_options: set without `stream` true, it is a 422',
    breaks: '`stream_options` is ignored where nothing is streamed.',
    onRequest: onBody(chat, body =>
      body['stream'] !== true && isObject(body['stream_options']) ? { ...body, stream_options: null } : undefined,
    ),
  },
  {
    name: 'held-hidden-token-ids-leak',
    rule: 'ChatCompletionRequest include_reasoning: with `false` log-probabilities and token ids are left out too',
    breaks: 'Only the reasoning is left out.',
    async onRequest(request, context) {
      const body = bodyOf(request)
      const asks = body['logprobs'] === true || body['return_token_ids'] === true
      if (!chat.includes(context.operationId) || body['include_reasoning'] !== false || !asks) return request
      if (body['stream'] === true) return request
      const shown = Buffer.from(JSON.stringify({ ...body, include_reasoning: true }))
      const headers = { ...request.headers, 'content-length': String(shown.length) }
      const reply = await context.send({ ...request, headers, body: shown })
      if (reply.status !== 200) return reply
      return changeJson<Json>(reply, completion =>
        changeChoices(completion, choice => ({
          ...choice,
          message: { ...(choice['message'] as Json), reasoning: null },
        })),
      )
    },
  },
]
