import { rm, watch } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { afterEach, expect, test } from 'vitest'
import { readSecret } from '../../src/storage/secrets.ts'
import { readFolder } from './read-folder.ts'
import { FIRST_KEY, startTestServer, type TestServer, type TestServerOptions, until } from './start.ts'

const VALUE = 'the-value-that-nobody-may-find-0123456789'
const PATH = '/v1/preview/teams/default/secrets/TOKEN'

let server: TestServer
afterEach(() => server.close())

async function start(options: TestServerOptions = {}): Promise<string[]> {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  server = await startTestServer({ parts: { log }, ...options })
  return lines
}

const read = () => readSecret(server.service.database, server.service.secrets, { entity: 'default', name: 'TOKEN' })

/** In no form in which a value often travels. */
function expectNowhere(text: string): void {
  const bytes = Buffer.from(VALUE)
  for (const form of [VALUE, bytes.toString('base64').slice(0, -4), bytes.toString('hex'), encodeURIComponent(VALUE)])
    expect(text).not.toContain(form)
}

test('a value is found nowhere: not in the data folder, a log line or a reply', async () => {
  const lines = await start({ environment: { SPOOL_BYTES: '10' } })
  const replies = [
    await server.call(PATH, { method: 'PUT', json: { value: VALUE, more: 'x'.repeat(1000) } }),
    await server.call(PATH, { method: 'PUT', json: { value: VALUE.repeat(200) } }),
    await server.call(PATH, { method: 'PUT', json: { value: [VALUE] } }),
    await server.call(PATH, { method: 'PUT', json: { value: VALUE, more: 'x'.repeat(100_000) } }),
    await server.call(PATH, {
      method: 'PUT',
      body: `{"value": "${VALUE}"`,
      headers: { 'content-type': 'application/json' },
    }),
    await server.call(PATH, { method: 'PUT', body: VALUE, headers: { 'content-type': 'text/plain' } }),
    await server.call('/v1/preview/teams/default/secrets'),
  ]
  expect(replies.map(reply => reply.status)).toEqual([200, 422, 422, 413, 422, 415, 200])
  expect(await read()).toBe(VALUE)
  for (const { text } of replies) expectNowhere(text)
  expectNowhere(await readFolder(server.dataDir))
  await until(
    () => lines.length,
    count => count >= replies.length,
  )
  expectNowhere(lines.join(''))
})

test('a body with a value is never on disk, of whatever length it says it is', async () => {
  await start({ environment: { SPOOL_BYTES: '10' } })
  const folder = join(server.dataDir, 'spool')
  const seen: string[] = []
  const abort = new AbortController()
  const watching = (async () => {
    for await (const { filename } of watch(folder, { signal: abort.signal })) seen.push(String(filename))
  })().catch(() => {})
  const send = (path: string, text: string) =>
    server.call(path, {
      method: path === PATH ? 'PUT' : 'POST',
      body: new Blob([text]).stream(),
      headers: { 'content-type': 'application/json' },
    })
  expect((await send(PATH, JSON.stringify({ value: VALUE }))).status).toBe(200)
  expect((await send(PATH, JSON.stringify({ value: VALUE, more: 'x'.repeat(100_000) }))).status).toBe(413)
  await sleep(50)
  expect(seen).toEqual([])
  // A body without a value is: what is watched would have shown.
  await send('/v1/preview/models', JSON.stringify({ project: 'p', name: 'm', base_model: 'tiny-chat' }))
  await until(
    () => seen.length,
    count => count > 0,
  )
  abort.abort()
  await watching
})

test('a failure of the server says nothing of the value in its log', async () => {
  const lines: string[] = []
  server = await startTestServer({
    environment: { LOG_LEVEL: 'error' },
    handlers: {
      putSecret: async ({ body }) => {
        const request = { body, headers: { authorization: FIRST_KEY } }
        throw Object.assign(new Error('it failed'), { body, value: body.value, request })
      },
    },
    change: service => {
      const stream = (service.log as unknown as Record<symbol, { write(line: string): void }>)[pino.symbols.streamSym]!
      stream.write = line => void lines.push(line)
    },
  })
  expect((await server.call(PATH, { method: 'PUT', json: { value: VALUE } })).status).toBe(500)
  expect(lines.join('')).toContain('it failed')
  expectNowhere(lines.join(''))
  expect(lines.join('')).not.toContain(FIRST_KEY)
})

test('a secret whose master key was lost is told of at the start, and works again once put anew', async () => {
  const lines = await start()
  await server.call(PATH, { method: 'PUT', json: { value: VALUE } })
  expect(lines.join('')).not.toContain('master keys are not at hand')
  const { dataDir } = server
  await server.close(true)
  const again = await start({ dataDir, environment: { SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') } })
  expect(again.join('')).not.toContain('master keys are not at hand')
  await server.close(true)
  await rm(join(dataDir, 'secrets.key'))
  const lost = await start({ dataDir })
  expect(lost.join('')).toContain('master keys are not at hand')
  await expect(read()).rejects.toThrow('is not at hand')
  expect((await server.call('/v1/preview/teams/default/secrets')).body.data).toHaveLength(1)
  await server.call(PATH, { method: 'PUT', json: { value: VALUE } })
  expect(await read()).toBe(VALUE)
})
