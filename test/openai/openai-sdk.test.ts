import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { LengthFinishReasonError } from 'openai/core/error'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSettings } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve.ts'

const apiKey = randomBytes(24).toString('base64url')
const hello = [{ role: 'user' as const, content: 'hello' }]
/** The same answer every time, to compare ways of asking for it. */
const request = { model: 'tiny-chat', messages: hello, temperature: 0, max_completion_tokens: 24 }

const ADD = { type: 'function' as const, function: { name: 'add', parameters: { type: 'object', properties: {} } } }

function toFormat(schema: Record<string, unknown>) {
  return { response_format: { type: 'json_schema' as const, json_schema: { name: 'answer', strict: true, schema } } }
}

let folder: string
let server: RunningServer
let openai: OpenAI

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trainyard-openai-'))
  server = await start('server', {})
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 })
})

afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

function start(name: string, settings: Record<string, string>): Promise<RunningServer> {
  const DATA_DIR = join(folder, name)
  return startServer(
    readSettings({ PORT: '0', LOG_LEVEL: 'silent', STRICT: '1', API_KEY: apiKey, DATA_DIR, ...settings }),
  )
}

/** What a promise rejects with. */
async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it should have failed'),
    error => error,
  )
}

describe('chat', () => {
  it('answers with a whole completion', async () => {
    const completion = await openai.chat.completions.create(request)
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'tiny-chat' })
    const [choice] = completion.choices
    expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant' } })
    expect(choice!.message.content).toMatch(/\w+/)
    const { prompt_tokens, completion_tokens, total_tokens } = completion.usage!
    expect(prompt_tokens).toBeGreaterThan(0)
    expect(completion_tokens).toBeGreaterThan(0)
    expect(total_tokens).toBe(prompt_tokens + completion_tokens)
  })

  it('draws n choices, the same again with the same seed', async () => {
    const draw = () => openai.chat.completions.create({ ...request, temperature: 1.5, n: 4, seed: 5 })
    const [one, other] = await Promise.all([draw(), draw()])
    expect(one.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect(new Set(one.choices.map(({ message }) => message.content)).size).toBeGreaterThan(1)
    expect(other.choices).toEqual(one.choices)
  })

  it('gives log-probabilities whose best alternative is the greedy choice', async () => {
    const completion = await openai.chat.completions.create({ ...request, logprobs: true, top_logprobs: 3 })
    const tokens = completion.choices[0]!.logprobs!.content!
    expect(tokens.length).toBe(completion.usage!.completion_tokens)
    for (const { token, logprob, top_logprobs } of tokens) {
      expect(top_logprobs).toHaveLength(3)
      expect(top_logprobs[0]).toMatchObject({ token, logprob })
    }
  })

  it('ends at a stop text, which is not part of the answer, and at the token limit', async () => {
    const { choices } = await openai.chat.completions.create(request)
    const whole = choices[0]!.message.content!
    const stop = whole[Math.floor(whole.length / 2)]!
    const stopped = await openai.chat.completions.create({ ...request, stop })
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: whole.slice(0, whole.indexOf(stop)) },
    })
    const cut = await openai.chat.completions.create({ ...request, max_completion_tokens: 2 })
    expect(cut.choices[0]!.finish_reason).toBe('length')
    expect(cut.usage!.completion_tokens).toBe(2)
  })
})

describe('forms and histories', () => {
  const answer = {
    type: 'object',
    properties: { answer: { enum: ['yes', 'no'] } },
    required: ['answer'],
    additionalProperties: false,
  }
  const asked = { ...request, temperature: 1, seed: 3, max_completion_tokens: 200, ...toFormat(answer) }

  it('parses what follows a JSON schema', async () => {
    const response_format = {
      ...asked.response_format,
      $brand: 'auto-parseable-response-format' as const,
      $parseRaw: (content: string) => JSON.parse(content) as { answer: string },
    }
    const completion = await openai.chat.completions.parse({ ...asked, response_format } as never)
    const { parsed } = completion.choices[0]!.message as { parsed: { answer: string } | null }
    expect(['yes', 'no']).toContain(parsed!.answer)
  })

  it('says so when the tokens ran out before the form was complete', async () => {
    const cut = { ...asked, max_completion_tokens: 2 }
    expect((await openai.chat.completions.create(cut)).choices[0]!.finish_reason).toBe('length')
    const stream = openai.chat.completions.stream({
      ...cut,
      response_format: { ...cut.response_format, $brand: 'auto-parseable-response-format', $parseRaw: JSON.parse },
    } as never)
    expect(await failureOf(stream.finalChatCompletion())).toBeInstanceOf(LengthFinishReasonError)
  })

  it('shows tools and their calls to the model', async () => {
    const call = { id: 'call_1', type: 'function' as const, function: { name: 'add', arguments: '{"a":1,"b":2}' } }
    const history = [
      ...hello,
      { role: 'assistant' as const, tool_calls: [call] },
      { role: 'tool' as const, tool_call_id: 'call_1', content: '3' },
    ]
    const completion = await openai.chat.completions.create({ ...request, messages: history, tools: [ADD] })
    expect(completion.choices[0]!.message.tool_calls ?? null).toBeNull()
    const without = await openai.chat.completions.create({ ...request, messages: history })
    expect(completion.usage!.prompt_tokens).toBeGreaterThan(without.usage!.prompt_tokens)
  })
})

