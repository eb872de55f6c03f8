/** Streams of chats that are wrong in detail: what differs from whole replies, and what single chunks hold. */
import { replyJson } from './change-replies.ts'
import { jsonOf, requestJson, whereGood } from './change-requests.ts'
import { chunks, readChunk, toEvents } from './change-streams.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

/** Fields that whole replies heed. */
const NOT_IN_STREAMS = [
  'return_tokens_as_token_ids',
  'skip_special_tokens',
  'include_stop_str_in_output',
  'repetition_detection',
  'use_beam_search',
  'include_reasoning',
]

export const chatStreamDetailFaults: Fault[] = [
  ...NOT_IN_STREAMS.map(field => ({
    name: `sse-${field.replaceAll('_', '-')}-ignored`,
    rule: 'createChatCompletion, the stream: put together it is what the same request gives as one body',
    breaks: `${field} has no effect on a stream.`,
    ...whereGood(
      requestJson(CHAT, body => {
        if (body.stream === true) delete body[field]
      }),
    ),
  })),
  {
    name: 'sse-role-always-assistant',
    rule: 'createChatCompletion, the stream: first a chunk with the role',
    breaks: 'The role in a stream is always that of the assistant.',
    ...chunks(chunk => {
      for (const { delta } of chunk.choices ?? []) if (delta.role) delta.role = 'assistant'
    }),
  },
  {
    name: 'sse-trained-without-tokens',
    rule: 'createChatCompletion: on a trained model every choice carries logprobs and token_ids',
    breaks: 'A stream of a trained model has no tokens unless they are asked for.',
    ...chunks((chunk, { request }) => {
      for (const choice of chunk.choices ?? []) {
        if (request.return_token_ids !== true) choice.token_ids = null
        if (request.logprobs !== true) choice.logprobs = null
      }
    }),
  },
  {
    name: 'sse-logprobs-late',
    rule: 'createChatCompletion, the stream: log-probabilities of the tokens that a chunk adds',
    breaks: 'All log-probabilities of a choice come in its last chunk.',
    ...chunks((chunk, { memory }) => {
      for (const choice of chunk.choices ?? []) {
        const key = `${choice.index}`
        if (!choice.logprobs?.content) continue
        const all = [...(memory.get(key) ?? []), ...choice.logprobs.content]
        memory.set(key, all)
        choice.logprobs = null
      }
      for (const choice of chunk.choices ?? [])
        if (choice.finish_reason !== null && memory.has(`${choice.index}`))
          choice.logprobs = { content: memory.get(`${choice.index}`), refusal: null }
    }),
  },
  {
    name: 'sse-running-usage-without-prompt',
    rule: 'createChatCompletion, the stream: every chunk has the usage so far',
    breaks: 'Only the last chunk counts the prompt.',
    ...chunks(chunk => {
      if (!chunk.usage || chunk.choices.length === 0) return
      chunk.usage.prompt_tokens = 0
      chunk.usage.total_tokens = chunk.usage.completion_tokens
    }),
  },
  {
    name: 'sse-running-total-of-the-prompt',
    rule: 'createChatCompletion, the stream: total_tokens is the sum of prompt and completion tokens',
    breaks: 'The running total stays at the tokens of the prompt.',
    ...chunks(chunk => {
      if (chunk.usage && chunk.choices.length > 0) chunk.usage.total_tokens = chunk.usage.prompt_tokens
    }),
  },
  {
    name: 'sse-request-id-ignored',
    rule: 'createChatCompletion: request_id is the end of the id, in a stream too',
    breaks: 'The id of a stream is a random one, whatever the request says.',
    ...chunks((chunk, { memory }) => {
      if (!memory.has('id')) memory.set('id', `chatcmpl-${crypto.randomUUID()}`)
      chunk.id = memory.get('id')
    }),
  },
  {
    name: 'sse-request-id-before-header',
    rule: 'createChatCompletion: the header x-request-id goes before request_id, in a stream too',
    breaks: 'The id of a stream is that of the body where the header has one too.',
    ...chunks((chunk, { request }) => {
      if (typeof request.request_id === 'string') chunk.id = `chatcmpl-${request.request_id}`
    }),
  },
  {
    name: 'completion-ids-repeat',
    rule: 'createChatCompletion: the id is a random one when none is sent',
    breaks: 'Completions without an id of their own all have the same.',
    ...replyJson(CHAT, body => {
      if (/^chatcmpl-[0-9a-f-]{36}$/.test(body.id)) body.id = 'chatcmpl-01990c5e-0000-7000-8000-00000000000a'
    }),
  },
  {
    name: 'sse-last-role-late',
    rule: 'createChatCompletion, the stream: first comes, for each choice, a chunk with the role',
    breaks: 'The role of the last choice comes right before its first text.',
    async *onEvents(pieces, request) {
      const last = (jsonOf(request)?.n ?? 1) - 1
      let held = ''
      for await (const event of toEvents(pieces)) {
        const [choice] = readChunk(event)?.choices ?? []
        if (last > 0 && choice?.index === last && choice.delta.role) {
          held = event
          continue
        }
        if (held !== '' && choice?.index === last) {
          yield Buffer.from(held)
          held = ''
        }
        yield Buffer.from(event)
      }
    },
  },
  {
    name: 'sse-null-refusal',
    rule: 'schema ChatCompletionDelta of createChatCompletion: keys without news are left out',
    breaks: 'Every piece of text has a refusal of null.',
    ...chunks(chunk => {
      for (const { delta } of chunk.choices ?? []) if (delta.content) delta.refusal = null
    }),
  },
  {
    name: 'sse-null-reasoning',
    rule: 'schema ChatCompletionDelta of createChatCompletion: keys without news are left out',
    breaks: 'The first chunk of a choice has a reasoning of null.',
    ...chunks(chunk => {
      for (const { delta } of chunk.choices ?? []) if (delta.role !== undefined) delta.reasoning ??= null
    }),
  },
  {
    name: 'sse-prompt-ids-unasked',
    rule: 'schema ChatCompletionChunk of createChatCompletion: prompt_token_ids is null when return_token_ids did not ask',
    breaks: 'The first chunk has an empty list of prompt_token_ids where none were asked for.',
    ...chunks((chunk, { index, request }) => {
      if (index === 0 && request.return_token_ids !== true) chunk.prompt_token_ids = []
    }),
  },
]
