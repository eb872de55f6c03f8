/** When a stream tells its usage, and of what. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { STREAM_SOURCE } from './chat-sources.ts'
import { streamChat } from './chat-stream.ts'
import { target } from './setup.ts'

const OPTIONS = '/components/schemas/StreamOptions/properties'
const messages = [{ role: 'user', content: 'Say hello.' }]
const SEEDED = { temperature: 1, seed: 7, n: 2, max_completion_tokens: 12, return_token_ids: true }

section('Usage in streams, which a mock does not count', { needs: ['memory'], home: false }, () => {
  const stream = async (stream_options: object) =>
    (await streamChat({ model: target.baseModel, messages, ...SEEDED, stream_options })).chunks

  checkEach<[string, object]>([
    ['by-default', {}],
    ['with-null', { include_usage: null }],
    ['alone', { include_usage: true, continuous_usage_stats: false }],
  ])(
    'createChatCompletion/streams-usage-at-the-end-%s',
    () => ({ source: `${OPTIONS}/include_usage/default` }),
    async (_, options) => {
      const chunks = await stream(options)
      const counted = chunks.flatMap(({ choices }) => choices).flatMap(({ token_ids }) => token_ids ?? [])
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: counted.length } })
      expect(chunks.slice(0, -1).filter(chunk => chunk.usage)).toEqual([])
    },
  )

  check(
    'createChatCompletion/streams-no-running-usage-without-usage',
    { source: `${OPTIONS}/continuous_usage_stats/description` },
    async () => {
      const chunks = await stream({ include_usage: false, continuous_usage_stats: true })
      expect(chunks.filter(chunk => 'usage' in chunk || chunk.choices.length === 0)).toEqual([])
    },
  )

  check('createChatCompletion/streams-the-usage-so-far-of-each-choice', { source: STREAM_SOURCE }, async () => {
    const chunks = await stream({ include_usage: true, continuous_usage_stats: true })
    const { prompt_tokens } = chunks.at(-1)!.usage!
    const counts = new Map<number, number>()
    for (const { choices, usage } of chunks) {
      expect(usage).toMatchObject({ prompt_tokens, total_tokens: prompt_tokens! + usage!.completion_tokens! })
      const [choice] = choices
      if (!choice) continue
      const count = (counts.get(choice.index) ?? 0) + (choice.token_ids?.length ?? 0)
      counts.set(choice.index, count)
      expect(usage!.completion_tokens, `of choice ${choice.index}`).toBe(count)
    }
    expect(chunks.at(-1)!.usage!.completion_tokens).toBe([...counts.values()].reduce((sum, count) => sum + count, 0))
  })
})
