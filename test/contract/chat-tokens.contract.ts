/** What a chat tells of its tokens: log-probabilities, alternatives, bytes and ranks. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { fieldSource, STREAM_SOURCE } from './chat-sources.ts'
import { expectSameWholes, fromChoices, fromChunks, streamChat } from './chat-stream.ts'
import { client, home, target, uriOf } from './setup.ts'

const ALTERNATIVES = '/components/schemas/TokenLogprob/properties/top_logprobs/description'
const RANK = '/components/schemas/PromptLogprob/properties/rank/description'
const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }

section('Tokens of a chat, which a mock does not compute', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const first = async (more: object) => (await complete(more)).choices[0]!

  check(
    'createChatCompletion/writes-alternatives-as-ids-too-and-keeps-their-bytes',
    { source: fieldSource('return_tokens_as_token_ids') },
    async () => {
      const tokensOf = async (more: object) => {
        const { logprobs } = await first({ ...GREEDY, logprobs: true, top_logprobs: 2, ...more })
        return logprobs!.content!.flatMap(one => [one, ...one.top_logprobs])
      }
      const [plain, asIds] = [await tokensOf({}), await tokensOf({ return_tokens_as_token_ids: true })]
      expect(asIds.map(({ bytes }) => bytes)).toEqual(plain.map(({ bytes }) => bytes))
      expect(asIds.filter(({ token }) => !/^token_id:\d+$/.test(token))).toEqual([])
    },
  )

  check('createChatCompletion/ranks-among-all-tokens', { source: RANK }, async () => {
    const ranksOf = async (prompt_logprobs: number) => {
      const { prompt_logprobs: places, prompt_token_ids: ids } = await complete({ ...GREEDY, prompt_logprobs })
      return places!.slice(1).map((place, index) => place![String(ids![index + 1])]!.rank)
    }
    const ranks = await ranksOf(5)
    for (const few of [0, 1]) expect(await ranksOf(few), `with ${few} alternatives`).toEqual(ranks)
  })

  checkEach<[string, object]>([
    ['a-high-temperature', { temperature: 2 }],
    ['a-low-temperature', { temperature: 0.1 }],
    ['top-k', { top_k: 1 }],
    ['top-p', { top_p: 0.01 }],
    ['min-p', { min_p: 0.9 }],
    ['a-bias', { logit_bias: { '1': 50 } }],
    ['allowed-tokens', { allowed_token_ids: [1, 2] }],
  ])(
    'createChatCompletion/reports-logprobs-of-the-model-before-%s',
    () => ({ source: '/components/schemas/TokenLogprob/properties/logprob/description' }),
    async (_, more) => {
      const asked = { max_completion_tokens: 1, ignore_eos: true, logprobs: true, top_logprobs: 3, seed: 1 }
      const alternativesOf = async (more: object) => {
        const [place] = (await first({ ...asked, ...more })).logprobs!.content!
        return place!.top_logprobs.map(({ token, logprob }) => ({ token, logprob: expect.closeTo(logprob, 1) }))
      }
      const plain = (await first(asked)).logprobs!.content![0]!.top_logprobs.map(({ token, logprob }) => ({
        token,
        logprob,
      }))
      expect(plain).toEqual(await alternativesOf(more))
    },
  )

  check('createChatCompletion/lists-the-most-probable-alternatives-first', { source: ALTERNATIVES }, async () => {
    const placesOf = async (more: object) => {
      const asked = { ...GREEDY, max_completion_tokens: 4, logprobs: true, return_tokens_as_token_ids: true }
      return (await first({ ...asked, ...more })).logprobs!.content!.map(({ top_logprobs }) => top_logprobs)
    }
    const five = await placesOf({ top_logprobs: 5 })
    for (const place of five) {
      const logprobs = place.map(({ logprob }) => logprob)
      expect(logprobs, 'most probable first').toEqual(logprobs.toSorted((one, other) => other - one))
      expect(new Set(place.map(({ token }) => token)).size, 'no token comes twice').toBe(5)
      expect(logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)).toBeLessThanOrEqual(1.001)
    }
    const tokens = (places: typeof five) => places.map(place => place.map(({ token }) => token))
    expect(tokens(await placesOf({ top_logprobs: 2 }))).toEqual(tokens(five.map(place => place.slice(0, 2))))
    expect((await placesOf({})).flat(), 'none were asked for').toEqual([])
  })

  check(
    'createChatCompletion/gives-so-many-alternatives-of-the-prompt',
    { source: fieldSource('prompt_logprobs') },
    async () => {
      const placesOf = async (prompt_logprobs: number) =>
        (await complete({ ...GREEDY, max_completion_tokens: 1, prompt_logprobs })).prompt_logprobs!.slice(1)
      for (const place of await placesOf(0)) expect(Object.keys(place!)).toHaveLength(1)
      for (const place of await placesOf(5)) {
        const ranked = Object.values(place!).toSorted((one, other) => one.rank - other.rank)
        const logprobs = ranked.map(({ logprob }) => logprob)
        expect(logprobs, 'by rank').toEqual(logprobs.toSorted((one, other) => other - one))
        expect([5, 6]).toContain(ranked.length)
      }
    },
  )

  check(
    'createChatCompletion/gives-the-bytes-of-each-token',
    { source: '/components/schemas/TokenLogprob/properties/bytes/description' },
    async () => {
      const text = 'Zürich 🚂 東京'
      const choice = await first({
        structured_outputs: { choice: [text] },
        max_completion_tokens: 100,
        logprobs: true,
        top_logprobs: 2,
      })
      expect(choice.message.content).toBe(text)
      const bytes = Buffer.from(choice.logprobs!.content!.flatMap(one => one.bytes ?? []))
      const wanted = Buffer.from(text)
      expect(bytes.subarray(0, wanted.length).toString('hex')).toBe(wanted.toString('hex'))
    },
  )

  section('of a trained model', { home: true }, () => {
    check('createChatCompletion/streams-the-tokens-of-a-trained-model-unasked', { source: STREAM_SOURCE }, async () => {
      const asked = { model: uriOf(home), temperature: 1, seed: 7, max_completion_tokens: 12 }
      const streamed = fromChunks((await streamChat({ ...base, ...asked })).chunks)
      expectSameWholes(streamed, fromChoices((await complete(asked)).choices))
      for (const { logprobs, token_ids } of streamed) expect(logprobs).toHaveLength(token_ids?.length ?? -1)
    })

    check(
      'createChatCompletion/streams-no-logprobs-when-told-not-to',
      { source: fieldSource('logprobs') },
      async () => {
        const { chunks } = await streamChat({ ...base, ...GREEDY, model: uriOf(home), logprobs: false })
        expect(chunks.flatMap(({ choices }) => choices).filter(({ logprobs }) => logprobs)).toEqual([])
      },
    )

    checkEach<[string, object]>([
      ['logprobs-of-null', { logprobs: null }],
      ['logprobs-of-true', { logprobs: true }],
      ['alternatives-of-null', { top_logprobs: null }],
      ['alternatives-of-0', { top_logprobs: 0 }],
    ])(
      'createChatCompletion/gives-a-trained-model-logprobs-with-%s',
      () => ({ source: fieldSource('logprobs') }),
      async (_, more) => {
        const [choice] = (await complete({ ...GREEDY, model: uriOf(home), ...more })).choices
        expect(choice!.logprobs?.content).toHaveLength(choice!.token_ids!.length)
      },
    )
  })
})
