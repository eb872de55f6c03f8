import { expect } from 'vitest'
import type { GeneratePart, GenerateRequest } from '../../../src/inference/engine.ts'
import { noOpInference } from '../../no-op-engine.ts'
import { createModel, type Reply, startTestServer } from '../../server/start.ts'
import { delta, faultOf, finish, fold, MARKS, messages, promptPart, read, stream, token } from '../chat-wire.ts'
import { changes, type FieldTest } from './field-test.ts'

/** What the server asks its engine, and answers. */
async function ask(
  bodies: object[],
  { environment = {}, headers = {} }: { environment?: Record<string, string>; headers?: Record<string, string> } = {},
): Promise<{ requests: GenerateRequest[]; replies: Reply[] }> {
  const requests: GenerateRequest[] = []
  const inference = {
    ...noOpInference,
    generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<GeneratePart> {
      requests.push(request)
      return noOpInference.generate(request, signal)
    },
  }
  const server = await startTestServer({ environment, parts: { inference } })
  try {
    await createModel(server, 'm')
    const replies: Reply[] = []
    for (const body of bodies) {
      replies.push(await server.call('/v1/chat/completions', { json: { messages, ...body }, headers }))
    }
    return { requests, replies }
  } finally {
    await server.close()
  }
}

const parts = [promptPart(), delta(0, '<think>so</think>yes', token(7), token(8)), finish(0, 'stop')]

