import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { streamChat } from './chat-stream.ts'
import { client, runId, target } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const SEEDED = { temperature: 1, seed: 7, max_completion_tokens: 12 }
const GREEDY = { temperature: 0, max_completion_tokens: 12 }

section('Chat streams, which a mock repeats from an example', { needs: ['memory'] }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const refuse = (more: object, status = 422) =>
    client.refused('createChatCompletion', status, { body: { ...base, ...more } })

  check('createChatCompletion/streams-what-it-would-answer', async () => {
    for (const more of [GREEDY, { ...SEEDED, n: 3 }]) {
      const { texts } = await streamChat({ ...base, ...more })
      expect(texts).toEqual((await complete(more)).choices.map(choice => choice.message.content))
    }
  })

  check('createChatCompletion/streams-in-order', async () => {
    const body = {
      ...base,
      ...SEEDED,
      n: 2,
      return_token_ids: true,
      logprobs: true,
      stream_options: { include_usage: true },
    }
    const { chunks } = await streamChat(body)
    const choices = chunks.flatMap(chunk => chunk.choices)
    for (const index of [0, 1]) {
      const own = choices.filter(choice => choice.index === index)
      expect(own[0]!.delta).toEqual({ role: 'assistant', content: '' })
      expect(own.filter(choice => choice.delta.role !== undefined)).toHaveLength(1)
      expect(own.filter(choice => choice.finish_reason !== null)).toEqual([own.at(-1)])
      expect(own.flatMap(choice => choice.logprobs?.content ?? [])).toHaveLength(
        own.flatMap(choice => choice.token_ids ?? []).length,
      )
    }
    const last = chunks.at(-1)!
    expect(last.choices).toEqual([])
    expect(last.usage!.completion_tokens).toBe(choices.flatMap(choice => choice.token_ids ?? []).length)
    expect(chunks.slice(0, -1).filter(chunk => 'usage' in chunk)).toEqual([])
    expect(chunks[0]!.prompt_token_ids).toHaveLength(last.usage!.prompt_tokens!)
    expect(chunks.slice(1).filter(chunk => 'prompt_token_ids' in chunk)).toEqual([])
    for (const key of ['id', 'created', 'model'] as const)
      expect(new Set(chunks.map(chunk => chunk[key])).size, key).toBe(1)
  })

  check('createChatCompletion/streams-no-usage-unasked', async () => {
    const { chunks } = await streamChat({ ...base, ...GREEDY })
    expect(chunks.filter(chunk => 'usage' in chunk || chunk.choices.length === 0)).toEqual([])
  })

  check('createChatCompletion/streams-usage-in-every-chunk-when-asked', async () => {
    const options = { include_usage: true, continuous_usage_stats: true }
    const { chunks } = await streamChat({ ...base, ...GREEDY, stream_options: options })
    expect(chunks.every(chunk => chunk.usage)).toBe(true)
    expect(chunks[0]!.usage!.completion_tokens).toBe(0)
  })

  check('createChatCompletion/streams-as-it-generates', async () => {
    const { arrivals } = await streamChat({
      ...base,
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      temperature: 2,
      seed: 3,
      max_completion_tokens: 200,
    })
    expect(arrivals, 'bytes came in one piece').toBeGreaterThan(1)
  })

  check('createChatCompletion/refuses-before-a-stream-begins', async () => {
    await refuse({ stream: true, temperature: -1 })
    await refuse({ stream: true, model: `${runId}-none` }, 404)
  })

  check('createChatCompletion/survives-a-client-that-leaves', async () => {
    const leave = new AbortController()
    const body = { ...base, temperature: 2, max_completion_tokens: 500, stream: true }
    const response = await client.open('createChatCompletion', { body, signal: leave.signal })
    await response.body!.getReader().read()
    leave.abort()
    expect((await complete(GREEDY)).choices).toHaveLength(1)
  })
})
