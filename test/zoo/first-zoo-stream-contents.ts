/** What the chunks of a stream hold, and how a stream goes wrong. */
import { isOf, type Json, toJsonReply } from './change-replies.ts'
import { jsonOf } from './change-requests.ts'
import { chunks, eventText, readChunk, toEvents, writeChunk } from './change-streams.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

function eachChoice(change: (choice: Json) => void): Pick<Fault, 'onEvents'> {
  return chunks(chunk => {
    for (const choice of chunk.choices ?? []) change(choice)
  })
}

export const streamContentFaults: Fault[] = [
  {
    name: 'sse-id-drift',
    rule: 'createChatCompletion, the stream: chunks of one completion have its id',
    breaks: 'Each chunk has an id of its own.',
    ...chunks((chunk, { index }) => ({ ...chunk, id: `${chunk.id}-${index}` })),
  },
  {
    name: 'sse-created-drift',
    rule: 'createChatCompletion, the stream: chunks of one completion were created with it',
    breaks: 'created rises with each chunk.',
    ...chunks((chunk, { index }) => ({ ...chunk, created: chunk.created + index })),
  },
  {
    name: 'sse-model-drift',
    rule: 'createChatCompletion, the stream: chunks of one completion have its model',
    breaks: 'Only the first chunk has the model that was asked for.',
    ...chunks((chunk, { index }) => (index === 0 ? chunk : { ...chunk, model: 'model' })),
  },
  {
    name: 'sse-model-not-echoed',
    rule: 'schema ChatCompletionChunk: model as it was asked for',
    breaks: 'The model of every chunk is another name.',
    ...chunks(chunk => ({ ...chunk, model: 'base-model' })),
  },
  {
    name: 'sse-created-ms',
    rule: 'Ids, times and null: created is Unix seconds',
    breaks: 'The created of chunks is in milliseconds.',
    ...chunks(chunk => ({ ...chunk, created: chunk.created * 1000 })),
  },
  {
    name: 'sse-buffered',
    rule: 'createChatCompletion, the stream: chunks come as they are generated',
    breaks: 'The whole stream comes in one piece at its end.',
    async *onEvents(pieces) {
      const all: Buffer[] = []
      for await (const piece of pieces) all.push(piece)
      yield Buffer.concat(all)
    },
  },
  {
    name: 'sse-faked',
    rule: 'createChatCompletion, the stream: chunks come as they are generated',
    breaks: 'The stream begins when everything is generated, and then comes in pieces.',
    async *onEvents(pieces) {
      const all: string[] = []
      for await (const event of toEvents(pieces)) all.push(event)
      for (const event of all) {
        yield Buffer.from(event)
        await new Promise(resolve => setImmediate(resolve))
      }
    },
  },
  {
    name: 'sse-cut',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: 'Streams end in the middle of their fourth event.',
    async *onEvents(pieces) {
      let count = 0
      for await (const event of toEvents(pieces)) {
        if (count++ === 3) {
          yield Buffer.from(event.slice(0, event.length / 2))
          return
        }
        yield Buffer.from(event)
      }
    },
  },
  {
    name: 'sse-broken-off',
    rule: 'createChatCompletion, the stream: last the literal `data: [DONE]`',
    breaks: 'The connection breaks off after the third event.',
    async *onEvents(pieces) {
      let count = 0
      for await (const event of toEvents(pieces)) {
        if (count++ === 3) throw new Error('broken off')
        yield Buffer.from(event)
      }
    },
  },
  {
    name: 'sse-text-lost',
    rule: 'createChatCompletion, the stream: the text that a reply without stream has',
    breaks: 'The second chunk with text of each stream is lost.',
    ...chunks((chunk, { memory }) => {
      if (!chunk.choices?.[0]?.delta?.content) return chunk
      const seen = (memory.get('texts') ?? 0) + 1
      memory.set('texts', seen)
      return seen === 2 && chunk.choices[0].finish_reason === null ? null : chunk
    }),
  },
  {
    name: 'sse-text-cumulative',
    rule: 'createChatCompletion, the stream: a delta is what is new',
    breaks: 'Each delta has the whole text so far.',
    ...chunks((chunk, { memory }) => {
      for (const { index, delta } of chunk.choices ?? []) {
        memory.set(`${index}`, (memory.get(`${index}`) ?? '') + (delta.content ?? ''))
        if (delta.content) delta.content = memory.get(`${index}`)
      }
    }),
  },
  {
    name: 'sse-choices-mixed',
    rule: 'schema ChatCompletionChunkChoice: index is the number of the choice',
    breaks: 'All choices of a stream have the index 0.',
    ...eachChoice(choice => {
      choice.index = 0
    }),
  },
  {
    name: 'sse-prompt-ids-always',
    rule: 'createChatCompletion, the stream: the very first chunk has prompt_token_ids',
    breaks: 'Every chunk has prompt_token_ids.',
    ...chunks((chunk, { memory }) => {
      if (chunk.prompt_token_ids) memory.set('ids', chunk.prompt_token_ids)
      return memory.has('ids') ? { ...chunk, prompt_token_ids: memory.get('ids') } : chunk
    }),
  },
  {
    name: 'sse-prompt-ids-missing',
    rule: 'createChatCompletion, the stream: the very first chunk has prompt_token_ids',
    breaks: 'No chunk has prompt_token_ids.',
    ...chunks(({ prompt_token_ids: _, ...rest }) => rest),
  },
  {
    name: 'sse-logprobs-missing',
    rule: 'createChatCompletion, the stream: chunks with log-probabilities',
    breaks: 'Chunks have no log-probabilities.',
    ...eachChoice(choice => {
      choice.logprobs = null
    }),
  },
  {
    name: 'sse-token-ids-missing',
    rule: 'createChatCompletion, the stream: chunks with token ids',
    breaks: 'Chunks have no token ids.',
    ...eachChoice(choice => {
      choice.token_ids = null
    }),
  },
  {
    name: 'sse-two-objects',
    rule: 'createChatCompletion, the stream: each event is one JSON object',
    breaks: 'Two JSON objects come in one event.',
    ...eventText(event => (readChunk(event) === undefined ? event : event.replace(/\n\n$/, `\n${event}`))),
  },
  {
    name: 'sse-refused-late',
    rule: 'createChatCompletion, the stream: a fault found before the first token has its proper status',
    breaks: 'A refused stream is a 200 with an error event.',
    onReply: (reply, request, context) =>
      isOf(CHAT, context) && reply.status >= 400 && jsonOf(request)?.stream === true
        ? {
            status: 200,
            headers: { ...reply.headers, 'content-type': 'text/event-stream' },
            body: Buffer.from(
              `${writeChunk({ error: JSON.parse(reply.body.toString('utf8')).error })}data: [DONE]\n\n`,
            ),
          }
        : reply,
  },
  {
    name: 'sse-error-midway',
    rule: 'createChatCompletion, the stream: no error where generation did not fail',
    breaks: 'An error event comes instead of the fifth event, then `[DONE]`.',
    async *onEvents(pieces) {
      let count = 0
      for await (const event of toEvents(pieces)) {
        if (count++ < 4) yield Buffer.from(event)
        else break
      }
      yield Buffer.from(`data: {"error":{"message":"failed","type":"server_error","param":null,"code":null}}\n\n`)
      yield Buffer.from('data: [DONE]\n\n')
    },
  },
  {
    name: 'sse-failure-hidden',
    rule: 'createChatCompletion, the stream: when generation fails midway an error event comes',
    breaks: 'A stream that fails midway ends as if all were well.',
    needs: ['inside'],
    ...chunks(chunk => (chunk.error === undefined ? chunk : null)),
  },
  {
    name: 'sse-failure-without-done',
    rule: 'createChatCompletion, the stream: an error event, then `[DONE]`',
    breaks: 'A stream that fails midway has no `[DONE]`.',
    needs: ['inside'],
    async *onEvents(pieces) {
      for await (const event of toEvents(pieces)) {
        yield Buffer.from(event)
        if (event.includes('"error"')) return
      }
    },
  },
  {
    name: 'abandoned-stream-blocks',
    rule: 'createChatCompletion, the stream: a client that goes away stops the generation',
    breaks: 'After a client left a stream, chats are refused as too many.',
    async *onEvents(pieces, _, { memory }) {
      let isWhole = false
      try {
        for await (const piece of pieces) yield piece
        isWhole = true
      } finally {
        if (!isWhole) memory.set('left', true)
      }
    },
    onRequest: (request, context) =>
      isOf(CHAT, context) && context.memory.has('left')
        ? toJsonReply(429, { detail: 'busy', error: { message: 'busy', type: 'x', param: null, code: null } })
        : request,
  },
]
