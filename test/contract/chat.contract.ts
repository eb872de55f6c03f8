import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { operationById } from '../../src/spec/document.ts'
import { BETWEEN_FIELDS_SOURCE, fieldSource, propertiesOf, STREAM_SOURCE, USAGE_SOURCE } from './chat-sources.ts'
import { ANY_TOKENS, expectSameWholes, fromChoices, fromChunks, streamChat } from './chat-stream.ts'
import { client, foreignTeam, home, project, runId, target, uriOf } from './setup.ts'

const OPERATION = operationById('createChatCompletion').pointer
const TWIN = operationById('createChatCompletionSlash').pointer
const KEYS = '/components/schemas/ChatCompletion/description'
const FIELDS = '/components/schemas/ChatCompletionRequest/properties'
const messages = [{ role: 'user', content: 'Say hello.' }]
const SEEDED = { temperature: 1, seed: 7, max_completion_tokens: 12 }
const GREEDY = { temperature: 0, max_completion_tokens: 12 }
/** Requests that together have everything in their answers. */
const TWIN_BODIES: Readonly<Record<string, object>> = {
  'with-choices': { n: 2 },
  'with-tokens': { n: 2, logprobs: true, top_logprobs: 2, return_token_ids: true },
  'with-prompt-logprobs': { prompt_logprobs: 2 },
  'at-a-stop-token': { stop_token_ids: ANY_TOKENS, return_token_ids: true },
  'in-a-form': { structured_outputs: { choice: ['left', 'right'] } },
  'at-the-limit': { max_completion_tokens: 1 },
}

