/** What single values of the fields of a chat mean: those that change nothing, those at an edge, and those that are one of several. */
import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import { BETWEEN_FIELDS_SOURCE, fieldSource } from './chat-sources.ts'
import { streamChat } from './chat-stream.ts'
import { client, clientOf, home, inProcess, target, uriOf } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }
/** Beyond its end a text is less certain, so that what is not greedy shows. */
const LONG = { ...GREEDY, max_completion_tokens: 30, ignore_eos: true }
/** Hot and long enough that two draws are hardly ever the same. */
const HOT = { temperature: 2, max_completion_tokens: 40, ignore_eos: true, return_token_ids: true }
const SEEDED = { ...HOT, max_completion_tokens: 24, n: 2, seed: 5 }
const RANK = '/components/schemas/PromptLogprob/properties/rank/description'
const REPETITION = '/components/schemas/RepetitionDetection/properties/min_count/description'
const MOST_STOPS = 16
/** Of a long prompt. */
const MOST_WORDS = 1500

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

  check('createChatCompletion/takes-the-message-of-a-choice', { source: fieldSource('messages') }, async () => {
    const choice = await first(GREEDY)
    const promptOf = async (answer: object) => {
      const history = [...messages, answer, { role: 'user', content: 'Again.' }]
      return (await complete({ ...GREEDY, messages: history })).prompt_token_ids
    }
    expect(await promptOf(choice)).toEqual(await promptOf({ role: 'assistant', content: choice.message.content }))
  })

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

  check('createChatCompletion/judges-no-repetition-while-off', { source: REPETITION }, async () => {
    const off = { max_pattern_size: 0, min_count: 1 }
    expect(await idsOf({ ...GREEDY, repetition_detection: off })).toEqual(await idsOf(GREEDY))
  })

  check(
    'createChatCompletion/joins-parts-with-a-line-break',
    { source: '/components/schemas/TextContentPart/properties/text/description' },
    async () => {
      const promptOf = async (content: unknown) =>
        (await complete({ ...GREEDY, messages: [{ role: 'user', content }] })).prompt_token_ids
      const parts = ['Say', 'hello', ''].map(text => ({ type: 'text', text }))
      expect(await promptOf(parts)).toEqual(await promptOf('Say\nhello\n'))
      expect(await promptOf(['Say', 'hello', ''])).toEqual(await promptOf(parts))
      expect(await promptOf(parts.slice(0, 1))).toEqual(await promptOf('Say'))
    },
  )

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

  check('createChatCompletion/echoes-a-message-of-the-same-role-only', { source: fieldSource('echo') }, async () => {
    const plain = (await first(GREEDY)).message.content
    expect((await first({ ...GREEDY, echo: true })).message).toMatchObject({ role: 'assistant', content: plain })
    const going = { ...GREEDY, add_generation_prompt: false }
    const content = `Say hello.${(await first(going)).message.content}`
    expect((await first({ ...going, echo: true })).message).toMatchObject({ role: 'user', content })
  })

  check(
    'createChatCompletion/lets-the-generation-prompt-yield-when-it-is-not-sent',
    { source: BETWEEN_FIELDS_SOURCE },
    async () => {
      const open = {
        ...GREEDY,
        messages: [...messages, { role: 'assistant', content: 'Hel' }],
        continue_final_message: true,
      }
      const { add_generation_prompt: _, ...unsent } = { ...open, add_generation_prompt: false }
      expect(await idsOf({ ...open, add_generation_prompt: false })).toEqual(await idsOf(unsent))
    },
  )

  check(
    'createChatCompletion/hands-variables-to-a-template-of-the-request',
    { source: fieldSource('chat_template') },
    async () => {
      const trusting = inProcess ? await clientOf({ settings: { trustRequestChatTemplate: true } }) : client
      const promptOf = async (chat_template: string, more: object = {}) => {
        const body = { ...base, max_completion_tokens: 1, return_token_ids: true, chat_template, ...more }
        const answer = await trusting.call('createChatCompletion', { body })
        if (answer.status === 422) throw new SkipError('this deployment trusts no template of a request')
        return (answer.body as { prompt_token_ids?: number[] }).prompt_token_ids
      }
      const template = '{{ documents[0].title }} {{ note }} {{ reasoning_effort }} {{ messages[0].content }}'
      const documents = [{ title: 'Zug', text: 'x' }]
      const chat_template_kwargs = { note: 'abc', reasoning_effort: 'low', documents: [{ title: 'no' }] }
      const more = { documents, chat_template_kwargs, reasoning_effort: 'high' }
      expect(await promptOf(template, more)).toEqual(await promptOf('Zug abc high Say hello.'))
      const alone = await promptOf(template, { chat_template_kwargs })
      expect(alone).toEqual(await promptOf('no abc low Say hello.'))
    },
  )

  check('createChatCompletion/reads-a-long-prompt-whole', { source: fieldSource('messages') }, async () => {
    const { data } = await client.ok('listRouterModels')
    const room = data.find(model => model.id === target.baseModel)!.context_length
    const promptOf = async (count: number) => {
      const body = {
        ...GREEDY,
        max_completion_tokens: 1,
        messages: [{ role: 'user', content: 'hello '.repeat(count) }],
      }
      return (await complete(body)).usage!.prompt_tokens!
    }
    const [few, more] = [await promptOf(100), await promptOf(200)]
    // Words are so many tokens each, wherever they stand.
    const each = (more - few) / 100
    const words = Math.min(MOST_WORDS, Math.floor((0.75 * room) / each))
    expect(((await promptOf(words)) - few) / (words - 100)).toBeCloseTo(each, 1)
  })

  section('of a trained model', { home: true }, () => {
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
