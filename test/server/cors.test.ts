import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Call, startTestServer, type TestServer } from './start.ts'

const APP = 'https://app.example'
const preflight = (origin: string): Call => ({
  method: 'OPTIONS',
  key: null,
  headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization, x-a' },
})

function toCorsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter(name => name.startsWith('access-control'))
}

let server: TestServer

describe('without the setting', () => {
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server.close())

  test('no reply carries a header for browsers', async () => {
    for (const call of [preflight(APP), { headers: { origin: APP } }]) {
      expect(toCorsHeaders((await server.call('/v1/models', call)).headers)).toEqual([])
    }
    expect((await server.call('/v1/models', preflight(APP))).status).toBe(405)
  })
})

describe('with one origin', () => {
  beforeAll(async () => {
    server = await startTestServer({ environment: { CORS_ORIGINS: `${APP}, https://second.example` } })
  })
  afterAll(() => server.close())

  test('a preflight is answered without a key, for any path', async () => {
    for (const path of ['/v1/chat/completions', '/v1/preview/models/x', '/v2/default/p/scorers']) {
      const { status, headers } = await server.call(path, preflight(APP))
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe(APP)
      expect(headers.get('access-control-allow-headers')).toBe('authorization, x-a')
      expect(headers.get('access-control-allow-methods')).toContain('DELETE')
      expect(headers.get('x-request-id')).toBeTruthy()
    }
  })

  test('every reply can be read by the page, failures too', async () => {
    const cases: [string, Call, number][] = [
      ['/v1/models', {}, 200],
      ['/v1/models', { key: null }, 401],
      ['/v1/nothing', {}, 404],
      ['/v1/models', { method: 'PUT' }, 405],
      ['/v1/preview/models', { body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
      ['/v1/preview/models', { json: {} }, 422],
    ]
    for (const [path, call, status] of cases) {
      const reply = await server.call(path, { ...call, headers: { ...call.headers, origin: 'https://second.example' } })
      expect(reply.status).toBe(status)
      expect(reply.headers.get('access-control-allow-origin')).toBe('https://second.example')
      expect(reply.headers.get('access-control-expose-headers')).toContain('x-request-id')
      expect(reply.headers.get('vary')).toBe('Origin')
    }
  })

  test('another origin, or none, gets no such header, and caches are told', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, {}] as Record<string, string>[]) {
      const reply = await server.call('/v1/models', { headers })
      expect(toCorsHeaders(reply.headers)).toEqual([])
      expect(reply.headers.get('vary')).toBe('Origin')
    }
    expect((await server.call('/v1/models', preflight('https://evil.example'))).status).toBe(405)
  })
})

test('a star lets every origin in', async () => {
  const open = await startTestServer({ environment: { CORS_ORIGINS: '*' } })
  const reply = await open.call('/v1/models', { headers: { origin: 'https://anyone.example' } })
  expect(reply.headers.get('access-control-allow-origin')).toBe('https://anyone.example')
  await open.close()
})
