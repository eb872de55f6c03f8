import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createGatedInference } from './gated-engine.ts'
import { FIRST_KEY, startTestServer, type TestServer, until } from './start.ts'

const CHAT = { json: { messages: [{ role: 'user', content: 'hi' }] } }

let server: TestServer
afterEach(() => server.close())

test('more requests at once than allowed are a 429 with Retry-After, for the key that sends them', async () => {
  const { engine, generations } = createGatedInference()
  server = await startTestServer({ environment: { MAX_CONCURRENT_REQUESTS: '2' }, parts: { inference: engine } })
  const running = [server.call('/v1/chat/completions', CHAT), server.call('/v1/chat/completions', CHAT)]
  await until(
    () => generations.length,
    count => count === 2,
  )
  const refused = await server.call('/v1/chat/completions', CHAT)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await server.call('/v1/models', { key: await server.addKey('ann', 'default') })).status).toBe(200)
  for (const { end } of generations) end()
  await Promise.all(running)
  expect((await server.call('/v1/models')).status).toBe(200)
})

test('clients that go away free their places, wherever they were', async () => {
  const { engine, generations } = createGatedInference()
  server = await startTestServer({
    environment: { MAX_CONCURRENT_REQUESTS: '1', SPOOL_BYTES: '1000' },
    parts: { inference: engine },
  })
  const json = 'content-type: application/json'
  const chat = JSON.stringify(CHAT.json)
  const beginnings = [
    `POST /v1/preview/training-jobs HTTP/1.1\r\n${json}\r\ncontent-length: 900\r\n\r\n{`,
    `POST /v1/preview/training-jobs HTTP/1.1\r\n${json}\r\ncontent-length: 9000\r\n\r\n{`,
    `POST /v1/preview/training-jobs HTTP/1.1\r\n${json}\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
    'POST /v1/preview/artifacts/default/p/a/versions HTTP/1.1\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 9000\r\n\r\n--b\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\nxxx',
    `POST /v1/chat/completions HTTP/1.1\r\n${json}\r\ncontent-length: ${chat.length}\r\n\r\n${chat}`,
    `POST /v1/chat/completions HTTP/1.1\r\n${json}\r\ncontent-length: ${chat.length + 14}\r\n\r\n{"stream":true,${chat.slice(1)}`,
  ]
  for (const beginning of beginnings) {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(beginning.replace('HTTP/1.1\r\n', `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\n`))
    await until(
      () => server.call('/v1/models'),
      reply => reply.status === 429,
    )
    socket.destroy()
    await until(
      () => server.call('/v1/models'),
      reply => reply.status === 200,
    )
  }
  expect(generations.map(({ signal }) => signal.aborted)).toEqual([true, true])
})
