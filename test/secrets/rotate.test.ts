import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dropUnusedKeys, resealWithNewKey, rotateMasterKey } from '../../src/secrets/rotate.ts'
import { UnreadableSecretError } from '../../src/secrets/secret-box.ts'
import { readSecret } from '../../src/storage/secrets.ts'
import { startTestServer, type TestServer } from '../server/start.ts'

const CLI = join(import.meta.dirname, '../../src/cli.ts')
const COUNT = 20

let server: TestServer

beforeEach(async () => {
  server = await startTestServer()
  for (let index = 0; index < COUNT; index++) await put(`S${index}`, `value ${index}`)
})
afterEach(() => server.close())

async function put(name: string, value: string): Promise<void> {
  const path = `/v1/preview/teams/default/secrets/${name}`
  expect((await server.call(path, { method: 'PUT', json: { value } })).status).toBe(200)
}

const read = (name: string) => readSecret(server.service.database, server.service.secrets, { entity: 'default', name })

async function expectAllReadable(): Promise<void> {
  for (let index = 0; index < COUNT; index++) expect(await read(`S${index}`)).toBe(`value ${index}`)
}

async function findKeyIds(): Promise<string[]> {
  const rows = await server.service.database.selectFrom('secrets').select('key_id').distinct().execute()
  return rows.map(row => row.key_id)
}

const readFileKeys = async () => (await readFile(join(server.dataDir, 'secrets.key'), 'utf8')).trim().split('\n')

const rotateByCommand = (environment: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [CLI, 'secrets', 'rotate'], {
    env: { ...process.env, DATA_DIR: server.dataDir, ...environment },
  })

async function restart(environment: Record<string, string> = {}): Promise<void> {
  const { dataDir } = server
  await server.close(true)
  server = await startTestServer({ dataDir, environment })
}

test('a server that runs goes on with the new key, and so does the next one', async () => {
  const [before] = await readFileKeys()
  const [oldId] = await findKeyIds()
  const { stdout } = await rotateByCommand()
  expect(stdout).toBe(`Secrets put under the new master key: ${COUNT}\n`)
  const after = await readFileKeys()
  expect(after).toHaveLength(1)
  expect(after[0]).not.toBe(before)
  expect((await stat(join(server.dataDir, 'secrets.key'))).mode & 0o777).toBe(0o600)
  // The first write of the server, before it met the new key in any row.
  await put('LATER', 'later')
  expect(await findKeyIds()).toHaveLength(1)
  expect(await findKeyIds()).not.toContain(oldId)
  await expectAllReadable()
  await restart()
  await expectAllReadable()
  expect(await read('LATER')).toBe('later')
})

test('times and ids stay: the value is the same', async () => {
  const list = () => server.call('/v1/preview/teams/default/secrets?limit=100')
  const before = (await list()).body
  await rotateMasterKey(server.service.database, server.service.settings)
  expect((await list()).body).toEqual(before)
})

test('an end between the phases leaves all keys that are needed, and the next rotation clears up', async () => {
  await resealWithNewKey(server.service.database, server.service.settings)
  expect(await readFileKeys()).toHaveLength(2)
  await restart()
  await expectAllReadable()
  await rotateByCommand()
  expect(await readFileKeys()).toHaveLength(1)
  await restart()
  await expectAllReadable()
})

test('an end after the new key was written, and before a secret was, leaves all readable', async () => {
  const { database, settings } = server.service
  await sql`create trigger stop before update on secrets begin select raise(abort, 'it ended here'); end`.execute(
    database,
  )
  await expect(resealWithNewKey(database, settings)).rejects.toThrow('it ended here')
  await sql`drop trigger stop`.execute(database)
  expect(await readFileKeys()).toHaveLength(2)
  await expectAllReadable()
  await restart()
  await expectAllReadable()
  await put('LATER', 'under the new key')
  expect(await findKeyIds()).toHaveLength(2)
  await dropUnusedKeys(server.service.database, settings)
  expect(await readFileKeys()).toHaveLength(2)
  await rotateByCommand()
  expect(await readFileKeys()).toHaveLength(1)
  await expectAllReadable()
})

test('rotations at the same time, and secrets put meanwhile, lose nothing', async () => {
  const rotations = [rotateByCommand(), rotateByCommand(), rotateByCommand()]
  let written = 0
  let isDone = false
  const all = Promise.all(rotations).finally(() => {
    isDone = true
  })
  while (!isDone) await put(`M${written}`, `meanwhile ${written++}`)
  await all
  expect(await readFileKeys()).toHaveLength(1)
  await restart()
  await expectAllReadable()
  for (let index = 0; index < written; index++) expect(await read(`M${index}`)).toBe(`meanwhile ${index}`)
})

test('kill -9 at any moment of it leaves every secret readable', async () => {
  for (let round = 0; round < 8; round++) {
    const environment = { ...process.env, DATA_DIR: server.dataDir }
    const child = spawn(process.execPath, [CLI, 'secrets', 'rotate'], { env: environment, stdio: 'ignore' })
    const ended = once(child, 'exit')
    setTimeout(() => child.kill('SIGKILL'), 150 + Math.random() * 250)
    await ended
    await expectAllReadable()
  }
  await restart()
  await expectAllReadable()
  await rotateByCommand()
  expect(await readFileKeys()).toHaveLength(1)
  await expectAllReadable()
})

test('a secret that cannot be opened stops it before anything has changed, by name', async () => {
  const { database, settings } = server.service
  const keys = await readFileKeys()
  const [id] = await findKeyIds()
  await database.updateTable('secrets').set({ sealed: 'AAAA' }).where('name', '=', 'S7').execute()
  await expect(rotateMasterKey(database, settings)).rejects.toThrow(UnreadableSecretError)
  await expect(rotateByCommand()).rejects.toMatchObject({
    code: 1,
    stderr: 'The secret default/S7 cannot be read: what is stored was changed\n',
  })
  expect(await readFileKeys()).toEqual(keys)
  expect(await findKeyIds()).toEqual([id])
  await put('S7', 'value 7')
  await rotateByCommand()
  await expectAllReadable()
})

test('a sealed value that was moved to another name cannot be read there', async () => {
  const { database } = server.service
  const { sealed } = await database
    .selectFrom('secrets')
    .select('sealed')
    .where('name', '=', 'S1')
    .executeTakeFirstOrThrow()
  await database.updateTable('secrets').set({ sealed }).where('name', '=', 'S2').execute()
  await expect(read('S2')).rejects.toThrow(UnreadableSecretError)
  expect(await read('S1')).toBe('value 1')
})

test('with keys from the settings everything is put under SECRETS_KEY, also what the file sealed', async () => {
  const [one, two] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  await restart({ SECRETS_KEY: one })
  await put('LATER', 'under the first key')
  await rotateByCommand({ SECRETS_KEY: two, SECRETS_OLD_KEYS: one })
  await rm(join(server.dataDir, 'secrets.key'))
  await restart({ SECRETS_KEY: two })
  await expectAllReadable()
  expect(await read('LATER')).toBe('under the first key')
  expect(await findKeyIds()).toHaveLength(1)
})
