/** How biases, temperature and filters act on the probabilities of a token, judged by draws between a few tokens whose odds are known. */
import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import { fieldSource } from './chat-sources.ts'
import { client, target } from './setup.ts'

const LOGPROB = '/components/schemas/TokenLogprob/properties/logprob/description'
const messages = [{ role: 'user', content: 'Say hello.' }]
const ONE_TOKEN = { max_completion_tokens: 1, ignore_eos: true, return_token_ids: true }
/** Draws of the first token: so many that what has a tenth of the probability hardly ever stays away. */
const SEEDS = [1, 2, 3, 4, 5]
const DRAWS_EACH = 8
/** Biases go no further. */
const MOST_BIAS = 100

section('Draws of a token, which a mock does not make', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const firstOf = async (more: object) => (await complete({ ...ONE_TOKEN, ...more })).choices[0]!

  /** The most probable first tokens, each with how far its logit is below the first one's. */
  const rank = async () => {
    const asked = { temperature: 0, logprobs: true, top_logprobs: 5, return_tokens_as_token_ids: true }
    const { token_ids, logprobs } = await firstOf(asked)
    const best = logprobs!.content![0]!
    const others = best.top_logprobs.map(({ token, logprob }) => {
      return { id: Number(token.slice('token_id:'.length)), gap: best.logprob - logprob }
    })
    const wanted = others.filter(({ id, gap }) => id !== token_ids![0] && gap >= 1 && gap < MOST_BIAS / 2)
    if (wanted.length < 2) throw new SkipError('this model gives no token that is clearly less probable than the first')
    return [{ id: token_ids![0]!, gap: 0 }, ...wanted] as const
  }

  /** First tokens drawn between those given, whose logits the biases set as far below the first one's as is wanted. */
  const drawBetween = async (gaps: readonly number[], more: object) => {
    const ranked = (await rank()).slice(0, gaps.length)
    const ids = ranked.map(({ id }) => id)
    const logit_bias = Object.fromEntries(ranked.map(({ id, gap }, place) => [id, gap - gaps[place]!]))
    const drawn: number[] = []
    for (const seed of SEEDS) {
      const { choices } = await complete({
        ...ONE_TOKEN,
        ...{ n: DRAWS_EACH, seed, allowed_token_ids: ids, logit_bias },
        ...more,
      })
      drawn.push(...choices.map(({ token_ids }) => ids.indexOf(token_ids![0]!)))
    }
    return drawn
  }

  check('createChatCompletion/reports-natural-logarithms-that-biases-add-to', { source: LOGPROB }, async () => {
    const [best, other] = await rank()
    const withBias = async (bias: number) =>
      (await firstOf({ temperature: 0, logit_bias: { [other.id]: bias } })).token_ids
    expect(await withBias(1.2 * other.gap), 'more than what is between them').toEqual([other.id])
    expect(await withBias(0.8 * other.gap), 'less than what is between them').toEqual([best.id])
  })

  check('createChatCompletion/divides-logits-by-the-temperature', { source: fieldSource('temperature') }, async () => {
    const cold = await drawBetween([0, 2], { temperature: 0.1 })
    expect(cold.filter(place => place !== 0)).toEqual([])
    expect(new Set(await drawBetween([0, 2], { temperature: 2 })).size).toBe(2)
  })

  checkEach<[string, object]>([
    ['top_k', { top_k: 2 }],
    ['min_p', { min_p: 0.5 }],
    ['top_p', { top_p: 0.6 }],
  ])(
    'createChatCompletion/keeps-both-of-the-best-tokens-with-%s',
    (field: string) => ({ source: fieldSource(field) }),
    async (_, more) => {
      const drawn = await drawBetween([0, 0, 1.5], { temperature: 1, ...more })
      expect(new Set(drawn)).toEqual(new Set([0, 1]))
    },
  )

  check(
    'createChatCompletion/searches-beams-whatever-the-seed',
    { source: fieldSource('use_beam_search') },
    async () => {
      const beams = { temperature: 2, n: 3, use_beam_search: true, max_completion_tokens: 8, return_token_ids: true }
      const idsOf = async (seed: number) =>
        (await complete({ ...beams, seed })).choices.map(({ token_ids }) => token_ids)
      expect(await idsOf(1)).toEqual(await idsOf(2))
    },
  )
})
