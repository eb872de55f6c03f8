import { afterEach, describe, expect, test } from 'vitest'
import { BusyError, type GeneratePart, PromptError } from '../../src/inference/engine.ts'
import { noOpInference } from '../no-op-engine.ts'
import { createGatedInference } from './gated-engine.ts'
import { createModel, FIRST_KEY, startTestServer, type TestServer, until } from './start.ts'

const CHAT = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'hi' }]

let server: TestServer
afterEach(() => server.close())

function delta(text: string): GeneratePart {
  return { type: 'delta', index: 0, text, tokens: [] }
}

function toFrames(text: string): string[] {
  expect(text.endsWith('\n\n')).toBe(true)
  const frames = text.slice(0, -2).split('\n\n')
  for (const frame of frames) expect(frame).toMatch(/^data: [^\n]+$/)
  return frames.map(frame => frame.slice('data: '.length))
}

/** An engine that fails before its first part. */
function failsWith(error: Error) {
  return {
    ...noOpInference,
    // biome-ignore lint/correctness/useYield: it fails before it could
    async *generate(): AsyncGenerator<GeneratePart> {
      throw error
    },
  }
}

describe('a stream', () => {
  test('comes as events, a frame as soon as there is one, and ends with [DONE]', async () => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const response = await fetch(`${server.url}${CHAT}`, {
      method: 'POST',
      body: JSON.stringify({ messages, stream: true }),
      headers: { authorization: `Bearer ${FIRST_KEY}`, 'content-type': 'application/json' },
    })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('cache-control')).toContain('no-cache')
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const { push, end } = generations[0]!
    expect((await reader.read()).value).toContain('"role":"assistant"')
    push(delta('one'))
    expect((await reader.read()).value).toContain('"content":"one"')
    push({ type: 'finish', index: 0, reason: 'stop', stopTokenId: 2 })
    end()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
    expect(toFrames(rest).at(-1)).toBe('[DONE]')
    expect(JSON.parse(toFrames(rest)[0]!).choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 2 })
  })

  test('that fails midway ends with one frame of the error, then [DONE]', async () => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const reply = server.call(CHAT, { json: { messages, stream: true } })
    await until(
      () => generations.length,
      count => count === 1,
    )
    generations[0]!.push(delta('one'))
    generations[0]!.fail(new Error('a secret of the engine'))
    const frames = toFrames((await reply).text)
    expect((await reply).status).toBe(200)
    expect(frames).toHaveLength(4)
    expect(JSON.parse(frames[2]!)).toEqual({
      error: {
        message: expect.not.stringContaining('secret'),
        type: 'server_error',
        param: null,
        code: 'internal_error',
      },
    })
    expect(frames[3]).toBe('[DONE]')
  })
})

describe('a stream while the engine is busy', () => {
  test('says so in comments, whole and between frames, and not after the end', async () => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine }, environment: { KEEP_ALIVE_MS: '40' } })
    const reply = server.call(CHAT, { json: { messages, stream: true } })
    await until(
      () => generations.length,
      count => count === 1,
    )
    const { push, end } = generations[0]!
    for (const text of ['one', 'two']) {
      await new Promise(resolve => setTimeout(resolve, 150))
      push(delta(text))
    }
    push({ type: 'finish', index: 0, reason: 'stop', stopTokenId: null })
    end()
    const { text } = await reply
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    const frames = text.slice(0, -2).split('\n\n')
    for (const frame of frames) expect(frame).toMatch(/^(data: [^\n]+|: keep-alive)$/)
    const first = frames.findIndex(frame => frame.includes('"one"'))
    const second = frames.findIndex(frame => frame.includes('"two"'))
    for (const between of [frames.slice(1, first), frames.slice(first + 1, second)]) {
      expect(between.length).toBeGreaterThan(0)
      expect(new Set(between)).toEqual(new Set([': keep-alive']))
    }
  })

  test('says nothing where frames come in time', async () => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const reply = server.call(CHAT, { json: { messages, stream: true } })
    await until(
      () => generations.length,
      count => count === 1,
    )
    await new Promise(resolve => setTimeout(resolve, 150))
    generations[0]!.end()
    expect((await reply).text).not.toContain(': keep-alive')
  })
})

