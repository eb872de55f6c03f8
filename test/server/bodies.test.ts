import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createModel, FIRST_KEY, sendRaw, startTestServer, type TestServer, toRlJob } from './start.ts'

const JOBS = '/v1/preview/training-jobs'
const MAX_BYTES = 300_000
const json = { 'content-type': 'application/json' }

let server: TestServer
let model: string

beforeAll(async () => {
  server = await startTestServer({
    environment: { MAX_BODY_BYTES: String(MAX_BYTES), SPOOL_BYTES: '100000' },
    runJobs: false,
  })
  model = await createModel(server, 'm')
})
afterAll(() => server.close())

function toStream(...chunks: (string | Uint8Array)[]): ReadableStream {
  return ReadableStream.from(chunks.map(chunk => Buffer.from(chunk)))
}

describe('a body of another media type is a 415', () => {
  test.each([
    ['none', {}],
    ['text', { 'content-type': 'text/plain' }],
    ['no media type at all', { 'content-type': 'nonsense' }],
    ['nothing', { 'content-type': '' }],
    ['a form', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['json in latin1', { 'content-type': 'application/json; charset=latin1' }],
  ])('%s', async (_name, headers) => {
    const reply = await server.call(JOBS, { body: Buffer.from('{}'), headers: headers as Record<string, string> })
    expect(reply.status).toBe(415)
    expect(reply.body.error.code).toBe('unsupported_media_type')
  })

  test('json where a form is wanted', async () => {
    expect((await server.call('/v1/preview/artifacts/default/p/a/versions', { json: {} })).status).toBe(415)
  })
})

test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/JSON'])(
  '%s is taken',
  async type => {
    const body = JSON.stringify(toRlJob(model))
    expect((await server.call(JOBS, { body, headers: { 'content-type': type } })).status).toBe(200)
  },
)

