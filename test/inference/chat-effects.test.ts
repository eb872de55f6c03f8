import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBaseModels } from '../../src/inference/base-models.ts'
import { createOnnxInferenceEngine } from '../../src/onnx/onnx-inference-engine.ts'
import { type Reply, startTestServer, type TestServer } from '../server/start.ts'
import { messages } from './chat-wire.ts'

/** What the operator's switches open, with the real engine. */
let server: TestServer

beforeAll(async () => {
  const inference = createOnnxInferenceEngine({
    baseModels: readBaseModels(''),
    queueLength: 100,
    maxBatch: 8,
    templateLimitMs: 500,
  })
  const environment = { TRUST_REQUEST_CHAT_TEMPLATE: '1', PRIORITY_SCHEDULING: '1' }
  server = await startTestServer({ parts: { inference }, environment })
})
afterAll(() => server.close())

const chat = (fields: object, headers: Record<string, string> = {}): Promise<Reply> => {
  const json = { messages, temperature: 0, max_completion_tokens: 4, return_token_ids: true, ...fields }
  return server.call('/v1/chat/completions', { json, headers })
}
const promptOf = async (fields: object): Promise<number[]> => {
  const { status, body, text } = await chat(fields)
  expect(status, text).toBe(200)
  return body.prompt_token_ids
}

describe('a template of the request’s own', () => {
  test('is the prompt, in either place', async () => {
    const plain = await promptOf({ chat_template: 'one' })
    expect(await promptOf({ chat_template_kwargs: { chat_template: 'one' } })).toEqual(plain)
    expect(await promptOf({ chat_template: 'one and more' })).not.toEqual(plain)
    expect(plain.length).toBeLessThan((await promptOf({})).length)
  })

  test.each<[string, object, object]>([
    ['chat_template_kwargs', { chat_template_kwargs: { mood: 'merry' } }, { chat_template: 'merry' }],
    ['documents', { documents: [{ title: 'a', text: 'merry' }] }, { chat_template: 'merry' }],
    ['reasoning_effort', { reasoning_effort: 'low' }, { chat_template: 'low' }],
    ['include_reasoning', { include_reasoning: false, return_token_ids: true }, { chat_template: 'off' }],
    ['add_generation_prompt', { add_generation_prompt: false }, { chat_template: 'closed' }],
  ])('sees %s', async (_, fields, same) => {
    const chat_template = [
      '{{ mood }}',
      '{% for document in documents or [] %}{{ document.text }}{% endfor %}',
      '{{ reasoning_effort }}',
      '{% if include_reasoning is defined and not include_reasoning %}off{% endif %}',
      '{% if not add_generation_prompt %}closed{% endif %}',
    ].join('')
    expect(await promptOf({ chat_template, ...fields })).toEqual(await promptOf(same))
  })

  test('that does not end, or cannot be read, is a 422, and other requests go on', async () => {
    const endless = '{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}'
    const others = Promise.all(Array.from({ length: 4 }, (_, seed) => chat({ seed, temperature: 1 })))
    for (const chat_template of [endless, '{% if %}', "{{ raise_exception('no') }}"]) {
      const { status, body } = await chat({ chat_template })
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'chat_template']])
    }
    expect((await others).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

test('a priority is accepted, and changes no text', async () => {
  const [first, later] = [await chat({ priority: -2 }), await chat({ priority: 7 })]
  expect([first.status, later.status]).toEqual([200, 200])
  expect(first.body.choices).toEqual(later.body.choices)
})

test('cached prompts are shared within a salt only, and the answer stays the same', async () => {
  const long = [{ role: 'user', content: 'Tell me about the sky, please. '.repeat(12) }]
  const ask = async (cache_salt: string) => {
    const { body } = await chat({ messages: long, cache_salt })
    return { cached: body.usage.prompt_tokens_details.cached_tokens, choices: body.choices }
  }
  const [first, again, other] = [await ask('a'), await ask('a'), await ask('b')]
  expect(first.cached).toBe(0)
  expect(again.cached).toBeGreaterThan(0)
  expect(other.cached).toBe(0)
  expect(again.choices).toEqual(first.choices)
  expect(other.choices).toEqual(first.choices)
})
