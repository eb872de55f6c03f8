import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import { fieldSource } from './chat-sources.ts'
import { streamChat } from './chat-stream.ts'
import { client, runId, target } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }
/** Long enough that a text which may not end repeats itself. */
const LONG = { temperature: 0, max_completion_tokens: 40, ignore_eos: true, return_token_ids: true }

const toFormSource = (_: string, form: object) => ({ source: fieldSource(Object.keys(form)[0]!) })
const toSource = (field: string) => ({ source: fieldSource(field) })

section('What the fields of a chat do, which a mock does not compute', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const first = async (more: object) => (await complete(more)).choices[0]!
  const textOf = async (more: object) => (await first(more)).message.content!
  const idsOf = async (more: object) => (await first(more)).token_ids!

  check('createChatCompletion/adds-logit-bias', { source: fieldSource('logit_bias') }, async () => {
    const [, other] = await idsOf(GREEDY)
    const ids = await idsOf({ ...LONG, max_completion_tokens: 3, logit_bias: { [other!]: 100 } })
    expect(ids).toEqual([other, other, other])
  })

  check('createChatCompletion/draws-only-allowed-tokens', { source: fieldSource('allowed_token_ids') }, async () => {
    const allowed = (await idsOf(GREEDY)).slice(0, 2)
    const ids = await idsOf({ ...LONG, temperature: 2, seed: 1, allowed_token_ids: allowed })
    expect(ids.filter(id => !allowed.includes(id))).toEqual([])
  })

  check('createChatCompletion/keeps-bad-words-out', { source: fieldSource('bad_words') }, async () => {
    const plain = await first({ ...GREEDY, logprobs: true })
    const [word] = plain.logprobs!.content!
    const without = await first({ ...GREEDY, bad_words: [word!.token] })
    expect(without.token_ids![0]).not.toBe(plain.token_ids![0])
  })

  checkEach<[string, number, number]>([
    ['presence_penalty', -2, 2],
    ['frequency_penalty', -2, 2],
    ['repetition_penalty', 0.5, 2],
  ])('createChatCompletion/applies-the-%s', toSource, async (field, liked, disliked) => {
    const distinct = async (value: number) => {
      const { choices } = await complete({ ...LONG, temperature: 1.5, seed: 1, n: 4, [field]: value })
      return choices.reduce((sum, { token_ids }) => sum + new Set(token_ids).size, 0)
    }
    expect(await distinct(disliked)).toBeGreaterThan(await distinct(liked))
  })

  check('createChatCompletion/ends-at-a-stop-token', { source: fieldSource('stop_token_ids') }, async () => {
    const ids = await idsOf(GREEDY)
    const stop = ids[1]!
    const choice = await first({ ...GREEDY, stop_token_ids: [stop] })
    expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: stop })
    expect(choice.token_ids).toEqual(ids.slice(0, ids.indexOf(stop) + 1))
  })

  check(
    'createChatCompletion/keeps-the-stop-text-when-asked',
    { source: fieldSource('include_stop_str_in_output') },
    async () => {
      const whole = await textOf(GREEDY)
      const stop = whole.slice(1, 3)
      const content = await textOf({ ...GREEDY, stop, include_stop_str_in_output: true })
      expect(content).toBe(whole.slice(0, whole.indexOf(stop) + stop.length))
    },
  )

  check(
    'createChatCompletion/goes-on-after-the-end-of-turn-and-before-enough-tokens',
    { source: fieldSource('ignore_eos') },
    async () => {
      const on = await complete(LONG)
      expect(on.usage!.completion_tokens).toBe(40)
      expect(on.choices[0]!.finish_reason).toBe('length')
      const least = { temperature: 0, max_completion_tokens: 30, min_tokens: 30 }
      expect((await complete(least)).usage!.completion_tokens).toBe(30)
    },
  )

  check('createChatCompletion/ends-a-repetition', { source: fieldSource('repetition_detection') }, async () => {
    const [only] = await idsOf(GREEDY)
    const repetition_detection = { max_pattern_size: 2, min_pattern_size: 1, min_count: 4 }
    const choice = await first({ ...LONG, allowed_token_ids: [only], repetition_detection })
    expect(choice).toMatchObject({ finish_reason: 'repetition', stop_reason: null, token_ids: Array(4).fill(only) })
  })

  check(
    'createChatCompletion/shows-special-tokens-when-asked',
    { source: fieldSource('skip_special_tokens') },
    async () => {
      const hidden = await textOf(LONG)
      const shown = await textOf({ ...LONG, skip_special_tokens: false, spaces_between_special_tokens: false })
      const apart = await textOf({ ...LONG, skip_special_tokens: false })
      expect(shown.length).toBeGreaterThan(hidden.length)
      expect(apart.length).toBeGreaterThan(shown.length)
    },
  )

  check('createChatCompletion/searches-beams', { source: fieldSource('use_beam_search') }, async () => {
    const { choices } = await complete({ ...GREEDY, n: 3, use_beam_search: true, length_penalty: 0, logprobs: true })
    expect(choices.map(choice => choice.index)).toEqual([0, 1, 2])
    expect(new Set(choices.map(choice => String(choice.token_ids))).size).toBe(3)
    const scores = choices.map(({ logprobs }) => logprobs!.content!.reduce((sum, { logprob }) => sum + logprob, 0))
    expect(scores).toEqual(scores.toSorted((one, other) => other - one))
  })

  check(
    'createChatCompletion/favours-long-beams-or-short-ones',
    { source: fieldSource('length_penalty') },
    async () => {
      const most = 12
      const beams = { ...GREEDY, max_completion_tokens: most, n: 4, use_beam_search: true, logprobs: true }
      const search = async (length_penalty: number) => {
        const { choices } = await complete({ ...beams, length_penalty })
        const lengths = choices.map(({ token_ids }) => token_ids!.length)
        const sums = choices.map(({ logprobs }) => logprobs!.content!.reduce((sum, { logprob }) => sum + logprob, 0))
        const scores = sums.map((sum, index) => sum / lengths[index]! ** length_penalty)
        expect(scores, `best first, at ${length_penalty}`).toEqual(scores.toSorted((one, other) => other - one))
        return lengths.reduce((sum, length) => sum + length, 0)
      }
      const [short, long] = [await search(-5), await search(5)]
      if (short === beams.n * most) throw new SkipError('every answer of this model is as long as it may be')
      expect(long).toBeGreaterThan(short)
    },
  )

  check('createChatCompletion/repeats-a-seed-whatever-else-runs', { source: fieldSource('seed') }, async () => {
    const seeded = { temperature: 1.5, max_completion_tokens: 16, n: 2, seed: 11 }
    const alone = (await complete(seeded)).choices
    const others = Array.from({ length: 6 }, (_, seed) => complete({ ...seeded, n: 1, seed }))
    expect((await complete(seeded)).choices).toEqual(alone)
    await Promise.all(others)
  })

  checkEach<[string, object, RegExp]>([
    ['json-object', { response_format: { type: 'json_object' } }, /^\{[\s\S]*\}$/],
    [
      'json-schema',
      {
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'a',
            schema: {
              type: 'object',
              properties: { a: { enum: ['x', 'y'] } },
              required: ['a'],
              additionalProperties: false,
            },
          },
        },
      },
      /^\{\s*"a"\s*:\s*"[xy]"\s*\}$/,
    ],
    ['json', { structured_outputs: { json: '{"type": "integer", "minimum": 10, "maximum": 99}' } }, /^\d\d$/],
    ['regex', { structured_outputs: { regex: '[ab]{3}-\\d{2}' } }, /^[ab]{3}-\d{2}$/],
    ['choice', { structured_outputs: { choice: ['left', 'right'] } }, /^(left|right)$/],
    ['grammar', { structured_outputs: { grammar: 'root ::= "<" ("p" | "q") ">"' } }, /^<[pq]>$/],
  ])('createChatCompletion/follows-a-form-%s', toFormSource, async (_, form, pattern) => {
    const body = { temperature: 1, seed: 5, max_completion_tokens: 400, ...form }
    const choice = await first(body)
    const content = choice.message.content!
    // A weak model may fill a text until its tokens run out.
    if (choice.finish_reason === 'length') expect(content).toMatch(/^\{/)
    else expect(content).toMatch(pattern)
    expect((await streamChat({ ...base, ...body })).texts).toEqual([content])
  })

  check('createChatCompletion/reports-logprobs-of-the-prompt', { source: fieldSource('prompt_logprobs') }, async () => {
    const { prompt_logprobs, prompt_token_ids } = await complete({ ...GREEDY, prompt_logprobs: 2 })
    expect(prompt_logprobs).toHaveLength(prompt_token_ids!.length)
    expect(prompt_logprobs![0]).toBeNull()
    for (const [place, entry] of prompt_logprobs!.slice(1).entries()) {
      const own = entry![String(prompt_token_ids![place + 1])]!
      expect(own.logprob).toBeLessThanOrEqual(0)
      const ranks = Object.values(entry!).map(({ rank }) => rank)
      expect(ranks.toSorted((one, other) => one - other).slice(0, 2)).toEqual([1, 2])
    }
    expect((await complete(GREEDY)).prompt_logprobs).toBeNull()
  })

  check(
    'createChatCompletion/writes-tokens-as-ids',
    { source: fieldSource('return_tokens_as_token_ids') },
    async () => {
      const { logprobs, token_ids } = await first({ ...GREEDY, logprobs: true, return_tokens_as_token_ids: true })
      expect(logprobs!.content!.map(({ token }) => token)).toEqual(token_ids!.map(id => `token_id:${id}`))
    },
  )

  check('createChatCompletion/continues-and-echoes-the-last-message', { source: fieldSource('echo') }, async () => {
    const open = [...messages, { role: 'assistant', content: 'Hel' }]
    const going = { ...GREEDY, messages: open, continue_final_message: true }
    const [plain, echoed] = [await first(going), await complete({ ...going, echo: true })]
    const closed = await complete({ ...GREEDY, messages: open })
    const prompt = (await complete(going)).usage!.prompt_tokens!
    expect(prompt, 'nothing ends the last message and nothing opens another').toBeLessThan(closed.usage!.prompt_tokens!)
    expect(echoed.choices[0]!.message).toMatchObject({ role: 'assistant', content: `Hel${plain.message.content}` })
    expect(echoed.prompt_logprobs).toHaveLength(echoed.usage!.prompt_tokens!)
    const { chunks } = await streamChat({ ...base, ...going, echo: true })
    expect(chunks.slice(0, 2).map(({ choices }) => choices[0]!.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'Hel' },
    ])
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(`Hel${plain.message.content}`)
  })

  check(
    'createChatCompletion/answers-in-the-role-of-the-last-message-without-a-generation-prompt',
    { source: fieldSource('add_generation_prompt') },
    async () => {
      expect((await first({ ...GREEDY, add_generation_prompt: false })).message.role).toBe('user')
    },
  )

  check(
    'createChatCompletion/truncates-the-prompt-at-its-beginning',
    { source: fieldSource('truncate_prompt_tokens') },
    async () => {
      const whole = (await complete(GREEDY)).prompt_token_ids!
      const { prompt_token_ids, usage } = await complete({ ...GREEDY, truncate_prompt_tokens: 4 })
      expect(prompt_token_ids).toEqual(whole.slice(-4))
      expect(usage!.prompt_tokens).toBe(4)
      const long = [{ role: 'user', content: 'hello '.repeat(20_000) }]
      const fitted = await complete({ ...GREEDY, messages: long, truncate_prompt_tokens: -1, return_token_ids: false })
      expect(fitted.choices).toHaveLength(1)
    },
  )

  check('createChatCompletion/takes-its-id-from-the-request', { source: fieldSource('request_id') }, async () => {
    expect((await complete({ ...GREEDY, request_id: `${runId}-a` })).id).toBe(`chatcmpl-${runId}-a`)
    const headers = { 'x-request-id': `${runId}-b` }
    const body = { ...base, ...GREEDY, request_id: `${runId}-a` }
    expect((await client.ok('createChatCompletion', { body, headers })).id).toBe(`chatcmpl-${runId}-b`)
  })

  check(
    'createChatCompletion/shares-no-cached-prompt-with-a-new-salt',
    { source: fieldSource('cache_salt') },
    async () => {
      // Long enough to be kept; the first one leaves it in the cache of those without salt.
      const long = { ...GREEDY, messages: [{ role: 'user', content: 'hello '.repeat(100) }] }
      const cached = async (more: object) =>
        (await complete({ ...long, ...more })).usage!.prompt_tokens_details?.cached_tokens ?? 0
      await cached({})
      for (const salt of ['one', 'two']) expect(await cached({ cache_salt: `${runId}-${salt}` })).toBe(0)
    },
  )

  check(
    'createChatCompletion/hides-tokens-with-the-reasoning',
    { source: fieldSource('include_reasoning') },
    async () => {
      const choice = await first({ ...GREEDY, logprobs: true, include_reasoning: false })
      expect(choice).toMatchObject({ logprobs: null, token_ids: null, message: { reasoning: null } })
      expect(choice.message.content).toBe(await textOf(GREEDY))
    },
  )

  check(
    'createChatCompletion/takes-every-variant-of-a-message-and-what-it-answered-itself',
    { source: fieldSource('messages') },
    async () => {
      const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
      const answer = await first(GREEDY)
      const history = [
        { role: 'developer', content: 'Be brief.' },
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', content: [{ type: 'text', text: '3' }], tool_call_id: 'call_1' },
        answer,
        { role: 'user', content: ['again', { type: 'refusal', refusal: 'no' }], name: 'ada' },
      ]
      const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
      const { usage } = await complete({ ...GREEDY, messages: history, tools, parallel_tool_calls: false })
      const without = await complete({ ...GREEDY, messages: history })
      expect(usage!.prompt_tokens).toBeGreaterThan(without.usage!.prompt_tokens!)
    },
  )
})