describe('a body above the limit is a 413', () => {
  test('by its announced length, before it comes', async () => {
    const answer = await sendRaw(server.port, [
      `POST ${JOBS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: application/json\r\ncontent-length: ${MAX_BYTES + 1}\r\n\r\n`,
    ])
    expect(answer).toContain('HTTP/1.1 413')
  })

  test('by what came of a chunked one', async () => {
    const chunk = `${(200_000).toString(16)}\r\n${'x'.repeat(200_000)}\r\n`
    const answer = await sendRaw(server.port, [
      `POST ${JOBS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      chunk,
      chunk,
    ])
    expect(answer).toContain('HTTP/1.1 413')
    expect(answer).toContain('payload_too_large')
  })

  test('for a stock client that sends far more, too', async () => {
    const reply = await server.call(JOBS, { body: Buffer.alloc(20_000_000, 120), headers: json })
    expect(reply.status).toBe(413)
  })

  test('and one of just the limit is read', async () => {
    const body = JSON.stringify(toRlJob(model)).padEnd(MAX_BYTES, ' ')
    expect((await server.call(JOBS, { body, headers: json })).status).toBe(200)
    expect((await server.call(JOBS, { body: `${body} `, headers: json })).status).toBe(413)
  })
})

describe('a body that is no JSON is a 422 that names the place, in memory and spooled', () => {
  const filler = ' '.repeat(100_000)
  test.each([
    ['syntax', Buffer.from('{"model_id": nope}'), '13'],
    ['nothing but space', Buffer.from('  '), '2'],
    ['cut off', Buffer.from('{"a": [1, 2'), '11'],
    ['latin1', Buffer.from('{"a": "\xe9"}', 'latin1'), '7'],
    ['deep', Buffer.from('['.repeat(5000)), '256'],
  ])('%s', async (_name, body, offset) => {
    for (const sent of [body, Buffer.concat([body, Buffer.from(filler)])]) {
      const reply = await server.call(JOBS, { body: sent, headers: json })
      expect(reply.status).toBe(422)
      expect(reply.body.detail).toHaveLength(1)
      expect(reply.body.detail[0]).toMatchObject({ type: 'json_invalid' })
      if (sent === body) expect(reply.body.detail[0].loc).toEqual(['body', offset])
    }
  })
})

test('no body where one is required is a 422, with and without its media type', async () => {
  for (const headers of [json, {}] as Record<string, string>[]) {
    const reply = await server.call(JOBS, { method: 'POST', headers })
    expect(reply.body.detail).toEqual([{ loc: ['body'], msg: 'Field required', type: 'missing' }])
  }
  const chunked = await server.call(JOBS, { body: toStream(), headers: json })
  expect(chunked.body.detail).toEqual([{ loc: ['body'], msg: 'Field required', type: 'missing' }])
})

test('a chunked small body is read like any other', async () => {
  const text = JSON.stringify(toRlJob(model))
  const reply = await server.call(JOBS, { body: toStream(text.slice(0, 10), text.slice(10)), headers: json })
  expect(reply.status).toBe(200)
})

test('a byte order mark is dropped', async () => {
  const body = `\uFEFF${JSON.stringify(toRlJob(model))}`
  expect((await server.call(JOBS, { body, headers: json })).status).toBe(200)
})

test('Expect: 100-continue is answered, and the body then read', async () => {
  const body = JSON.stringify(toRlJob(model))
  const headers = {
    authorization: `Bearer ${FIRST_KEY}`,
    ...json,
    expect: '100-continue',
    'content-length': body.length,
  }
  const sent = request(`${server.url}${JOBS}`, { method: 'POST', headers })
  const answer = new Promise<number>((resolve, reject) => {
    sent.on('response', response => resolve(response.statusCode!)).on('error', reject)
  })
  sent.flushHeaders()
  await new Promise(resolve => sent.once('continue', resolve))
  sent.end(body)
  expect(await answer).toBe(200)
})

test('DELETE takes a JSON body, and does without where it may', async () => {
  const path = `/v1/preview/models/${model}/checkpoints`
  const reply = await server.call(path, { method: 'DELETE', json: { steps: [7, 7] } })
  expect(reply.body).toEqual({ deleted_count: 0, not_found_steps: [7] })
  await server.call('/v2/default/p/scorers', { json: { object_id: 's' } })
  expect((await server.call('/v2/default/p/scorers/s', { method: 'DELETE', headers: json })).body).toEqual({
    num_deleted: 1,
  })
})

test('a list of far more steps than a statement takes parameters is one request', async () => {
  const path = `/v1/preview/models/${model}/checkpoints`
  const steps = Array.from({ length: 40_000 }, (_, index) => index + 1)
  const reply = await server.call(path, { method: 'DELETE', json: { steps } })
  expect(reply.status).toBe(200)
  expect(reply.body.not_found_steps).toHaveLength(40_000)
})

test('a body of an operation that has none is left unread, of whatever type', async () => {
  for (const type of ['application/json', 'nonsense', 'multipart/form-data']) {
    const reply = await server.call(`/v1/preview/models/${model}/checkpoints`, {
      method: 'DELETE',
      json: { steps: [] },
    })
    expect(reply.status).toBe(200)
    const cancel = await server.call(`${JOBS}/01990c5e-0000-7000-8000-000000000000/cancel`, {
      body: '{"x":',
      headers: { 'content-type': type },
    })
    expect(cancel.status).toBe(404)
  }
})

test('the next request on a connection is answered whatever became of the body before it', async () => {
  const authorization = `authorization: Bearer ${FIRST_KEY}\r\n`
  const health = 'GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n'
  const post = (headers: string, body: string) =>
    `POST ${JOBS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`
  for (const [before, status] of [
    [post('', 'x'.repeat(250_000)), 401],
    [post(authorization, 'x'.repeat(250_000)), 422],
    [post(authorization, 'x'.repeat(50)), 422],
    [post(authorization, '{}').replace('application/json', 'text/plain'), 415],
  ] as const) {
    const answer = await sendRaw(server.port, [before, health], 700)
    expect(answer).toContain(`HTTP/1.1 ${status}`)
    expect(answer).toContain('{"status":"ok"}')
  }
})