export const replyFields: FieldTest[] = [
  {
    field: 'model',
    does: 'names the base model, or the trained one with its adapter',
    async check() {
      const model = 'artifact:///default/tests/m'
      const { requests, replies } = await ask([{ model: 'tiny-chat' }, { model }, { model: 'none' }])
      expect(requests.map(({ adapter }) => adapter !== null)).toEqual([false, true])
      expect(replies.map(({ body }) => body.model ?? body.error.code)).toEqual(['tiny-chat', model, 'model_not_found'])
    },
  },
  {
    field: 'stream',
    does: 'answers with events',
    async check() {
      const { replies } = await ask([{ stream: true }, { stream: false }, { stream: null }])
      const types = replies.map(({ headers }) => headers.get('content-type')!.split(';')[0])
      expect(types).toEqual(['text/event-stream', 'application/json', 'application/json'])
    },
  },
  {
    field: 'stream_options',
    does: 'asks for usage at the end, or in every frame',
    check() {
      const of = (stream_options: object | null) => {
        const { usageFrame, usageInEveryFrame } = read({ stream: true, stream_options }).options
        return [usageFrame, usageInEveryFrame]
      }
      expect([of(null), of({}), of({ include_usage: true }), of({ include_usage: false })]).toEqual([
        [false, false],
        [true, false],
        [true, false],
        [false, false],
      ])
      expect(of({ continuous_usage_stats: true })).toEqual([true, true])
      expect(of({ include_usage: false, continuous_usage_stats: true })).toEqual([false, false])
    },
  },
  {
    field: 'request_id',
    does: 'ends the id of the reply, unless the header x-request-id does',
    async check() {
      const bodies = [{ request_id: 'mine' }, { request_id: 'mine', stream: true }, { request_id: '' }]
      const { replies } = await ask(bodies)
      expect(replies[0]!.body.id).toBe('chatcmpl-mine')
      expect(replies[1]!.text).toContain('"id":"chatcmpl-mine"')
      expect(replies[2]!.body.id).toBe(`chatcmpl-${replies[2]!.headers.get('x-request-id')}`)
      const named = await ask(bodies.slice(0, 1), { headers: { 'x-request-id': 'theirs' } })
      expect(named.replies[0]!.body.id).toBe('chatcmpl-theirs')
    },
  },
  {
    field: 'cache_salt',
    does: 'keeps cached prompts apart, beside the team',
    async check() {
      const { requests } = await ask([{}, { cache_salt: 'a' }, { cache_salt: 'b' }, { cache_salt: 'a' }])
      const [none, a, b, again] = requests.map(({ cacheScope }) => cacheScope)
      expect(new Set([none, a, b]).size).toBe(3)
      expect(again).toBe(a)
      for (const scope of [none, a, b]) expect(scope).toContain('default')
    },
  },
  {
    field: 'priority',
    does: 'goes to the engine where priority scheduling is on, and is a 422 otherwise',
    async check() {
      const { requests } = await ask([{ priority: -3 }, {}], { environment: { PRIORITY_SCHEDULING: '1' } })
      expect(requests.map(({ priority }) => priority)).toEqual([-3, 0])
      expect(faultOf({ priority: -3 })).toEqual({ loc: ['body', 'priority'], type: 'value_error' })
    },
  },
  changes('logprobs', true, task => task.options.logprobs, true),
  changes('return_token_ids', true, ({ options }) => [options.tokenIds, options.promptTokenIds], [true, true]),
  {
    field: 'return_token_ids',
    does: 'left out, is true of the answer of a trained model only; false is respected',
    check() {
      const of = (fields: object) => {
        const { tokenIds, promptTokenIds } = read(fields, { model: { trained: true } }).options
        return [tokenIds, promptTokenIds]
      }
      expect([of({}), of({ return_token_ids: false }), of({ logprobs: false })]).toEqual([
        [true, false],
        [false, false],
        [false, false],
      ])
      expect(of({ logprobs: false, return_token_ids: true })).toEqual([true, true])
    },
  },
  {
    field: 'return_token_ids',
    does: 'shows the ids of the prompt and of the answer',
    async check() {
      const { choices, prompt_token_ids } = await fold(parts, read({ return_token_ids: true }).options)
      expect([prompt_token_ids, choices[0]!.token_ids]).toEqual([
        [1, 2, 3],
        [7, 8],
      ])
    },
  },
  {
    field: 'return_tokens_as_token_ids',
    does: 'writes tokens as token_id:<id>, alternatives too, in a stream too',
    async check() {
      const { options } = read({ logprobs: true, return_tokens_as_token_ids: true })
      const whole = (await fold(parts, options)).choices[0]!.logprobs!.content!
      expect(whole.map(({ token, top_logprobs }) => [token, top_logprobs[0]!.token])).toEqual([
        ['token_id:7', 'token_id:7'],
        ['token_id:8', 'token_id:8'],
      ])
      const streamed = (await stream(parts, 1, options)).flatMap(({ choices }) => choices[0]!.logprobs?.content ?? [])
      expect(streamed).toEqual(whole)
      const plain = (await fold(parts, read({ logprobs: true }).options)).choices[0]!.logprobs!.content!
      expect(plain[0]!.token).toBe('t7')
    },
  },
  {
    field: 'include_reasoning',
    does: 'false hides reasoning, log-probabilities and token ids',
    async check() {
      const fields = { logprobs: true, return_token_ids: true }
      const model = { reasoning: MARKS }
      const shown = (await fold(parts, read(fields, { model }).options)).choices[0]!
      expect(shown.message).toMatchObject({ reasoning: 'so', content: 'yes' })
      expect(shown.logprobs!.content).toHaveLength(2)
      const { options, sampling } = read({ ...fields, include_reasoning: false }, { model })
      const hidden = (await fold(parts, options)).choices[0]!
      expect(hidden).toMatchObject({ message: { reasoning: null, content: 'yes' }, logprobs: null, token_ids: null })
      expect(sampling.topLogprobs).toBeNull()
      expect(JSON.stringify(await stream(parts, 1, options))).not.toMatch(/"so"|"token_ids":\[\d/)
    },
  },
  {
    field: 'echo',
    does: 'puts the last message’s content before the text, in a frame of its own in a stream',
    async check() {
      const { options } = read({ messages: [...messages, { role: 'assistant', content: 'I say ' }], echo: true })
      expect((await fold(parts, options)).choices[0]!.message.content).toBe('I say <think>so</think>yes')
      const [opening, echo] = await stream(parts, 1, options)
      expect([opening!.choices[0]!.delta, echo!.choices[0]!.delta]).toEqual([
        { role: 'assistant', content: '' },
        { content: 'I say ' },
      ])
    },
  },
  {
    field: 'prompt_logprobs',
    does: 'shows each token of the prompt with its rank, and the alternatives to it',
    async check() {
      const entry = (id: number, rank: number) => ({ id, token: `t${id}`, bytes: [id], logprob: -rank, rank })
      const prompt = promptPart([1, 2], [null, [entry(2, 2), entry(9, 1)]])
      const { prompt_logprobs } = await fold([prompt, finish(0, 'stop')])
      expect(prompt_logprobs).toEqual([
        null,
        { 2: { logprob: -2, rank: 2, decoded_token: 't2' }, 9: { logprob: -1, rank: 1, decoded_token: 't9' } },
      ])
    },
  },
]
