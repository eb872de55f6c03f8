import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, test } from 'vitest'
import { createSqliteDialect } from '../../src/storage/node-sqlite.ts'

test('a migration that fails midway leaves nothing behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-migration-'))
  const database = new Kysely<{ half: { id: string } }>({ dialect: createSqliteDialect(join(folder, 'test.sqlite')) })
  try {
    const up = async (queries: Kysely<unknown>) => {
      await sql`create table half (id text)`.execute(queries)
      throw new Error('no room')
    }
    const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ first: { up } }) } })
    expect((await migrator.migrateToLatest()).error).toMatchObject({ message: 'no room' })
    await expect(database.selectFrom('half').selectAll().execute()).rejects.toThrow('no such table')
  } finally {
    await database.destroy()
    await rm(folder, { recursive: true })
  }
})
