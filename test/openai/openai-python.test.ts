import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSettings } from '../../src/config.ts'
import { BusyError, type GeneratePart } from '../../src/inference/engine.ts'
import { type RunningServer, startServer } from '../../src/serve.ts'
import { noOpInference } from '../no-op-engine.ts'
import { FIRST_KEY, startTestServer, type TestServer } from '../server/start.ts'

const run = promisify(execFile)
/** The training client needs an older SDK, so that this one may have a Python of its own. */
const python = process.env.TRAINYARD_OPENAI_PYTHON ?? process.env.TRAINYARD_PYTHON ?? 'python3'
const LIMIT_MS = 120_000
const requirements = readFileSync(join(import.meta.dirname, 'requirements.txt'), 'utf8')
const wanted = /^openai==(.+)$/m.exec(requirements)![1]!

/** Why the SDK cannot be driven here, or null. */
async function findObstacle(): Promise<string | null> {
  try {
    const { stdout } = await run(python, ['-c', 'from importlib.metadata import version; print(version("openai"))'])
    return stdout.trim() === wanted
      ? null
      : `has openai ${stdout.trim()}, not ${wanted} of test/openai/requirements.txt`
  } catch (error) {
    const { code, stderr } = error as { code?: number | string; stderr?: string }
    return code === 'ENOENT' ? 'is not there' : `says: ${stderr?.trim().split('\n').at(-1)}`
  }
}

const obstacle = await findObstacle()
if (obstacle)
  console.warn(
    `The tests of the Python SDK are skipped: ${python} ${obstacle} (TRAINYARD_OPENAI_PYTHON names another Python)`,
  )

describe.skipIf(obstacle)('the Python SDK', () => {
  let folder: string
  let server: RunningServer
  let busyServer: TestServer
  let refusals = 0
  // biome-ignore lint/suspicious/noExplicitAny: what the script prints is what the tests are about
  let seen: any

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'trainyard-openai-python-'))
    const settings = { PORT: '0', LOG_LEVEL: 'silent', STRICT: '1', API_KEY: FIRST_KEY, DATA_DIR: folder }
    server = await startServer(readSettings(settings))
    const inference = {
      ...noOpInference,
      async *generate(...asked: Parameters<typeof noOpInference.generate>): AsyncGenerator<GeneratePart> {
        if (refusals++ < 1) throw new BusyError('full')
        yield* noOpInference.generate(...asked)
      },
    }
    busyServer = await startTestServer({ parts: { inference } })
    const { stdout } = await run(python, [join(import.meta.dirname, 'openai_sdk.py')], {
      env: {
        ...process.env,
        TRAINYARD_URL: `${server.url}/v1`,
        TRAINYARD_BUSY_URL: `${busyServer.url}/v1`,
        TRAINYARD_API_KEY: FIRST_KEY,
      },
      timeout: LIMIT_MS,
    })
    seen = JSON.parse(stdout)
  }, LIMIT_MS)

  afterAll(async () => {
    await server?.close()
    await busyServer?.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('chats, with log-probabilities, usage and a request id', () => {
    const { chat } = seen
    expect(chat).toMatchObject({ finish_reason: 'stop', tokens: chat.completion_tokens })
    expect(chat.content).toMatch(/\w+/)
    expect(chat.cached_tokens).toBeGreaterThanOrEqual(0)
    expect(chat.request_id).toMatch(/\S+/)
    expect(seen.models).toContain('tiny-chat')
  })

  it('passes further fields on, and shows further keys of the answer', () => {
    expect(seen.extra_fields.id).toBe('chatcmpl-python')
    expect(['left', 'right']).toContain(seen.extra_fields.content)
    expect(seen.extra_fields.token_ids.length).toBeGreaterThan(0)
  })

  it('streams the same, plainly and through the helper', () => {
    expect(seen.stream).toMatchObject({ content: seen.chat.content, usage: seen.chat.completion_tokens })
    expect(seen.stream.chunks).toBeGreaterThan(3)
    expect(seen.stream_helper.content).toBe(seen.chat.content)
    expect(seen.stream_helper.kinds).toEqual(expect.arrayContaining(['chunk', 'content.delta', 'content.done']))
  })

  it('parses what follows a schema, and says when it was cut off', () => {
    expect(seen.parse.parsed).toEqual({ sure: expect.any(Boolean), count: expect.any(Number) })
    expect(seen.parse.cut).toBe('LengthFinishReasonError')
  })

  it('has a class for each error, with its place and code', () => {
    expect(seen.errors).toMatchObject({
      'unknown model': { class: 'NotFoundError', status: 404, code: 'model_not_found', param: 'model' },
      'out of range': { class: 'UnprocessableEntityError', status: 422, param: 'temperature' },
      'between fields': { class: 'UnprocessableEntityError', status: 422, param: 'n' },
      streamed: { class: 'UnprocessableEntityError', status: 422, param: 'top_logprobs' },
      'wrong key': { class: 'AuthenticationError', status: 401, code: 'invalid_api_key' },
    })
    expect(seen.errors['out of range'].message).toContain('temperature')
  })

  it('leaves a stream, and gives up in time, while the service goes on', () => {
    expect(seen.cancellation).toEqual({ seen: 3, late: 'APITimeoutError', after: 'stop' })
  })

  it('tries again where the service is busy', () => {
    expect(seen.retries.content).toBe('ok')
    expect(refusals).toBe(2)
  })
})
