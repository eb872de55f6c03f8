import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/spec/document.ts'
import { sendRaw, startTestServer, type TestServer } from './start.ts'

describe.each(['', '/some/prefix'])('under the base path "%s"', basePath => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ environment: { BASE_PATH: basePath } })
  })
  afterAll(() => server.close())

  test('every operation of the contract has its route', async () => {
    for (const { method, path } of operations) {
      const reply = await server.call(path.replace(/\{\w+\}/g, 'x'), { method, key: null })
      expect([method, path, reply.status]).toEqual([method, path, expect.toBeOneOf([200, 401])])
    }
  })

  test('the way to the docs holds with and without the slash at the end', async () => {
    for (const path of basePath ? ['', '/', '?a=b'] : ['/', '/?a=b']) {
      const reply = await server.call(path, { key: null })
      expect(reply.status).toBe(302)
      const target = new URL(reply.headers.get('location')!, `${server.url}${path}`)
      expect(target.pathname).toBe(`${basePath}/docs`)
    }
    const document = await server.call('/openapi.json', { key: null })
    expect(document.body.openapi).toBe('3.2.0')
  })

  test('an unknown path is a 404 with the error body', async () => {
    for (const path of ['/v1/nothing', '/v1/health/', '/v1//health', '/V1/health', '/v1/preview/models/a/b/c']) {
      const reply = await server.call(path)
      expect([path, reply.status]).toEqual([path, 404])
      expect(reply.body.error).toMatchObject({ type: 'not_found_error', code: 'unknown_path' })
      expect(reply.body.detail).toBe(reply.body.error.message)
      expect(reply.headers.get('x-request-id')).toBeTruthy()
    }
  })

  test.each([
    ['PUT', '/v1/health', 'GET, HEAD'],
    ['OPTIONS', '/v1/health', 'GET, HEAD'],
    ['GET', '/v1/chat/completions', 'POST'],
    ['HEAD', '/v1/chat/completions/', 'POST'],
    ['PATCH', '/v1/preview/models/x', 'DELETE, GET, HEAD'],
    ['POST', '/v1/preview/artifacts/a/b/c/versions/v0/files/deep/path', 'GET, HEAD'],
    ['GET', '/v1/preview/artifacts/a/b/c/versions/v0/aliases/x', 'DELETE, PUT'],
    ['POST', '/docs', 'GET, HEAD'],
    ['DELETE', '/', 'GET, HEAD'],
    ['QUERY', '/v1/health', 'GET, HEAD'],
  ])('%s %s is a 405 that allows %s', async (method, path, allow) => {
    const reply = await server.call(path, { method })
    expect(reply.status).toBe(405)
    expect(reply.headers.get('allow')).toBe(allow)
    if (method !== 'HEAD') expect(reply.body.error.code).toBe('method_not_allowed')
  })

  test('HEAD is GET without the body', async () => {
    const [get, head] = [await server.call('/v1/models'), await server.call('/v1/models', { method: 'HEAD' })]
    expect(head.status).toBe(200)
    expect(head.text).toBe('')
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
  })
})

describe('beside the base path', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ environment: { BASE_PATH: '/some/prefix' } })
  })
  afterAll(() => server.close())

  test.each(['/', '/v1/health', '/some', '/some/prefixes/v1/health', '/xxxxxxxxxxx/v1/health', '/other/p/v1/health'])(
    '%s is a 404 for every method',
    async path => {
      for (const method of ['GET', 'PUT']) {
        const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, redirect: 'manual' })
        expect(response.status).toBe(404)
      }
    },
  )
})

describe('odd characters in a path', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server.close())

  const templates = operations.filter(({ path, method }) => path.includes('{') && method !== 'POST')
  const odd = [
    '%00',
    'a%00b',
    '%2F',
    'a%2Fb',
    '%2e%2e',
    '..%2f..',
    '%5c',
    '%0a',
    '%ff',
    '%zz',
    '%',
    "'",
    '%22',
    '%F0%9F%98%80',
    'x'.repeat(2000),
    '*',
    '$%7Bx%7D',
  ]

  test('never break the server', async () => {
    for (const { method, path } of templates) {
      for (const value of odd) {
        const url = path.replace(/\{\w+\}/g, value)
        const answer = await sendRaw(server.port, [
          `${method} ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer test-key-of-the-first-admin-0123456789\r\n\r\n`,
        ])
        const status = Number(answer.slice(9, 12))
        expect([method, url.slice(0, 80), status]).toEqual([
          method,
          url.slice(0, 80),
          expect.toBeOneOf([200, 403, 404, 405, 422]),
        ])
        expect(answer).toContain('x-request-id')
      }
    }
  })

  test('are read as what they encode', async () => {
    const name = 'Größe & "co" +1'
    const path = `/v2/default/${encodeURIComponent(name)}/scorers`
    expect((await server.call(path, { json: { object_id: name } })).body.object_id).toBe(name)
    const gone = await server.call(`${path}/${encodeURIComponent(name)}`, { method: 'DELETE' })
    expect(gone.body).toEqual({ num_deleted: 1 })
  })

  test('a slash in a name is a 422', async () => {
    expect((await server.call('/v2/default/a%2Fb/scorers')).status).toBe(422)
  })
})

test('the request id is the one that was sent when it is sane, else one of ours', async () => {
  const server = await startTestServer()
  const ask = async (id?: string) =>
    (await server.call('/v1/health', { headers: id === undefined ? {} : { 'x-request-id': id } })).headers.get(
      'x-request-id',
    )
  expect(await ask('step-12.a_b')).toBe('step-12.a_b')
  expect(await ask()).toMatch(/^[\da-f-]{36}$/)
  for (const odd of ['two words', 'x'.repeat(129), '<script>', 'a,b', 'a:b'])
    expect(await ask(odd)).toMatch(/^[\da-f-]{36}$/)
  expect(await ask()).not.toBe(await ask())
  await server.close()
})

test('the project header bears the name of the vendor', async () => {
  const server = await startTestServer({ environment: { VENDOR: 'Acme' } })
  const ask = (name: string) => server.call('/v1/models', { headers: { [name]: 'nowhere/p' } })
  expect((await ask('acme-project')).status).toBe(403)
  expect((await ask('openai-project')).status).toBe(403)
  expect((await ask('vendor-project')).status).toBe(200)
  await server.close()
})
