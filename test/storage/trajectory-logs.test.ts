import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/storage/database.ts'
import * as initial from '../../src/storage/migrations/001-initial.ts'
import * as usage from '../../src/storage/migrations/002-usage.ts'
import { createSqliteDialect } from '../../src/storage/node-sqlite.ts'
import { listLogParts } from '../../src/storage/trajectory-logs.ts'
import { createDataDir } from '../server/start.ts'

test('logs from before their trajectories were counted are listed, where they can be read', async () => {
  const folder = await createDataDir()
  // biome-ignore lint/suspicious/noExplicitAny: the tables of an older version
  const old = new Kysely<any>({ dialect: createSqliteDialect(join(folder, 'trainyard.sqlite')) })
  const provider = { getMigrations: async () => ({ '001-initial': initial, '002-usage': usage }) }
  expect((await new Migrator({ db: old, provider }).migrateToLatest()).error).toBeUndefined()
  const created_at = '2026-11-21T10:15:30.127Z'
  await old
    .insertInto('models')
    .values({
      id: 'm',
      entity: 'e',
      project: 'p',
      name: 'n',
      base_model: 'b',
      run_id: 'r',
      next_step: 1,
      created_by: 'u',
      created_at,
    })
    .execute()
  const body = JSON.stringify({ trajectory_groups: [{ trajectories: [{}, {}] }, { trajectories: [{}] }] })
  const logs = [
    { id: '1', input: body, input_sha256: null },
    { id: '2', input: null, input_sha256: 'content' },
    { id: '3', input: 'no JSON', input_sha256: null },
  ]
  for (const log of logs) {
    await old
      .insertInto('trajectory_logs')
      .values({ model_id: 'm', split: 'val', created_at, ...log })
      .execute()
  }
  await old.destroy()
  const database = await openDatabase(folder)
  const { parts, hasMore } = await listLogParts(database, 'm', {})
  expect(parts.map(({ log, first, last }) => [log.id, first, last])).toEqual([['1', 0, 2]])
  expect(hasMore).toBe(false)
  await database.destroy()
  await rm(folder, { recursive: true, force: true })
})
