import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import { STREAM_SOURCE } from './chat-sources.ts'
import { ANY_TOKENS, type Chunk, expectSameWholes, fromChoices, fromChunks, streamChat } from './chat-stream.ts'
import { client, runId, target } from './setup.ts'
import { judgeTiming, type StreamTry, timeOf } from './stream-timing.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const SEEDED = { temperature: 1, seed: 7, max_completion_tokens: 12 }
const GREEDY = { temperature: 0, max_completion_tokens: 12 }
const TOKENS = { logprobs: true, top_logprobs: 2, return_token_ids: true }
/** Of one token nothing else can be made. */
const REPEATING = {
  allowed_token_ids: [1],
  ignore_eos: true,
  repetition_detection: { max_pattern_size: 1, min_count: 3 },
}
/** Long enough that its beginning and its end can be told apart. */
const LONG = { temperature: 1, seed: 3, ignore_eos: true, max_completion_tokens: 400 }
/** Streams that are left at once, and tries to see when the first words of one come. */
const LEFT_STREAMS = 4
const TIMING_TRIES = 3
/** Clocks may differ so much, in seconds. */
const MOST_SKEW_S = 60 * 60

const OPTIONS = { needs: ['memory'], home: false, source: STREAM_SOURCE } as const

section('Chat streams, which a mock repeats from an example', OPTIONS, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const refuse = (more: object, status = 422) =>
    client.refused('createChatCompletion', status, { body: { ...base, ...more } })

  checkEach<[string, object]>([
    ['greedy', GREEDY],
    ['seeded', { ...SEEDED, n: 3 }],
    ['with-tokens', { ...SEEDED, ...TOKENS, n: 2 }],
    ['of-one-token', { ...GREEDY, ...TOKENS, max_completion_tokens: 1 }],
    ['up-to-a-stop-token', { ...SEEDED, ...TOKENS, stop_token_ids: ANY_TOKENS }],
    ['with-tokens-as-ids', { ...SEEDED, ...TOKENS, return_tokens_as_token_ids: true }],
    ['with-special-tokens', { ...GREEDY, ignore_eos: true, skip_special_tokens: false }],
    ['up-to-a-repetition', { ...SEEDED, ...TOKENS, ...REPEATING }],
    ['of-beams', { ...SEEDED, ...TOKENS, n: 3, use_beam_search: true }],
    ['with-hidden-tokens', { ...SEEDED, ...TOKENS, include_reasoning: false }],
    ['in-the-role-of-the-user', { ...SEEDED, add_generation_prompt: false }],
  ])('createChatCompletion/streams-what-it-would-answer-%s', async (_, more) => {
    const { chunks } = await streamChat({ ...base, ...more })
    expectSameWholes(fromChunks(chunks), fromChoices((await complete(more)).choices))
  })

  check('createChatCompletion/streams-up-to-a-stop-text', async () => {
    const whole = (await complete(GREEDY)).choices[0]!.message.content!
    const stop = { ...GREEDY, stop: whole.slice(2, 4) }
    const { chunks, texts } = await streamChat({ ...base, ...stop })
    expect(texts).toEqual([whole.slice(0, whole.indexOf(stop.stop))])
    expectSameWholes(fromChunks(chunks), fromChoices((await complete(stop)).choices))
    const kept = await streamChat({ ...base, ...stop, include_stop_str_in_output: true })
    expect(kept.texts, 'with the stop text').toEqual([texts[0] + stop.stop])
  })

  check('createChatCompletion/streams-whole-characters', async () => {
    const text = 'Zürich 🚂 東京 👩‍🚀'
    const { chunks, texts } = await streamChat({
      ...base,
      max_completion_tokens: 200,
      structured_outputs: { choice: [text] },
    })
    expect(texts).toEqual([text])
    const broken = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta.content ?? '')
    expect(broken.filter(piece => !piece.isWellFormed() || piece.includes('\uFFFD'))).toEqual([])
  })

  checkEach<[string, boolean | null | undefined]>([
    ['false', false],
    ['null', null],
    ['nothing', undefined],
  ])('createChatCompletion/gives-one-body-for-%s', async (_, stream) => {
    const { status, headers, body } = await client.call('createChatCompletion', {
      body: { ...base, ...GREEDY, stream },
    })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(body).toMatchObject({ object: 'chat.completion' })
  })

  check(
    'createChatCompletion/encodes-no-stream-unless-that-is-accepted',
    { source: '/info/description#On the wire' },
    async () => {
      const { headers } = await streamChat({ ...base, ...GREEDY }, { headers: { 'accept-encoding': 'identity' } })
      expect(headers.get('content-encoding') ?? 'identity').toBe('identity')
    },
  )

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
    for (const { logprobs, token_ids } of choices)
      expect(logprobs?.content?.length ?? 0, 'each chunk has what belongs together').toBe(token_ids?.length ?? 0)
    const last = chunks.at(-1)!
    expect(last.choices).toEqual([])
    expect(last.usage!.completion_tokens).toBe(choices.flatMap(choice => choice.token_ids ?? []).length)
    expect(chunks.slice(0, -1).filter(chunk => 'usage' in chunk)).toEqual([])
    expect(chunks[0]!.prompt_token_ids).toHaveLength(last.usage!.prompt_tokens!)
    expect(chunks.slice(1).filter(chunk => 'prompt_token_ids' in chunk)).toEqual([])
    for (const key of ['id', 'created', 'model'] as const)
      expect(new Set(chunks.map(chunk => chunk[key])).size, key).toBe(1)
    expect(last.model).toBe(target.baseModel)
    expect(Math.abs(last.created - Date.now() / 1000), 'created is in Unix seconds').toBeLessThan(MOST_SKEW_S)
  })

  checkEach<[string, object]>([
    ['unasked', {}],
    ['asked-not-to', { stream_options: { include_usage: false } }],
    ['with-options-of-null', { stream_options: null }],
  ])('createChatCompletion/streams-no-usage-%s', async (_, more) => {
    const { chunks } = await streamChat({ ...base, ...GREEDY, ...more })
    expect(chunks.filter(chunk => 'usage' in chunk || chunk.choices.length === 0)).toEqual([])
  })

  check('createChatCompletion/streams-the-usage-that-it-would-answer', async () => {
    const more = { ...SEEDED, n: 2 }
    const { chunks } = await streamChat({ ...base, ...more, stream_options: { include_usage: true } })
    const streamed = chunks.at(-1)!.usage!
    const { usage } = await complete(more)
    for (const key of ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const)
      expect(streamed[key], key).toBe(usage![key])
  })

  check('createChatCompletionSlash/streams-the-same', async () => {
    const body = { ...base, ...SEEDED, ...TOKENS, n: 2, stream_options: { include_usage: true } }
    const one = await streamChat(body)
    const twin = await streamChat(body, { id: 'createChatCompletionSlash' })
    expectSameWholes(fromChunks(twin.chunks), fromChunks(one.chunks))
    const shape = (chunks: Chunk[]) => chunks.map(chunk => [chunk.choices.length, 'usage' in chunk])
    expect(shape(twin.chunks).at(-1)).toEqual(shape(one.chunks).at(-1))
  })

  check('createChatCompletion/streams-usage-in-every-chunk-when-asked', async () => {
    const options = { include_usage: true, continuous_usage_stats: true }
    const { chunks } = await streamChat({ ...base, ...GREEDY, stream_options: options })
    expect(chunks.every(chunk => chunk.usage)).toBe(true)
    expect(chunks[0]!.usage!.completion_tokens).toBe(0)
  })

  check('createChatCompletion/streams-as-it-generates', async () => {
    const tries: StreamTry[] = []
    for (let count = 0; count < TIMING_TRIES && judgeTiming(tries) !== 'as-it-goes'; count++) {
      const single = await timeOf(() => complete({ ...LONG, max_completion_tokens: 1 }))
      const whole = await timeOf(() => complete(LONG))
      const { contentTimes } = await streamChat({ ...base, ...LONG })
      tries.push({ single, whole, first: contentTimes[0] ?? whole })
    }
    const timing = judgeTiming(tries)
    if (timing === 'too-fast-to-tell') throw new SkipError('the answers come too fast to tell when they were made')
    expect(timing, `the first content came with the last: ${JSON.stringify(tries)}`).toBe('as-it-goes')
  })

  check('createChatCompletion/refuses-before-a-stream-begins', async () => {
    await refuse({ stream: true, temperature: -1 })
    await refuse({ stream: true, model: `${runId}-none` }, 404)
  })

  check('createChatCompletion/survives-clients-that-leave', async () => {
    const text = (await complete(GREEDY)).choices[0]!.message.content
    const body = { ...base, ...LONG, max_completion_tokens: 1000, stream: true }
    const leave = async () => {
      const abort = new AbortController()
      const response = await client.open('createChatCompletion', { body, signal: abort.signal })
      await response.body!.getReader().read()
      abort.abort()
    }
    await Promise.all(Array.from({ length: LEFT_STREAMS }, leave))
    expect((await complete(GREEDY)).choices[0]!.message.content).toBe(text)
  })
})
