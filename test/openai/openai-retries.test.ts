import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { BusyError, type GeneratePart, type InferenceEngine } from '../../src/inference/engine.ts'
import { noOpInference } from '../no-op-engine.ts'
import { FIRST_KEY, startTestServer, type TestServer } from '../server/start.ts'

const request = { model: 'tiny-chat', messages: [{ role: 'user' as const, content: 'hello' }] }

let server: TestServer
afterEach(() => server.close())

/** An engine that fails the first `count` times, before its first part or after it. */
async function startFailing(
  count: number,
  error: Error,
  { midway = false } = {},
): Promise<{ openai: OpenAI; times: number[] }> {
  const times: number[] = []
  const inference: InferenceEngine = {
    ...noOpInference,
    async *generate(asked, signal): AsyncGenerator<GeneratePart> {
      times.push(performance.now())
      if (times.length > count) return yield* noOpInference.generate(asked, signal)
      if (midway) yield { type: 'prompt', tokenIds: [1], cachedTokens: 0, logprobs: null }
      throw error
    },
  }
  server = await startTestServer({ parts: { inference } })
  return { openai: new OpenAI({ baseURL: `${server.url}/v1`, apiKey: FIRST_KEY }), times }
}

describe('the SDK tries again', () => {
  it('after a full queue, when Retry-After says', async () => {
    const { openai, times } = await startFailing(1, new BusyError('full'))
    const completion = await openai.chat.completions.create(request)
    expect(completion.choices[0]!.message.content).toBe('ok')
    expect(times).toHaveLength(2)
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(1900)
  })

  it.each([true, false])('after a fault of the service (stream: %s)', async stream => {
    const { openai, times } = await startFailing(1, new Error('broken'))
    await openai.chat.completions.create({ ...request, stream } as typeof request)
    expect(times).toHaveLength(2)
  })

  it('not for ever', async () => {
    const { openai, times } = await startFailing(9, new Error('broken'))
    const error = await openai.chat.completions.create(request).catch(failure => failure)
    expect(error).toBeInstanceOf(OpenAI.InternalServerError)
    expect(times).toHaveLength(3)
  })
})

it('a stream that fails midway throws the error of its last frame, and is not tried again', async () => {
  const { openai, times } = await startFailing(9, new Error('broken'), { midway: true })
  const stream = await openai.chat.completions.create({ ...request, stream: true })
  const error = await (async () => {
    for await (const _ of stream);
  })().catch(failure => failure)
  expect(error).toBeInstanceOf(OpenAI.APIError)
  expect(error).toMatchObject({ code: 'internal_error', type: 'server_error' })
  expect(times).toHaveLength(1)
})
