import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readSettings, SettingError } from '../../src/config.ts'
import { openSecretBox } from '../../src/secrets/master-key.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { createDataDir } from '../server/start.ts'

const KEY = /^[A-Za-z0-9+/]{43}=\n$/

let dataDir: string
let file: string
let database: Database

beforeEach(async () => {
  dataDir = await createDataDir()
  file = join(dataDir, 'secrets.key')
  database = await openDatabase(dataDir)
})
afterEach(async () => {
  await database.destroy()
  await rm(dataDir, { recursive: true, force: true })
})

const open = (environment: Record<string, string> = {}) =>
  openSecretBox(readSettings({ DATA_DIR: dataDir, ...environment }), database)

const createKey = () => randomBytes(32).toString('base64')

describe('the key file', () => {
  test('is made once, for its owner only', async () => {
    const sealed = (await open()).seal('x', 'p')
    expect(await readFile(file, 'utf8')).toMatch(KEY)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await open()).open(sealed, 'p')).toBe('x')
  })

  test('is one and the same for processes that make it at the same moment', async () => {
    const script = `
      import { openSecretBox } from './src/secrets/master-key.ts'
      import { openDatabase } from './src/storage/database.ts'
      import { readSettings } from './src/config.ts'
      const settings = readSettings(process.env)
      const database = await openDatabase(settings.dataDir)
      console.log((await openSecretBox(settings, database)).keyId)`
    const options = { cwd: join(import.meta.dirname, '../..'), env: { ...process.env, DATA_DIR: dataDir } }
    const start = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options)
    const ids = (await Promise.all([1, 2, 3, 4].map(start))).map(({ stdout }) => stdout.trim())
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toBe((await open()).keyId)
    expect((await readdir(dataDir)).filter(name => name.startsWith('secrets.key'))).toEqual(['secrets.key'])
  })

  test('that another process made a moment ago is not replaced', async () => {
    const content = `${createKey()}\n`
    const [box] = await database.transaction().execute(async () => {
      const opening = open()
      await writeFile(file, content, { mode: 0o600 })
      return [opening]
    })
    expect((await box).keyId).toBe((await open()).keyId)
    expect(await readFile(file, 'utf8')).toBe(content)
  })

  test.skipIf(process.platform === 'win32')('that others may read is refused with what to do', async () => {
    await open()
    for (const mode of [0o644, 0o640, 0o604, 0o620]) {
      await chmod(file, mode)
      await expect(open()).rejects.toThrow(SettingError)
      await expect(open()).rejects.toThrow(`${file}: run chmod 600`)
    }
    await chmod(file, 0o400)
    await open()
  })

  test.each([
    ['nothing', ''],
    ['too short a key', `${randomBytes(31).toString('base64')}\n`],
    ['too long a key', `${randomBytes(33).toString('base64')}\n`],
    ['something else', `${'?'.repeat(44)}\n`],
    ['one good line and a bad one', `${createKey()}\nrest\n`],
  ])('with %s is refused, and not shown', async (_, content) => {
    await writeFile(file, content, { mode: 0o600 })
    const error = await open().catch(error => error)
    expect(error).toBeInstanceOf(SettingError)
    expect(error.message).toContain('must be 32 bytes as base64')
    for (const line of content.trim().split('\n').filter(Boolean)) expect(error.message).not.toContain(line)
  })

  test('is not made where the settings have a key', async () => {
    await open({ SECRETS_KEY: createKey() })
    expect(await readdir(dataDir)).not.toContain('secrets.key')
  })
})

describe('keys of the settings', () => {
  test('the new one seals, the old ones and those of the file open', async () => {
    const [old, fresh] = [createKey(), createKey()]
    const fromFile = (await open()).seal('a', 'p')
    const fromOld = (await open({ SECRETS_KEY: old })).seal('b', 'p')
    const box = await open({ SECRETS_KEY: fresh, SECRETS_OLD_KEYS: ` ${old} ,` })
    expect([box.open(fromFile, 'p'), box.open(fromOld, 'p')]).toEqual(['a', 'b'])
    expect((await open({ SECRETS_KEY: fresh })).open(box.seal('c', 'p'), 'p')).toBe('c')
  })

  test('old keys also count beside the file', async () => {
    const old = createKey()
    const sealed = (await open({ SECRETS_KEY: old })).seal('a', 'p')
    expect((await open({ SECRETS_OLD_KEYS: old })).open(sealed, 'p')).toBe('a')
  })

  test.each([
    ['SECRETS_KEY', 'a-secret-key-that-is-not-32-bytes'],
    ['SECRETS_OLD_KEYS', `${createKey()},a-secret-key-that-is-not-32-bytes`],
  ])('a wrong %s is refused by its name, and not shown', async (variable, value) => {
    const error = await Promise.resolve()
      .then(() => open({ [variable]: value }))
      .catch(error => error)
    expect(error).toBeInstanceOf(SettingError)
    expect(error.message).toContain(variable)
    expect(error.message).toContain('32 bytes as base64')
    expect(error.message).not.toContain('a-secret-key')
  })
})
