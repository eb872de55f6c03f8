import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/spec/document.ts'
import { FIRST_KEY, startTestServer, type TestServer } from './start.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const BEARER = 'Bearer'
const BOTH = 'Basic realm="trainyard", Bearer'
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`

describe('credentials that do not count are a 401 that names the scheme', () => {
  const models = '/v1/preview/models'
  const scorers = '/v2/default/p/scorers'
  test.each([
    ['none', models, null, BEARER],
    ['an unknown key', models, 'Bearer nobody-has-this-key-0123456789', BEARER],
    ['a key with more behind it', models, `Bearer ${FIRST_KEY} x`, BEARER],
    ['no scheme', models, FIRST_KEY, BEARER],
    ['another scheme', models, `Digest ${FIRST_KEY}`, BEARER],
    ['basic where only bearer is taken', models, basic(`api:${FIRST_KEY}`), BEARER],
    ['none under /v2', scorers, null, BOTH],
    ['an unknown password', scorers, basic('api:nobody-has-this-key-0123456789'), BOTH],
    ['base64 of no pair', scorers, `Basic ${Buffer.from(FIRST_KEY).toString('base64')}`, BOTH],
    ['malformed base64', scorers, 'Basic %%%%', BOTH],
    ['an empty password', scorers, basic('api:'), BOTH],
  ])('%s', async (_name, path, authorization, challenge) => {
    const reply = await server.call(path, { key: null, headers: authorization ? { authorization } : {} })
    expect(reply.status).toBe(401)
    expect(reply.headers.get('www-authenticate')?.split(', ').sort().join(', ')).toBe(challenge)
    expect(reply.body.error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' })
    expect(reply.body.detail).toBe(reply.body.error.message)
  })
})

test.each([
  ['bearer', `Bearer ${FIRST_KEY}`],
  ['bearer in lower case', `bearer ${FIRST_KEY}`],
  ['basic with any user name', basic(`someone:${FIRST_KEY}`)],
  ['basic without a user name', basic(`:${FIRST_KEY}`)],
])('/v2 takes %s', async (_name, authorization) => {
  expect((await server.call('/v2/default/p/scorers', { key: null, headers: { authorization } })).status).toBe(200)
})

test('every operation that is not public answers 401 without a key, whatever else is wrong', async () => {
  const guarded = operations.filter(operation => operation.security.length > 0)
  expect(guarded.length).toBeGreaterThan(20)
  for (const { method, path } of guarded) {
    const reply = await server.call(path.replace(/\{\w+\}/g, 'x'), { method, key: null })
    expect([method, path, reply.status]).toEqual([method, path, 401])
  }
})

test('the metrics page needs a key', async () => {
  expect((await server.call('/metrics', { key: null })).status).toBe(401)
  const reply = await server.call('/metrics')
  expect(reply.headers.get('content-type')).toContain('text/plain')
  expect(reply.text).toContain('trainyard_request_duration_seconds_count')
})

test('the 401 comes before any of the body', async () => {
  const socket = connect(server.port, '127.0.0.1')
  const head = `POST /v1/preview/training-jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${100 * 1024 * 1024}\r\n\r\n`
  socket.write(head)
  const answer = await new Promise<string>(resolve => socket.once('data', data => resolve(String(data))))
  expect(answer).toContain('HTTP/1.1 401')
  socket.destroy()
})

test('whoever sends all of a 100 MB body without a key still reads the 401', async () => {
  const reply = await server.call('/v1/preview/training-jobs', {
    key: null,
    body: Buffer.alloc(100 * 1024 * 1024, 120),
    headers: { 'content-type': 'application/json' },
  })
  expect(reply.status).toBe(401)
})
