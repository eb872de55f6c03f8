/** Streams of chat completions that are not framed, ordered or ended as they must be. */
import type { Json } from './change-replies.ts'
import { requestJson, whereGood } from './change-requests.ts'
import { chunks, eventText, isDone, toEvents } from './change-streams.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

function eachChoice(change: (choice: Json) => void): Pick<Fault, 'onEvents'> {
  return chunks(chunk => {
    for (const choice of chunk.choices ?? []) change(choice)
  })
}

function isUsageOnly(chunk: Json): boolean {
  return chunk?.choices?.length === 0
}

export const streamFaults: Fault[] = [
  {
    name: 'sse-ignored',
    rule: 'createChatCompletion: stream gives events instead of one body',
    breaks: 'stream has no effect.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (body.stream === true) {
          body.stream = false
          delete body.stream_options
        }
      }),
    ),
  },
  {
    name: 'sse-ct',
    rule: 'createChatCompletion 200: text/event-stream',
    breaks: 'Streams are sent as text/plain.',
    onReply: reply =>
      String(reply.headers['content-type']).startsWith('text/event-stream')
        ? { ...reply, headers: { ...reply.headers, 'content-type': 'text/plain; charset=utf-8' } }
        : reply,
  },
  {
    name: 'sse-framing',
    rule: 'createChatCompletion, the stream: events end with a blank line',
    breaks: 'Events are separated by one line break only.',
    ...eventText(event => event.replace(/\n\n$/, '\n')),
  },
  {
    name: 'sse-json-lines',
    rule: 'createChatCompletion, the stream: each event is a line `data: `',
    breaks: 'Events are lines of JSON without `data: `.',
    ...eventText(event => event.replace(/^data: /, '')),
  },
  {
    name: 'sse-named-events',
    rule: 'createChatCompletion, the stream: each event is a line `data: ` with one JSON object',
    breaks: 'Events have a name, so that readers of plain messages get none.',
    ...eventText(event => `event: chunk\n${event}`),
  },
  {
    name: 'sse-chunk-schema',
    rule: 'schema ChatCompletionChunkChoice: delta is required',
    breaks: 'Choices of chunks have a message instead of a delta.',
    ...eachChoice(choice => {
      choice.message = choice.delta
      delete choice.delta
    }),
  },
  {
    name: 'sse-object',
    rule: 'schema ChatCompletionChunk: object is chat.completion.chunk',
    breaks: 'The object of chunks is chat.completion.',
    ...chunks(chunk => ({ ...chunk, object: 'chat.completion' })),
  },
  {
    name: 'sse-usage',
    rule: 'createChatCompletion, the stream: a chunk with the usage when include_usage is set',
    breaks: 'The chunk with the usage never comes.',
    ...chunks(chunk => (isUsageOnly(chunk) ? null : chunk)),
  },
  {
    name: 'sse-usage-always',
    rule: 'createChatCompletion, the stream: a chunk with the usage only when include_usage is set',
    breaks: 'The chunk with the usage comes unasked.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (body.stream === true) body.stream_options = { include_usage: true, ...body.stream_options }
      }),
    ),
  },
  {
    name: 'sse-usage-in-every-chunk',
    rule: 'createChatCompletion, the stream: usage so far only with continuous_usage_stats',
    breaks: 'Every chunk has a usage.',
    ...chunks(chunk => ({
      ...chunk,
      usage: chunk.usage ?? { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1, prompt_tokens_details: null },
    })),
  },
  {
    name: 'sse-usage-of-nothing',
    rule: 'createChatCompletion, the stream: the usage counts the tokens',
    breaks: 'The usage of a stream counts no completion tokens.',
    ...chunks(chunk => {
      if (chunk.usage) chunk.usage = { ...chunk.usage, completion_tokens: 0, total_tokens: chunk.usage.prompt_tokens }
    }),
  },
  {
    name: 'continuous-usage-ignored',
    rule: 'createChatCompletion, the stream: continuous_usage_stats',
    breaks: 'continuous_usage_stats has no effect.',
    ...whereGood(
      requestJson(CHAT, body => {
        if (body.stream_options?.continuous_usage_stats === true) body.stream_options.continuous_usage_stats = false
      }),
    ),
  },
  {
    name: 'sse-no-done',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: '`[DONE]` never comes.',
    ...eventText(event => (isDone(event) ? '' : event)),
  },
  {
    name: 'sse-done-twice',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: '`[DONE]` comes twice.',
    ...eventText(event => (isDone(event) ? event + event : event)),
  },
  {
    name: 'sse-done-lower-case',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: 'The end is `[done]`.',
    ...eventText(event => (isDone(event) ? 'data: [done]\n\n' : event)),
  },
  {
    name: 'sse-event-after-done',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: 'A chunk comes behind `[DONE]`.',
    async *onEvents(pieces) {
      let last = ''
      for await (const event of toEvents(pieces)) {
        yield Buffer.from(event)
        if (isDone(event)) yield Buffer.from(last)
        last = event
      }
    },
  },
  {
    name: 'sse-no-finish',
    rule: 'createChatCompletion, the stream: for each choice one chunk with a finish_reason',
    breaks: 'No chunk has a finish_reason.',
    ...eachChoice(choice => {
      choice.finish_reason = null
    }),
  },
  {
    name: 'sse-finish-early',
    rule: 'createChatCompletion, the stream: one chunk with a finish_reason, the last of its choice',
    breaks: 'Every chunk has a finish_reason.',
    ...eachChoice(choice => {
      choice.finish_reason ??= 'stop'
    }),
  },
  {
    name: 'sse-finish-differs',
    rule: 'createChatCompletion, the stream: the finish_reason of the answer',
    breaks: 'The finish_reason of a stream is always `stop`.',
    ...eachChoice(choice => {
      if (choice.finish_reason !== null) choice.finish_reason = 'stop'
    }),
  },
  {
    name: 'sse-no-role',
    rule: 'createChatCompletion, the stream: first a chunk with the role',
    breaks: 'No chunk has a role.',
    ...eachChoice(choice => {
      delete choice.delta.role
    }),
  },
  {
    name: 'sse-role-always',
    rule: 'createChatCompletion, the stream: first a chunk with the role',
    breaks: 'Every chunk has the role.',
    ...eachChoice(choice => {
      choice.delta.role = 'assistant'
    }),
  },
]
