/** What single chunks of a stream hold, and how a completion is named. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { fieldSource, STREAM_SOURCE } from './chat-sources.ts'
import { streamChat } from './chat-stream.ts'
import { client, runId, target } from './setup.ts'

const DELTA = '/components/schemas/ChatCompletionDelta/description'
const PROMPT_IDS = '/components/schemas/ChatCompletionChunk/properties/prompt_token_ids/description'
const messages = [{ role: 'user', content: 'Say hello.' }]
const SEEDED = { temperature: 1, seed: 7, max_completion_tokens: 8 }
const SHORT = { temperature: 0, max_completion_tokens: 1 }

section('Chunks of a chat, which a mock repeats from an example', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const stream = async (more: object, options: object = {}) => (await streamChat({ ...base, ...more }, options)).chunks

  check('createChatCompletion/streams-under-the-id-of-the-request', { source: fieldSource('request_id') }, async () => {
    const idsOf = async (options: object = {}) =>
      (await stream({ ...SHORT, request_id: `${runId}-c` }, options)).map(({ id }) => id)
    expect(new Set(await idsOf())).toEqual(new Set([`chatcmpl-${runId}-c`]))
    const named = await idsOf({ headers: { 'x-request-id': `${runId}-d` } })
    expect(new Set(named)).toEqual(new Set([`chatcmpl-${runId}-d`]))
  })

  check('createChatCompletion/names-each-completion-anew', { source: fieldSource('request_id') }, async () => {
    const ids = [(await stream(SHORT))[0]!.id, (await stream(SHORT))[0]!.id]
    for (let count = 0; count < 2; count++)
      ids.push((await client.ok('createChatCompletion', { body: { ...base, ...SHORT } })).id!)
    expect(new Set(ids).size).toBe(ids.length)
  })

  check('createChatCompletion/begins-a-stream-with-the-role-of-each-choice', { source: STREAM_SOURCE }, async () => {
    const chunks = await stream({ ...SEEDED, n: 3 })
    const first = chunks.slice(0, 3).map(({ choices }) => choices[0]!)
    expect(first.map(({ delta }) => delta)).toEqual(Array(3).fill({ role: 'assistant', content: '' }))
    expect(first.map(({ index }) => index).toSorted()).toEqual([0, 1, 2])
  })

  check('createChatCompletion/leaves-keys-without-news-out-of-a-delta', { source: DELTA }, async () => {
    const chunks = await stream({ ...SEEDED, n: 2 })
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => Object.entries(delta)))
    const without = deltas.flat().filter(([key, value]) => value === null || ['refusal', 'tool_calls'].includes(key))
    expect(without).toEqual([])
  })

  check('createChatCompletion/streams-no-prompt-ids-unasked', { source: PROMPT_IDS }, async () => {
    for (const more of [{}, { return_token_ids: false }, { return_token_ids: null }])
      expect((await stream({ ...SHORT, ...more }))[0]!.prompt_token_ids ?? null).toBeNull()
  })
})
