/** Where a text ends: the end of turn, stop tokens, least tokens, repetitions and the end of the context. */
import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import { BETWEEN_FIELDS_SOURCE, fieldSource } from './chat-sources.ts'
import { ANY_TOKENS } from './chat-stream.ts'
import { client, target } from './setup.ts'

const TOKEN_IDS = '/components/schemas/ChatCompletionChoice/properties/token_ids/description'
const PATTERN = '/components/schemas/RepetitionDetection/properties/min_pattern_size/description'
const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }
const ENDLESS = { ...GREEDY, ignore_eos: true }

section('Ends of a chat, which a mock does not reach', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const first = async (more: object) => (await complete(more)).choices[0]!
  const refuse = (more: object) => client.refused('createChatCompletion', 422, { body: { ...base, ...more } })

  check('createChatCompletion/counts-the-end-of-turn-as-a-token', { source: TOKEN_IDS }, async () => {
    const whole = await first(GREEDY)
    const length = whole.token_ids!.length
    if (whole.finish_reason !== 'stop' || length < 2) throw new SkipError('the answer of this model is not short')
    const reasonOf = async (max_completion_tokens: number) =>
      (await first({ ...GREEDY, max_completion_tokens })).finish_reason
    expect([await reasonOf(length), await reasonOf(length - 1)]).toEqual(['stop', 'length'])
  })

  check(
    'createChatCompletion/keeps-the-text-of-a-stop-token-when-asked',
    { source: fieldSource('include_stop_str_in_output') },
    async () => {
      const ids = (await first(ENDLESS)).token_ids!
      const place = ids.findIndex((id, index) => index > 0 && id !== ids[0])
      if (place < 0) throw new SkipError('this model only repeats one token')
      const stop = { ...ENDLESS, stop_token_ids: [ids[place]!] }
      const upTo = async (max_completion_tokens: number) =>
        (await first({ ...ENDLESS, max_completion_tokens })).message.content!
      const [before, after] = [await upTo(place), await upTo(place + 1)]
      if (after.includes('\uFFFD')) throw new SkipError('a token of this model is half a character')
      expect((await first(stop)).message.content).toBe(before)
      expect((await first({ ...stop, include_stop_str_in_output: true })).message.content).toBe(after)
    },
  )

  check(
    'createChatCompletion/ends-at-no-stop-token-before-the-least-tokens',
    { source: fieldSource('min_tokens') },
    async () => {
      const [stop] = (await first(ENDLESS)).token_ids!
      const ended = await first({ ...ENDLESS, stop_token_ids: [stop] })
      expect(ended).toMatchObject({ token_ids: [stop], stop_reason: stop })
      const { usage } = await complete({ ...ENDLESS, stop_token_ids: [stop], min_tokens: 5 })
      expect(usage!.completion_tokens).toBeGreaterThanOrEqual(5)
    },
  )

  check('createChatCompletion/takes-least-tokens-without-a-limit', { source: fieldSource('min_tokens') }, async () => {
    const { usage } = await complete({ temperature: 0, min_tokens: 64, stop_token_ids: ANY_TOKENS })
    expect(usage!.completion_tokens).toBeGreaterThanOrEqual(64)
  })

  check('createChatCompletion/looks-for-no-shorter-pattern-than-asked', { source: PATTERN }, async () => {
    const [only] = (await first(ENDLESS)).token_ids!
    const endAt = async (repetition_detection: object) => {
      const { finish_reason, token_ids } = await first({ ...ENDLESS, allowed_token_ids: [only], repetition_detection })
      return [finish_reason, token_ids!.length]
    }
    expect(await endAt({ min_pattern_size: 2, max_pattern_size: 2, min_count: 3 })).toEqual(['repetition', 6])
    expect(await endAt({ min_pattern_size: 3, max_pattern_size: 5, min_count: 2 })).toEqual(['repetition', 6])
    expect(await endAt({ min_pattern_size: 0, max_pattern_size: 5, min_count: 3 })).toEqual(['repetition', 3])
  })

  check(
    'createChatCompletion/takes-a-limit-of-all-that-the-context-leaves',
    { source: BETWEEN_FIELDS_SOURCE },
    async () => {
      const { data } = await client.ok('listRouterModels')
      const { context_length, max_output_length } = data.find(({ id }) => id === target.baseModel)!
      const { usage } = await complete({ ...GREEDY, max_completion_tokens: 1 })
      const room = context_length - usage!.prompt_tokens!
      if (max_output_length < room) throw new SkipError('an answer of this model may not fill the context')
      // It may fill the context, and does not.
      const short = { ...GREEDY, structured_outputs: { choice: ['a'] } }
      expect((await first({ ...short, max_completion_tokens: room })).message.content).toBe('a')
      await refuse({ ...short, max_completion_tokens: room + 1 })
    },
  )

  check(
    'createChatCompletion/leaves-a-prompt-that-is-short-enough-whole',
    { source: fieldSource('truncate_prompt_tokens') },
    async () => {
      const one = { ...GREEDY, max_completion_tokens: 1 }
      const { prompt_token_ids: whole } = await complete(one)
      for (const truncate_prompt_tokens of [-1, whole!.length, whole!.length + 1]) {
        const { prompt_token_ids } = await complete({ ...one, truncate_prompt_tokens })
        expect(prompt_token_ids, `at most ${truncate_prompt_tokens}`).toEqual(whole)
      }
    },
  )
})
