import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ContentGoneError, freeContents, withContents } from '../../src/artifacts/collect.ts'
import { DiskStore } from '../../src/artifacts/disk-store.ts'
import { storeFolder } from '../../src/artifacts/store-folder.ts'
import { addArtifactVersion } from '../../src/storage/artifact-creation.ts'
import type { StoredFile } from '../../src/storage/artifacts.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { createDataDir } from '../server/start.ts'

let folder: string
let stores: { database: Database; artifacts: DiskStore; log: pino.Logger }

beforeEach(async () => {
  folder = await createDataDir()
  const artifacts = await DiskStore.open(join(folder, 'artifacts'))
  stores = { database: await openDatabase(folder), artifacts, log: pino({ level: 'silent' }) }
})
afterEach(async () => {
  await stores.database.destroy()
  await rm(folder, { recursive: true, force: true })
})

async function* toBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** Adds a version of some files, in a transaction that first confirms them. */
function addVersion(files: StoredFile[], confirm: () => Promise<void>): Promise<string> {
  const version = { type: 't', metadata: {}, aliases: [], tags: [], files, user: 'u' }
  return stores.database.transaction().execute(async queries => {
    await confirm()
    return addArtifactVersion(queries, { entity: 'e', project: 'p', name: 'a' }, version)
  })
}

test('contents that something refers to stay, the others are freed', async () => {
  const content = await stores.artifacts.put(toBytes('x'))
  const files = [{ path: 'x', ...content }]
  await withContents(stores, files, confirm => addVersion(files, confirm))
  expect(await stores.artifacts.has(content.sha256)).toBe(true)
  const other = await stores.artifacts.put(toBytes('y'))
  await withContents(stores, [other], async () => {})
  expect(await stores.artifacts.has(other.sha256)).toBe(false)
})

test('contents of what failed are freed, and its error is the one that is told', async () => {
  const content = await stores.artifacts.put(toBytes('x'))
  const failing = withContents(stores, [content], async () => {
    throw new Error('the reason')
  })
  await expect(failing).rejects.toThrow('the reason')
  expect(await stores.artifacts.has(content.sha256)).toBe(false)
})

test('nothing refers to a content that was deleted after it was stored', async () => {
  const files = [{ path: 'x', ...(await stores.artifacts.put(toBytes('x'))) }]
  const racing = withContents(stores, files, async confirm => {
    await freeContents(stores, [files[0]!.sha256])
    return addVersion(files, confirm)
  })
  await expect(racing).rejects.toBeInstanceOf(ContentGoneError)
  expect(await stores.database.selectFrom('artifact_versions').selectAll().execute()).toEqual([])
})

test('a folder is stored once more when its contents were deleted in between', async () => {
  const source = join(folder, 'source')
  await mkdir(join(source, 'deep'), { recursive: true })
  await writeFile(join(source, 'deep', 'a.txt'), 'a')
  await writeFile(join(source, 'b.txt'), 'b')
  let attempts = 0
  const stored = await storeFolder(stores, source, async (files, confirm) => {
    attempts++
    if (attempts === 1) {
      await freeContents(
        stores,
        files.map(({ sha256 }) => sha256),
      )
    }
    await addVersion(files, confirm)
    return files
  })
  expect(attempts).toBe(2)
  expect(stored.map(({ path, size }) => [path, size])).toEqual([
    ['b.txt', 1],
    ['deep/a.txt', 1],
  ])
  for (const { sha256 } of stored) expect(await stores.artifacts.has(sha256)).toBe(true)
})
