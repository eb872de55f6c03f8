/** What single values of the fields of a chat mean: those that change nothing, those at an edge, and those that are one of several. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { fieldSource } from './chat-sources.ts'
import { client, target } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }
/** Beyond its end a text is less certain, so that what is not greedy shows. */
const LONG = { ...GREEDY, max_completion_tokens: 30, ignore_eos: true }
/** Hot and long enough that two draws are hardly ever the same. */
const HOT = { temperature: 2, max_completion_tokens: 40, ignore_eos: true, return_token_ids: true }
const SEEDED = { ...HOT, max_completion_tokens: 24, n: 2, seed: 5 }
const REPETITION = '/components/schemas/RepetitionDetection/properties/min_count/description'
const MOST_STOPS = 16

const toSource = (_: string, more: object) => ({ source: fieldSource(Object.keys(more)[0]!) })

section('Values of the fields of a chat, which a mock does not compute', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const first = async (more: object) => (await complete(more)).choices[0]!
  const idsOf = async (more: object) => (await complete(more)).choices.map(({ token_ids }) => token_ids)

  checkEach<[string, object]>([
    ['a-temperature-of-1', { temperature: 1 }],
    ['a-top-p-of-1', { top_p: 1 }],
    ['a-top-k-of-0', { top_k: 0 }],
    ['a-top-k-of-minus-1', { top_k: -1 }],
    ['a-top-k-beyond-the-vocabulary', { top_k: 1_000_000_000 }],
    ['a-min-p-of-0', { min_p: 0 }],
    ['a-frequency-penalty-of-0', { frequency_penalty: 0 }],
    ['a-presence-penalty-of-0', { presence_penalty: 0 }],
    ['a-repetition-penalty-of-1', { repetition_penalty: 1 }],
    ['an-empty-bias', { logit_bias: {} }],
    ['no-stop-text', { stop: [] }],
    ['no-stop-token', { stop_token_ids: [] }],
    ['no-bad-word', { bad_words: [] }],
    ['a-length-penalty-without-beams', { length_penalty: -3 }],
    ['spaces-between-special-tokens-that-are-hidden', { spaces_between_special_tokens: false }],
    ['a-user', { user: 'ada' }],
    ['parallel-tool-calls', { parallel_tool_calls: false }],
    ['the-tool-choice-none', { tool_choice: 'none' }],
    ['a-response-format-of-text', { response_format: { type: 'text' } }],
    ['no-document', { documents: [] }],
    ['a-priority-of-0', { priority: 0 }],
  ])('createChatCompletion/is-not-changed-by-%s', toSource, async (_, more) => {
    const { temperature, ...rest } = SEEDED
    const plain = 'temperature' in more ? rest : { ...rest, temperature }
    expect(await idsOf({ ...plain, ...more })).toEqual(await idsOf(plain))
  })

  checkEach<[string, object]>([
    ['a-temperature-near-0', { temperature: 0.000001 }],
    ['a-top-k-of-1', { top_k: 1 }],
    ['a-tiny-top-p', { top_p: 1e-9 }],
    ['a-min-p-of-1', { min_p: 1 }],
  ])('createChatCompletion/is-greedy-with-%s', toSource, async (_, more) => {
    const [greedy] = await idsOf(LONG)
    for (const seed of [1, 2]) expect(await idsOf({ ...LONG, temperature: 2, seed, ...more })).toEqual([greedy])
  })

  check('createChatCompletion/is-greedy-whatever-the-filters', { source: fieldSource('temperature') }, async () => {
    const [greedy] = await idsOf(LONG)
    for (const more of [{ top_k: 2 }, { top_p: 0.5 }, { min_p: 0.9 }])
      expect(await idsOf({ ...LONG, ...more }), JSON.stringify(more)).toEqual([greedy])
  })

  checkEach<[string, number]>([
    ['0', 0],
    ['1', 1],
    ['below-minus-1', -2],
    ['of-64-bits', 2 ** 62],
  ])(
    'createChatCompletion/repeats-itself-with-the-seed-%s',
    () => ({ source: fieldSource('seed') }),
    async (_, seed) => {
      const ids = await idsOf({ ...HOT, n: 2, seed })
      expect(await idsOf({ ...HOT, n: 2, seed })).toEqual(ids)
      expect(ids[1], 'each choice has draws of its own').not.toEqual(ids[0])
    },
  )

  checkEach<[string, object]>([
    ['without-a-seed', {}],
    ['with-a-seed-of-null', { seed: null }],
    ['with-a-seed-of-minus-1', { seed: -1 }],
  ])(
    'createChatCompletion/draws-anew-%s',
    () => ({ source: fieldSource('seed') }),
    async (_, more) => {
      const [one, other] = [await idsOf({ ...HOT, ...more }), await idsOf({ ...HOT, ...more })]
      expect(one).not.toEqual(other)
    },
  )

  check('createChatCompletion/draws-otherwise-with-another-seed', { source: fieldSource('seed') }, async () => {
    const texts = await Promise.all([1, 2, 3].map(async seed => String(await idsOf({ ...HOT, seed }))))
    expect(new Set(texts).size).toBe(texts.length)
  })

  check('createChatCompletion/ends-at-whichever-stop-text-comes-first', { source: fieldSource('stop') }, async () => {
    const whole = (await first(GREEDY)).message.content!
    const [early, late] = [whole.slice(1, 3), whole.slice(3, 5)]
    const never = Array.from({ length: MOST_STOPS - 2 }, (_, number) => `never ${number} there`)
    for (const stop of [early, [early], [late, early], [...never, late, early], [early, ...never, late]]) {
      const { message, finish_reason } = await first({ ...GREEDY, stop })
      const told = { content: message.content, finish_reason }
      expect(told, JSON.stringify(stop)).toEqual({
        content: whole.slice(0, whole.indexOf(early)),
        finish_reason: 'stop',
      })
    }
  })

  check(
    'createChatCompletion/ends-at-no-stop-before-the-least-tokens',
    { source: fieldSource('min_tokens') },
    async () => {
      const long = { ...GREEDY, ignore_eos: true }
      const whole = (await first(long)).message.content!
      const ended = await complete({ ...long, stop: whole.slice(0, 1) })
      expect(ended.choices[0]!.message.content).toBe('')
      const least = 5
      const { usage } = await complete({ ...long, stop: whole.slice(0, 1), min_tokens: least })
      expect(usage!.completion_tokens).toBeGreaterThanOrEqual(least)
    },
  )

  check('createChatCompletion/clamps-biases', { source: fieldSource('logit_bias') }, async () => {
    const [, other] = (await first(LONG)).token_ids!
    const [most] = await idsOf({ ...LONG, logit_bias: { [other!]: 100 } })
    expect(await idsOf({ ...LONG, logit_bias: { [other!]: 1e6 } })).toEqual([most])
    const [least] = await idsOf({ ...LONG, logit_bias: { [other!]: -100 } })
    expect(await idsOf({ ...LONG, logit_bias: { [other!]: -1e6 } })).toEqual([least])
  })

  check(
    'createChatCompletion/counts-the-newer-limit-where-both-are-set',
    { source: fieldSource('max_tokens') },
    async () => {
      const long = { temperature: 0, ignore_eos: true }
      for (const [max_tokens, max_completion_tokens] of [
        [2, 6],
        [6, 2],
      ]) {
        const { usage } = await complete({
          ...long,
          max_tokens,
          max_completion_tokens,
          min_tokens: max_completion_tokens,
        })
        expect(usage!.completion_tokens).toBe(max_completion_tokens)
      }
    },
  )

  check(
    'createChatCompletion/gives-each-choice-the-whole-limit',
    { source: fieldSource('max_completion_tokens') },
    async () => {
      const { choices } = await complete({ ...HOT, n: 3, max_completion_tokens: 9 })
      expect(choices.map(({ token_ids }) => token_ids!.length)).toEqual([9, 9, 9])
    },
  )

  check('createChatCompletion/judges-no-repetition-while-off', { source: REPETITION }, async () => {
    const off = { max_pattern_size: 0, min_count: 1 }
    expect(await idsOf({ ...GREEDY, repetition_detection: off })).toEqual(await idsOf(GREEDY))
  })
})