section('Chat', {}, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object, options: object = {}) =>
    client.ok('createChatCompletion', { body: { ...base, ...more }, ...options })

  check('createChatCompletion/answers', { source: `${OPERATION}/responses/200`, home: false }, async () => {
    const completion = await complete(SEEDED)
    expect(completion.object ?? 'chat.completion').toBe('chat.completion')
    expect(completion.choices[0]).toMatchObject({ index: 0, message: { role: 'assistant' } })
  })

  check('createChatCompletionSlash/answers', { source: `${TWIN}/responses/200`, home: false }, async () => {
    const { choices } = await client.ok('createChatCompletionSlash', { body: { ...base, ...SEEDED } })
    expect(choices[0]).toMatchObject({ index: 0, message: { role: 'assistant' } })
  })

  check('createChatCompletion/streams', { home: false, source: STREAM_SOURCE }, async () => {
    const { chunks } = await streamChat({ ...base, ...SEEDED })
    expect(chunks.length).toBeGreaterThan(1)
  })

  check('listInferenceModels/lists-base-models', { home: false }, async () => {
    const { object, data } = await client.ok('listInferenceModels')
    expect(object).toBe('list')
    if (!target.isMock)
      expect(data).toContainEqual(
        expect.objectContaining({ id: target.baseModel, owned_by: 'system', root: target.baseModel }),
      )
  })

  section('what a mock does not compute', { needs: ['memory'] }, () => {
    const uri = () => uriOf(home)
    const refuse = (more: object, status = 422) =>
      client.refused('createChatCompletion', status, { body: { ...base, ...more } })

    check('createChatCompletion/echoes-the-model-and-counts-tokens', { source: USAGE_SOURCE }, async () => {
      const { model, usage, choices, created, id } = await complete({ ...SEEDED, return_token_ids: true })
      expect(model).toBe(target.baseModel)
      expect(id).toMatch(/^chatcmpl-/)
      expect(Math.abs(created! - Date.now() / 1000)).toBeLessThan(60 * 60)
      expect(usage!.total_tokens).toBe(usage!.prompt_tokens! + usage!.completion_tokens!)
      expect(choices[0]!.token_ids).toHaveLength(usage!.completion_tokens!)
      expect(usage!.completion_tokens).toBeLessThanOrEqual(SEEDED.max_completion_tokens)
    })

    check(
      'createChatCompletion/uses-the-only-base-model-when-none-is-named',
      { source: fieldSource('model') },
      async () => {
        const ask = (more: object) =>
          client.ok('createChatCompletion', { body: { messages, ...GREEDY, return_token_ids: true, ...more } })
        const { model, prompt_token_ids } = await ask({})
        expect(model).not.toBe('')
        for (const none of [null, '']) expect((await ask({ model: none })).prompt_token_ids).toEqual(prompt_token_ids)
      },
    )

    check('createChatCompletion/sends-every-key-and-null-without-a-value', { source: KEYS }, async () => {
      const completion = await complete(GREEDY)
      for (const key of propertiesOf('ChatCompletion')) expect(completion).toHaveProperty(key)
      const nothing = { refusal: null, annotations: null, audio: null, function_call: null, tool_calls: null }
      expect(completion).toMatchObject({ service_tier: null, choices: [{ message: nothing }] })
    })

    check('createChatCompletion/gives-n-choices', { source: `${FIELDS}/n` }, async () => {
      const { choices, usage } = await complete({ ...SEEDED, n: 3, return_token_ids: true })
      expect(choices.map(choice => choice.index)).toEqual([0, 1, 2])
      if (target.profile === 'full')
        expect(choices.flatMap(choice => choice.token_ids!)).toHaveLength(usage!.completion_tokens!)
    })

    check('createChatCompletion/repeats-itself-with-the-same-seed', { source: fieldSource('seed') }, async () => {
      const texts = async () => (await complete({ ...SEEDED, n: 2 })).choices.map(choice => choice.message.content)
      expect(await texts()).toEqual(await texts())
    })

    check('createChatCompletion/is-greedy-at-temperature-0', { source: fieldSource('temperature') }, async () => {
      const text = async (seed: number) => (await complete({ ...GREEDY, seed })).choices[0]!.message.content
      expect(await text(1)).toBe(await text(2))
    })

    check(
      'createChatCompletion/ends-with-length-at-the-limit',
      { source: fieldSource('max_completion_tokens') },
      async () => {
        const few = (limits: object) => complete({ temperature: 0, return_token_ids: true, ...limits })
        const whole = (await few({ max_completion_tokens: 12 })).choices[0]!.token_ids!
        for (const limits of [{ max_completion_tokens: 1, max_tokens: 5 }, { max_tokens: 1 }]) {
          const { choices, usage } = await few(limits)
          expect(usage!.completion_tokens).toBe(1)
          expect(choices[0]!.token_ids).toEqual(whole.slice(0, 1))
          expect(choices[0]!.finish_reason).toBe(whole.length > 1 ? 'length' : 'stop')
        }
      },
    )

    check('createChatCompletion/cuts-at-a-stop-text', { source: fieldSource('stop') }, async () => {
      const whole = (await complete(GREEDY)).choices[0]!.message.content!
      const stop = whole.slice(1, 3)
      const { choices } = await complete({ ...GREEDY, stop: [stop, 'never there'] })
      expect(choices[0]).toMatchObject({
        finish_reason: 'stop',
        stop_reason: null,
        message: { content: whole.slice(0, whole.indexOf(stop)) },
      })
    })

    check('createChatCompletion/reports-logprobs-as-asked', { source: fieldSource('logprobs') }, async () => {
      expect((await complete(GREEDY)).choices[0]!.logprobs).toBeNull()
      const { choices, usage } = await complete({ ...GREEDY, logprobs: true, top_logprobs: 3 })
      const content = choices[0]!.logprobs!.content!
      expect(content).toHaveLength(usage!.completion_tokens!)
      for (const { logprob, token, bytes, top_logprobs } of content) {
        expect(logprob).toBeLessThanOrEqual(0)
        expect(top_logprobs).toHaveLength(3)
        // Greedy: the token is the most probable one.
        expect(top_logprobs![0]).toMatchObject({ token, bytes })
        expect(top_logprobs![0]!.logprob).toBeCloseTo(logprob, 5)
      }
      const text = Buffer.from(content.flatMap(({ bytes }) => bytes ?? [])).toString()
      expect(text.startsWith(choices[0]!.message.content!)).toBe(true)
    })

    check(
      'createChatCompletion/gives-a-trained-model-logprobs-and-token-ids-unasked',
      { source: fieldSource('logprobs') },
      async () => {
        const [choice] = (await complete({ ...SEEDED, model: uri() })).choices
        expect(choice!.logprobs!.content).toHaveLength(choice!.token_ids!.length)
        const quiet = await complete({ ...SEEDED, model: uri(), logprobs: false })
        expect(quiet.choices[0]!.logprobs).toBeNull()
      },
    )

    check('createChatCompletion/takes-every-form-of-a-model-uri', { source: fieldSource('model') }, async () => {
      const plain = (await complete(GREEDY)).choices[0]!.message.content
      for (const model of [
        uri(),
        `${uri()}:step0`,
        `${uri()}:latest`,
        `${uri()}:v0`,
        uri().replace(':///', '://'),
        uri().replace(/^[a-z-]+:/, 'wandb-artifact:'),
      ]) {
        const completion = await complete({ ...GREEDY, model })
        expect(completion.model).toBe(model)
        expect(completion.choices[0]!.message.content, 'step 0 answers like the base model').toBe(plain)
      }
    })

    check('createChatCompletion/does-not-find-an-unknown-model', { source: fieldSource('model') }, async () => {
      const names = [
        `${runId}-none`,
        `${uri()}:step9`,
        `${uri()}-none`,
        uriOf({ entity: foreignTeam, project, name: 'n' }),
        '../tiny-chat',
      ]
      for (const model of names) expect((await refuse({ model }, 404)).error.param, model).toBe('model')
      if (!target.secondApiKey) return
      const as = { bearer: target.secondApiKey }
      await client.refused('createChatCompletion', 404, { body: { ...base, model: uri() }, as })
    })

    check('createChatCompletion/refuses-a-prompt-beyond-the-context', { source: BETWEEN_FIELDS_SOURCE }, async () => {
      const { data } = await client.ok('listRouterModels')
      const tokens = data.find(model => model.id === target.baseModel)!.context_length
      const content = 'hello '.repeat(tokens + 1)
      const [detail] = (await refuse({ messages: [{ role: 'user', content }] })).detail as { loc: string[] }[]
      expect(detail!.loc.slice(0, 2)).toEqual(['body', 'messages'])
    })

    check('createChatCompletion/takes-content-in-parts', { source: fieldSource('messages') }, async () => {
      const parts = [
        { type: 'text', text: 'Say ' },
        { type: 'text', text: 'hello.' },
      ]
      expect((await complete({ ...GREEDY, messages: [{ role: 'user', content: parts }] })).choices).toHaveLength(1)
    })

    check('createChatCompletion/takes-the-project-header-under-both-names', async () => {
      const send = (headers: Record<string, string>, status: number) =>
        client
          .call('createChatCompletion', { body: { ...base, ...GREEDY }, headers, bad: status === 422 })
          .then(answer => expect(answer.status).toBe(status))
      await send({ 'vendor-project': `${home.entity}/${project}` }, 200)
      await send({ 'openai-project': `${home.entity}/${project}` }, 200)
      await send({ 'openai-project': 'proj_123' }, 200)
      await send({ 'vendor-project': `${foreignTeam}/p` }, 403)
      await send({ 'vendor-project': 'no slash' }, 422)
      await client.refused('createChatCompletionSlash', 403, {
        body: base,
        headers: { 'vendor-project': `${foreignTeam}/p` },
      })
      await client.refused('listInferenceModels', 403, { headers: { 'vendor-project': `${foreignTeam}/p` } })
      await client.refused('listInferenceModels', 422, { headers: { 'vendor-project': 'no slash' } })
    })

    checkEach(Object.entries(TWIN_BODIES))('createChatCompletionSlash/is-its-twin-%s', async (_, more) => {
      const body = { ...base, ...SEEDED, ...more }
      const twins = [
        await client.ok('createChatCompletion', { body }),
        await client.ok('createChatCompletionSlash', { body }),
      ] as const
      expectSameWholes(fromChoices(twins[1].choices), fromChoices(twins[0].choices))
      const rest = ({ id: _, created: __, choices: ___, usage, prompt_logprobs, ...kept }: (typeof twins)[number]) => ({
        ...kept,
        ...{ prompt: prompt_logprobs?.length, tokens: usage?.total_tokens },
      })
      expect(rest(twins[1])).toEqual(rest(twins[0]))
      if ('prompt_logprobs' in more) return
      const streams = [await streamChat(body), await streamChat(body, { id: 'createChatCompletionSlash' })] as const
      expectSameWholes(fromChunks(streams[1].chunks), fromChunks(streams[0].chunks))
    })

    check('inference-address/has-chat-and-models', { source: '/info/description#Addresses' }, async () => {
      expect((await complete(GREEDY, { inference: true })).choices).toHaveLength(1)
      const { data } = await client.ok('listInferenceModels', { inference: true })
      const entry = { id: `${uri()}:step0`, owned_by: 'system', root: target.baseModel }
      expect(data).toContainEqual(expect.objectContaining(entry))
    })
  })
})
