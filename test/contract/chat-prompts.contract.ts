/** What becomes of the messages of a chat: how they make the prompt, and what is told of it. */
import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import { BETWEEN_FIELDS_SOURCE, fieldSource } from './chat-sources.ts'
import { client, clientOf, inProcess, target } from './setup.ts'

const messages = [{ role: 'user', content: 'Say hello.' }]
const GREEDY = { temperature: 0, max_completion_tokens: 12, return_token_ids: true }
const ONE_TOKEN = { ...GREEDY, max_completion_tokens: 1 }
/** Of a long prompt. */
const MOST_WORDS = 1500

section('Prompts of a chat, which a mock does not read', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages }
  const complete = (more: object) => client.ok('createChatCompletion', { body: { ...base, ...more } })
  const first = async (more: object) => (await complete(more)).choices[0]!
  const idsOf = async (more: object) => (await complete(more)).choices.map(({ token_ids }) => token_ids)

  check('createChatCompletion/takes-the-message-of-a-choice', { source: fieldSource('messages') }, async () => {
    const choice = await first(GREEDY)
    const promptOf = async (answer: object) => {
      const history = [...messages, answer, { role: 'user', content: 'Again.' }]
      return (await complete({ ...GREEDY, messages: history })).prompt_token_ids
    }
    expect(await promptOf(choice)).toEqual(await promptOf({ role: 'assistant', content: choice.message.content }))
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

  check(
    'createChatCompletion/reads-parts-without-a-type-and-refusals-as-text',
    { source: '/components/schemas/OtherContentPart/description' },
    async () => {
      const promptOf = async (content: unknown) =>
        (await complete({ ...ONE_TOKEN, messages: [{ role: 'user', content }] })).prompt_token_ids
      const text = await promptOf('Say')
      expect(await promptOf([{ text: 'Say' }])).toEqual(text)
      expect(await promptOf([{ type: 'refusal', refusal: 'Say' }])).toEqual(text)
    },
  )

  check('createChatCompletion/reads-every-message', { source: fieldSource('messages') }, async () => {
    const promptOf = async (...contents: string[]) => {
      const history = contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))
      return (await complete({ ...ONE_TOKEN, messages: history })).prompt_token_ids!
    }
    const whole = await promptOf('Red.', 'Green.', 'Blue.')
    expect(whole.length).toBeGreaterThan((await promptOf('Blue.')).length)
    expect(await promptOf('Black.', 'Green.', 'Blue.')).not.toEqual(whole)
    expect(await promptOf('Red.', 'Black.', 'Blue.')).not.toEqual(whole)
  })

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
})