describe('streaming', () => {
  it('adds up to the completion, chunk by chunk', async () => {
    const whole = await openai.chat.completions.create(request)
    const stream = await openai.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks[0]!.choices[0]!.delta).toMatchObject({ role: 'assistant' })
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).toBe(whole.choices[0]!.message.content)
    expect(
      chunks.filter(({ choices }) => choices[0]?.finish_reason).map(({ choices }) => choices[0]!.finish_reason),
    ).toEqual(['stop'])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage })
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.length).toBeGreaterThan(3)
  })

  it('feeds the stream helper, which puts the completion together', async () => {
    const whole = await openai.chat.completions.create({ ...request, logprobs: true })
    const stream = openai.chat.completions.stream({
      ...request,
      logprobs: true,
      stream_options: { include_usage: true },
    })
    const deltas: string[] = []
    stream.on('content', delta => deltas.push(delta))
    const final = await stream.finalChatCompletion()
    expect(deltas.join('')).toBe(whole.choices[0]!.message.content)
    expect(final.choices[0]!.message.content).toBe(whole.choices[0]!.message.content)
    expect(final.choices[0]!.finish_reason).toBe('stop')
    expect(final.choices[0]!.logprobs!.content).toEqual(whole.choices[0]!.logprobs!.content)
    expect(final.usage).toEqual(whole.usage)
  })

  it('lets the caller go away in the middle and goes on serving', async () => {
    const stream = await openai.chat.completions.create({
      ...request,
      max_completion_tokens: 2000,
      temperature: 2,
      stream: true,
    })
    for await (const _ of stream) break
    expect(stream.controller.signal.aborted).toBe(true)
    const after = await openai.chat.completions.create(request)
    expect(after.choices[0]!.finish_reason).toBe('stop')
  })

  it('stops when the caller’s signal says so', async () => {
    const abort = new AbortController()
    // Not a field of the SDK's types: it is passed on as it is.
    const endless = { ignore_eos: true }
    const long = { ...request, ...endless, max_completion_tokens: 1900, stream: true as const }
    const stream = await openai.chat.completions.create(long, { signal: abort.signal })
    const chunks = []
    for await (const chunk of stream) if (chunks.push(chunk) === 3) abort.abort()
    expect(chunks.length).toBeLessThan(1900)
    const whole = openai.chat.completions.create({ ...long, stream: false }, { signal: AbortSignal.timeout(20) })
    expect(await failureOf(whole)).toBeInstanceOf(OpenAI.APIUserAbortError)
  })

  it('answers a fault found before the first token with its status', async () => {
    const error = await failureOf(openai.chat.completions.create({ ...request, model: 'nobody', stream: true }))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
  })
})

describe('models', () => {
  it('lists the base model', async () => {
    const models = []
    for await (const model of openai.models.list()) models.push(model)
    expect(models).toContainEqual(expect.objectContaining({ id: 'tiny-chat', object: 'model' }))
  })
})

describe('errors', () => {
  it('maps a wrong key to AuthenticationError', async () => {
    const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'not-a-key-of-this-server', maxRetries: 0 })
    const error = await failureOf(stranger.chat.completions.create(request))
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(error).toMatchObject({
      status: 401,
      type: 'authentication_error',
      message: expect.stringMatching(/^401 .*\w/),
    })
  })

  it('maps an unknown model to NotFoundError', async () => {
    const error = await failureOf(openai.chat.completions.create({ ...request, model: 'nobody' }))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', message: expect.stringContaining('nobody') })
  })

  it.each([
    ['a value out of range', { temperature: -1 }, 'temperature'],
    ['a wrong type', { messages: 'hello' }, 'messages'],
    ['a field of a message', { messages: [{ role: 'user' }] }, 'messages.0'],
    ['a rule between fields', { n: 2, temperature: 0 }, 'n'],
    ['a malformed schema', toFormat({ type: 'colour' }), 'response_format.json_schema.schema'],
    ['a call that may be chosen', { tools: [ADD], tool_choice: 'auto' }, 'tool_choice'],
  ])('maps %s to UnprocessableEntityError, naming the place', async (_, faulty, place) => {
    const error = await failureOf(openai.chat.completions.create({ ...request, ...faulty } as never))
    expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError)
    const { status, message, param, code } = error as InstanceType<typeof OpenAI.APIError>
    expect({ status, param }).toEqual({ status: 422, param: expect.stringContaining(place) })
    expect(message).toContain(place)
    expect(code).toMatch(/^\w+$/)
  })

  it('maps a full queue to RateLimitError', async () => {
    const small = await start('small', { CHAT_QUEUE_LENGTH: '0', CHAT_BATCH: '2' })
    try {
      const client = new OpenAI({ baseURL: `${small.url}/v1`, apiKey, maxRetries: 0 })
      const error = await failureOf(client.chat.completions.create({ ...request, temperature: 1, n: 3 }))
      expect(error).toBeInstanceOf(OpenAI.RateLimitError)
      expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' })
      expect(Number((error as InstanceType<typeof OpenAI.APIError>).headers!.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await small.close()
    }
  })
})

describe('request ids', () => {
  it('come with every reply, the one that was sent where it is sane', async () => {
    const completion = await openai.chat.completions.create(request)
    expect(completion._request_id).toMatch(/^\S+$/)
    const named = await openai.chat.completions.create(request, { headers: { 'x-request-id': 'my-request-1' } })
    expect(named._request_id).toBe('my-request-1')
    const error = await failureOf(openai.chat.completions.create({ ...request, model: 'nobody' }))
    expect((error as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^\S+$/)
    const { response, request_id } = await openai.models.list().withResponse()
    expect(request_id).toBe(response.headers.get('x-request-id'))
  })
})
