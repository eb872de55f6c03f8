import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { startServer } from '../../src/serve.ts'
import { noOpInference, noOpTraining } from '../no-op-engine.ts'
import { readFolder } from './read-folder.ts'
import { createDataDir, FIRST_KEY, startTestServer, toSettings } from './start.ts'

const parts = { inference: noOpInference, training: noOpTraining }
const cli = join(import.meta.dirname, '../../src/cli.ts')
const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function createFolder(): Promise<string> {
  const folder = await createDataDir()
  closers.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function createKey(dataDir: string, ...options: string[]): Promise<string> {
  const environment = { ...process.env, DATA_DIR: dataDir }
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'keys', 'create', ...options], {
    env: environment,
  })
  return stdout.trim()
}

async function statusWith(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status
}

test('the first key is made once, of at least 128 random bits, and given only by the start that made it', async () => {
  const settings = toSettings(await createFolder(), { API_KEY: '' })
  const first = await startServer(settings, parts)
  expect(first.newKey).toMatch(/^ty-[\w-]{22,}$/)
  expect(await statusWith(first.url, first.newKey!)).toBe(200)
  await first.close()
  const second = await startServer(settings, parts)
  closers.push(() => second.close())
  expect(second.newKey).toBeNull()
  expect(await statusWith(second.url, first.newKey!)).toBe(200)
})

test('a start that cannot listen makes no key that nobody would see', async () => {
  const other = await startTestServer()
  closers.push(() => other.close())
  const dataDir = await createFolder()
  const taken = toSettings(dataDir, { API_KEY: '', PORT: String(other.port) })
  await expect(startServer(taken, parts)).rejects.toThrow('EADDRINUSE')
  const server = await startServer(toSettings(dataDir, { API_KEY: '' }), parts)
  closers.push(() => server.close())
  expect(server.newKey).not.toBeNull()
})

test('API_KEY is the key of an admin of team default, and no other is made', async () => {
  const server = await startServer(toSettings(await createFolder()), parts)
  closers.push(() => server.close())
  expect(server.newKey).toBeNull()
  const reply = await fetch(`${server.url}/v1/preview/models`, {
    method: 'POST',
    headers: { authorization: `Bearer ${FIRST_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ project: 'p', name: 'm', base_model: 'tiny-chat' }),
  })
  expect(await reply.json()).toMatchObject({ entity: 'default' })
})

test('trainyard keys create makes a key while the server runs', async () => {
  const dataDir = await createFolder()
  const server = await startServer(toSettings(dataDir), parts)
  closers.push(() => server.close())
  const key = await createKey(dataDir, '--user', 'ann', '--team', 'lab')
  expect(await statusWith(server.url, key)).toBe(200)
  const own = 'a-key-of-my-own-0123456789abcdef'
  expect(await createKey(dataDir, '--user', 'bob', '--team', 'lab', '--role', 'admin', '--key', own)).toBe(own)
  expect(await statusWith(server.url, own)).toBe(200)
})

test('a key that is too short is refused with the rule, on one line', async () => {
  const failure = createKey(await createFolder(), '--user', 'ann', '--team', 'lab', '--key', 'short')
  await expect(failure).rejects.toMatchObject({ stderr: 'An API key must have at least 8 characters\n', code: 1 })
})

test('a wrong role is refused', async () => {
  const failure = createKey(await createFolder(), '--user', 'ann', '--team', 'lab', '--role', 'owner')
  await expect(failure).rejects.toMatchObject({ stderr: expect.stringContaining('member, admin') })
})

test('no key stands in the data folder as text', async () => {
  const dataDir = await createFolder()
  const server = await startServer(toSettings(dataDir), parts)
  closers.push(() => server.close())
  const key = await createKey(dataDir, '--user', 'ann', '--team', 'lab')
  await statusWith(server.url, key)
  const text = await readFolder(dataDir)
  expect(text).toContain('made by trainyard keys create')
  expect(text).not.toContain(key)
  expect(text).not.toContain(FIRST_KEY)
})

test('a second server on the same data folder is refused, and the first goes on', async () => {
  const dataDir = await createFolder()
  const first = await startServer(toSettings(dataDir), parts)
  closers.push(() => first.close())
  await expect(startServer(toSettings(dataDir), parts)).rejects.toThrow('is in use by another server')
  expect(await statusWith(first.url, FIRST_KEY)).toBe(200)
})
