/** What a service answers when something is wrong with it, made wrong on purpose: only possible in this very process. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { ContractClient, OperationId } from '../../src/contract/client.ts'
import { DONE } from '../../src/contract/conform.ts'
import { parseSse } from '../../src/contract/sse-events.ts'
import type { GeneratePart, InferenceEngine } from '../../src/inference/engine.ts'
import { BusyError } from '../../src/inference/engine.ts'
import { operations } from '../../src/spec/document.ts'
import type { Handlers } from '../../src/spec/handler.ts'
import { goodRequest } from './good-requests.ts'
import { clientOf, home, target, toForm } from './setup.ts'

const MESSAGES = [{ role: 'user', content: 'hi' }]
const SECRET = 'the secret inner detail'

function failingHandlers(fault: () => Error): Handlers {
  const fail = async () => {
    throw fault()
  }
  return Object.fromEntries(operations.map(({ operationId }) => [operationId, fail])) as unknown as Handlers
}

function declaring(status: number): OperationId[] {
  return operations
    .filter(({ responses }) => responses.has(status))
    .map(({ operationId }) => operationId as OperationId)
}

/** An engine that gives some parts and then fails. */
function failingEngine(parts: GeneratePart[], fault: Error): InferenceEngine {
  return {
    async *generate() {
      yield* parts
      throw fault
    },
    check: async () => {
      throw fault
    },
    close: async () => {},
  }
}

section(
  'Faults, which cannot be injected into another process',
  { needs: ['inside'], source: '/info/description#Errors' },
  () => {
    async function expectRetryAfter(client: ContractClient, id: OperationId, status: number): Promise<void> {
      const answer = await client.call(id, { ...goodRequest(id), impatient: true })
      expect(answer.status, id).toBe(status)
      expect(Number(answer.headers.get('retry-after')), id).toBeGreaterThan(0)
    }

    check('every-operation/answers-500-and-keeps-the-cause-to-itself', async () => {
      const client = await clientOf({ handlers: failingHandlers(() => new Error(SECRET)) })
      for (const id of declaring(500)) {
        const { status, text } = await client.call(id, goodRequest(id))
        expect(status, id).toBe(500)
        expect(text).not.toContain(SECRET)
      }
    })

    checkEach([['ENOSPC'], ['SQLITE_FULL']])('every-operation/answers-503-on-a-full-disk-%s', async code => {
      const client = await clientOf({ handlers: failingHandlers(() => Object.assign(new Error('no room'), { code })) })
      for (const id of declaring(503)) await expectRetryAfter(client, id, 503)
    })

    check('every-operation/answers-503-while-shutting-down', async () => {
      const client = await clientOf({ isDraining: true })
      for (const id of declaring(503)) await expectRetryAfter(client, id, 503)
    })

    check('every-operation/answers-429-when-too-many-requests-run', async () => {
      const client = await clientOf({ settings: { maxConcurrentRequests: 0 } })
      for (const id of declaring(429)) await expectRetryAfter(client, id, 429)
    })

    check('every-operation/answers-413-to-a-body-over-the-limit', async () => {
      const client = await clientOf({ settings: { maxBodyBytes: 64, maxArtifactBytes: 64 } })
      const text = JSON.stringify('x'.repeat(100))
      for (const id of declaring(413)) {
        const { path = {} } = goodRequest(id)
        const form = toForm({ files: { a: 'x'.repeat(100) }, version: { type: 't' } })
        const json = { raw: text, headers: { 'content-type': 'application/json' } }
        await client.refused(id, 413, { path, bad: true, ...(id === 'createArtifactVersion' ? { form } : json) })
      }
    })

    check('createRlTrainingJob/answers-429-when-the-queue-of-jobs-is-full', async () => {
      const client = await clientOf({ settings: { jobQueueLength: 0 } })
      await client.refused('createRlTrainingJob', 429, { body: { model_id: home.id, trajectory_groups: [] } })
    })

    check('createChatCompletion/answers-429-when-the-queue-of-the-engine-is-full', async () => {
      const client = await clientOf({ parts: { inference: failingEngine([], new BusyError('full')) } })
      const body = { model: target.baseModel, messages: MESSAGES }
      await client.refused('createChatCompletion', 429, { body })
      await client.refused('createChatCompletion', 429, { body: { ...body, stream: true } })
    })

    check('createChatCompletion/ends-a-stream-that-fails-midway-with-an-error', async () => {
      const parts: GeneratePart[] = [
        { type: 'prompt', tokenIds: [1, 2], cachedTokens: 0, logprobs: null },
        {
          type: 'delta',
          index: 0,
          text: 'He',
          tokens: [{ id: 1, token: 'He', bytes: [72, 101], logprob: -1, top: [] }],
        },
      ]
      const client = await clientOf({ parts: { inference: failingEngine(parts, new Error(SECRET)) } })
      const body = { model: target.baseModel, messages: MESSAGES, stream: true }
      const response = await client.open('createChatCompletion', { body })
      const text = await response.text()
      expect(response.status).toBe(200)
      expect(text).toContain('"error"')
      expect(text).not.toContain(SECRET)
      expect(parseSse(text).events.at(-1)?.data).toBe(DONE)
      expect((await client.call('createChatCompletion', { body: { ...body, stream: false } })).status).toBe(500)
    })

    check('getSystemCheck/answers-503-and-names-the-part-that-failed', async () => {
      const client = await clientOf({ parts: { inference: failingEngine([], new Error('broken')) } })
      const { status, body } = await client.call('getSystemCheck', { impatient: true })
      expect(status).toBe(503)
      expect(body).toMatchObject({ api: true, engine: { success: false }, database: { success: true } })
    })
  },
)