describe('the engine hears of it', () => {
  test.each([true, false])('when the client goes away (stream: %s)', async stream => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const abort = new AbortController()
    const reply = server.call(CHAT, { json: { messages, stream }, signal: abort.signal }).catch(error => error.name)
    await until(
      () => generations.length,
      count => count === 1,
    )
    if (stream) generations[0]!.push(delta('one'))
    expect(generations[0]!.signal.aborted).toBe(false)
    abort.abort()
    await until(() => generations[0]!.signal.aborted, Boolean)
    expect(await reply).toBe('AbortError')
    expect((await server.call('/v1/health')).status).toBe(200)
  })

  test('not when the reply is complete', async () => {
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const reply = server.call(CHAT, { json: { messages } })
    await until(
      () => generations.length,
      count => count === 1,
    )
    generations[0]!.end()
    await reply
    expect(generations[0]!.signal.aborted).toBe(false)
  })
})

describe('a request that the engine refuses gets its status, streamed or not', () => {
  test.each([
    [new PromptError(['messages', '0', 'content'], 'too long', 'context_length_exceeded'), 422],
    [new BusyError('full'), 429],
    [new Error('broken'), 500],
  ])('%s is a %i', async (error, status) => {
    server = await startTestServer({ parts: { inference: failsWith(error) } })
    for (const stream of [true, false]) {
      const reply = await server.call(CHAT, { json: { messages, stream } })
      expect(reply.status).toBe(status)
      if (status === 422) {
        expect(reply.body.detail).toEqual([
          { loc: ['body', 'messages', '0', 'content'], msg: 'too long', type: 'context_length_exceeded' },
        ])
      }
      if (status === 429) expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
      if (status === 500) expect(reply.text).not.toContain('broken')
    }
  })

  test('a fault in the rule for the text names its place in the request, also where it shows only later', async () => {
    const fault = new PromptError(['constraint', 'properties', 'a'], 'unknown keyword', 'constraint')
    const body = { messages, structured_outputs: { json: {} } }
    server = await startTestServer({ parts: { inference: failsWith(fault) } })
    const early = await server.call(CHAT, { json: body })
    await server.close()
    const { engine, generations } = createGatedInference()
    server = await startTestServer({ parts: { inference: engine } })
    const late = server.call(CHAT, { json: body })
    await until(
      () => generations.length,
      count => count === 1,
    )
    generations[0]!.fail(fault)
    const detail = { loc: ['body', 'structured_outputs', 'json', 'properties', 'a'], type: 'constraint' }
    for (const reply of [early, await late]) {
      expect([reply.status, reply.body.detail]).toEqual([422, [{ ...detail, msg: 'unknown keyword' }]])
    }
  })

  test('a prompt that leaves no room for the tokens that were asked for frees the engine', async () => {
    const { engine, generations } = createGatedInference()
    let returned = 0
    const counting = {
      ...engine,
      async *generate(...given: Parameters<typeof engine.generate>) {
        try {
          yield* engine.generate(...given)
        } finally {
          returned++
        }
      },
    }
    server = await startTestServer({ parts: { inference: counting } })
    const reply = await server.call(CHAT, { json: { messages, max_tokens: 2046 } })
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0]).toMatchObject({ loc: ['body', 'max_tokens'], type: 'context_length_exceeded' })
    expect([generations.length, returned]).toEqual([1, 1])
  })
})

test('both paths answer alike, and name the model that was asked for', async () => {
  server = await startTestServer()
  await createModel(server, 'm')
  for (const path of [CHAT, `${CHAT}/`]) {
    for (const [model, shown] of [
      [null, 'tiny-chat'],
      ['', 'tiny-chat'],
      ['tiny-chat', 'tiny-chat'],
      ...['', ':step0', ':latest', ':v0'].map(end => [
        `artifact:///default/tests/m${end}`,
        `artifact:///default/tests/m${end}`,
      ]),
      ['wandb-artifact://default/tests/m', 'wandb-artifact://default/tests/m'],
    ]) {
      const reply = await server.call(path, { json: { messages, model } })
      expect([reply.status, reply.body.model]).toEqual([200, shown])
    }
  }
})

test('what is no model is a 404', async () => {
  server = await startTestServer()
  await createModel(server, 'm')
  const names = [
    'none',
    'artifact:///default/tests/m:v7',
    'artifact:///default/tests/m:none',
    'artifact:///default/tests',
    'other:///default/tests/m',
    'artifact:///default/../m',
    'tiny-chat:latest',
  ]
  for (const model of names) {
    const reply = await server.call(CHAT, { json: { messages, model } })
    expect([model, reply.status, reply.body.error.code]).toEqual([model, 404, 'model_not_found'])
  }
})
