import pino from 'pino'
import { expect, test } from 'vitest'
import { createModel, FIRST_KEY, startTestServer, toRlJob, until } from './start.ts'

const SECRETS = ['the-body-nobody-may-read', 'a-key-of-nobody-0123456789', FIRST_KEY]

test('each request has one line with its operation and id, and nothing that is secret is ever logged', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const server = await startTestServer({
    parts: { log },
    environment: { SPOOL_BYTES: '1000' },
    handlers: {
      listScorers: async () => {
        throw new Error('a fault of ours')
      },
    },
  })
  const ask = (id: string, path: string, call = {}) =>
    server.call(path, { ...call, headers: { ...(call as { headers?: object }).headers, 'x-request-id': id } })
  const model = await createModel(server, 'm')
  const chat = { messages: [{ role: 'user', content: SECRETS[0] }] }
  await ask('ok', '/v1/chat/completions', { json: chat })
  await ask('stream', '/v1/chat/completions', { json: { ...chat, stream: true } })
  await ask('refused', '/v1/chat/completions', { json: { ...chat, temperature: SECRETS[0] } })
  await ask('no-json', '/v1/chat/completions', { body: SECRETS[0], headers: { 'content-type': 'application/json' } })
  await ask('no-key', '/v1/models', { key: SECRETS[1] })
  await ask('basic', '/v2/default/p/scorers/s', {
    method: 'DELETE',
    key: null,
    headers: { authorization: `Basic ${Buffer.from(`api:${FIRST_KEY}`).toString('base64')}` },
  })
  await ask('spooled', '/v1/preview/training-jobs', { json: toRlJob(model, SECRETS[0]!.repeat(100)) })
  await ask('broken', '/v2/default/p/scorers')
  const answered = () => lines.filter(({ msg }) => msg === 'answered')
  await until(answered, found => found.length === 9)
  await server.close()

  expect(answered().map(({ requestId, operationId, status }) => [requestId, operationId, status])).toEqual([
    [expect.any(String), 'createModel', 200],
    ['ok', 'createChatCompletion', 200],
    ['stream', 'createChatCompletion', 200],
    ['refused', 'createChatCompletion', 422],
    ['no-json', 'createChatCompletion', 422],
    ['no-key', 'listInferenceModels', 401],
    ['basic', 'deleteScorer', 404],
    ['spooled', 'createRlTrainingJob', 200],
    ['broken', 'listScorers', 500],
  ])
  const failures = lines.filter(({ level }) => (level as number) >= 50)
  expect(failures).toHaveLength(1)
  expect(failures[0]).toMatchObject({ requestId: 'broken', operationId: 'listScorers', msg: 'failed to answer' })
  const text = JSON.stringify(lines)
  for (const secret of SECRETS) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(Buffer.from(`api:${secret}`).toString('base64'))
  }
})

test('the log of a start tells why a request failed', async () => {
  const lines: string[] = []
  const server = await startTestServer({
    environment: { LOG_LEVEL: 'error' },
    handlers: {
      listScorers: async () => {
        throw Object.assign(new Error('the reason'), { headers: { authorization: FIRST_KEY } })
      },
    },
    change: service => {
      const stream = (service.log as unknown as Record<symbol, { write(line: string): void }>)[pino.symbols.streamSym]!
      stream.write = line => void lines.push(line)
    },
  })
  const reply = await server.call('/v2/default/p/scorers')
  await server.close()
  expect(reply.status).toBe(500)
  expect(reply.text).not.toContain('the reason')
  expect(lines.join('')).toContain('Error: the reason')
  expect(lines.join('')).not.toContain(FIRST_KEY)
})
