import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addArtifactVersion } from '../../src/storage/artifact-creation.ts'
import { deleteVersion, selectUnreferenced } from '../../src/storage/artifact-deletion.ts'
import { getArtifactVersionById, type StoredFile } from '../../src/storage/artifacts.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { createDataDir } from '../server/start.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await createDataDir()
  database = await openDatabase(folder)
})
afterAll(async () => {
  await database.destroy()
  await rm(folder, { recursive: true, force: true })
})

const where = { entity: 'e', project: 'p', name: 'a' }
const addVersion = (files: StoredFile[], metadata: Record<string, unknown> = {}) =>
  database
    .transaction()
    .execute(queries =>
      addArtifactVersion(queries, where, { type: 't', metadata, aliases: [], tags: [], files, user: 'u' }),
    )

test('a version may have more files than a statement takes parameters', async () => {
  const files = Array.from({ length: 9000 }, (_, index) => ({ path: `f${index}`, sha256: `content ${index}`, size: 1 }))
  const version = await getArtifactVersionById(database, await addVersion(files))
  expect(version.files).toHaveLength(9000)
  const contents = files.map(file => file.sha256)
  expect(await selectUnreferenced(database, [...contents, 'free', 'free'])).toEqual(['free'])
  expect(await deleteVersion(database, version)).toHaveLength(9000)
})

test('the order of files and of metadata makes no other version', async () => {
  const [a, b] = [
    { path: 'a', sha256: '1', size: 1 },
    { path: 'b', sha256: '2', size: 1 },
  ]
  const first = await addVersion([a, b], { x: 1, y: 2 })
  expect(await addVersion([b, a], { y: 2, x: 1 })).toBe(first)
  expect(await addVersion([a, { ...b, sha256: '3' }], { x: 1, y: 2 })).not.toBe(first)
})
