import { createHash } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DiskStore } from '../../src/artifacts/disk-store.ts'
import { createDataDir } from '../server/start.ts'

let folder: string
let store: DiskStore

beforeEach(async () => {
  folder = await createDataDir()
  store = await DiskStore.open(folder)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function* toBytes(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

async function readFiles(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => entry.name)
}

const sha256 = (content: string) => createHash('sha256').update(content).digest('hex')

test('a content is named by its digest and read back, whole and in part', async () => {
  expect(await store.put(toBytes('hello ', 'world'))).toEqual({ sha256: sha256('hello world'), size: 11 })
  expect(await store.has(sha256('hello world'))).toBe(true)
  expect(await text(store.open(sha256('hello world')))).toBe('hello world')
  expect(await text(store.open(sha256('hello world'), { start: 4, end: 6 }))).toBe('o w')
})

test('the same content at once is stored once', async () => {
  const puts = await Promise.all(Array.from({ length: 20 }, () => store.put(toBytes('same'))))
  expect(new Set(puts.map(put => put.sha256)).size).toBe(1)
  expect(await readFiles()).toEqual([sha256('same')])
})

test('a stream that fails leaves nothing', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half')
    throw new Error('gone')
  }
  await expect(store.put(failing())).rejects.toThrow('gone')
  expect(await readFiles()).toEqual([])
})

test('a content that is not there cannot be read, and is deleted without complaint', async () => {
  expect(await store.has(sha256('none'))).toBe(false)
  await expect(text(store.open(sha256('none')))).rejects.toThrow('ENOENT')
  await store.delete(sha256('none'))
})

test('a checked out copy outlives its content', async () => {
  const { sha256: name } = await store.put(toBytes('kept'))
  const copy = join(folder, 'some', 'where', 'copy')
  await store.checkout(name, copy)
  await store.delete(name)
  expect(await readFile(copy, 'utf8')).toBe('kept')
})

test('what an earlier process left half written is removed when the store is opened', async () => {
  await writeFile(join(folder, 'incoming', 'half'), 'x')
  const { sha256: name } = await store.put(toBytes('whole'))
  const again = await DiskStore.open(folder)
  expect(await readFiles()).toEqual([name])
  await again.check()
  expect(await readFiles()).toEqual([name])
})

test('the check fails where nothing can be written', async () => {
  await rm(join(folder, 'incoming'), { recursive: true })
  await expect(store.check()).rejects.toThrow('ENOENT')
})
