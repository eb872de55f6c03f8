import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import * as initial from '../../src/storage/migrations/001-initial.ts'
import { createSqliteDialect } from '../../src/storage/node-sqlite.ts'
import { addUsage, listUsageRows, type UsageAddition, type UsageFilter } from '../../src/storage/usage.ts'
import { createDataDir } from '../server/start.ts'

let folder: string
let database: Database

beforeEach(async () => {
  folder = await createDataDir()
  database = await openDatabase(folder)
})
afterEach(async () => {
  await database.destroy()
  await rm(folder, { recursive: true, force: true })
})

const ONE: UsageAddition = {
  day: '2026-11-21',
  entity: 'a',
  project: 'p',
  model: 'm',
  api_key_id: 'k',
  requests: 1,
  prompt_tokens: 20,
  completion_tokens: 300,
  cached_tokens: 4000,
}
const like = (more: Partial<UsageAddition>) => ({ ...ONE, ...more })
const read = async (filter: Partial<UsageFilter> = {}) =>
  (await listUsageRows(database, { teams: ['a', 'b'], ...filter }, { limit: 100 }, row => row)).data

test('additions to the same key sum up in one line, in one call and in several', async () => {
  await addUsage(database, [ONE, ONE])
  const id = (await read())[0]!.id
  await addUsage(database, [like({ completion_tokens: 7 })])
  const sums = { requests: 3, prompt_tokens: 60, completion_tokens: 607, cached_tokens: 12_000 }
  expect(await read()).toEqual([{ ...like(sums), id }])
})

test('each part of the key makes another line', async () => {
  const others = [{ day: '2026-11-22' }, { entity: 'b' }, { project: '' }, { model: 'n' }, { api_key_id: 'l' }]
  await addUsage(database, [ONE, ...others.map(like)])
  expect((await read()).map(({ id: _, ...row }) => row)).toEqual([ONE, ...others.map(like)])
})

test('all is added or nothing', async () => {
  const broken = like({ day: null as never })
  await expect(addUsage(database, [ONE, broken])).rejects.toThrow('NOT NULL')
  expect(await read()).toEqual([])
})

describe('lines are found', () => {
  const days = ['2026-11-20', '2026-11-21', '2026-11-22'].map(day => like({ day }))
  const others = [{ entity: 'b' }, { entity: 'c' }, { project: 'q' }, { model: 'n' }].map(like)
  test.each<[Partial<UsageFilter>, UsageAddition[]]>([
    [{}, [...days, others[0]!, others[2]!, others[3]!]],
    [{ teams: ['b'] }, [others[0]!]],
    [{ teams: [] }, []],
    [{ project: 'q' }, [others[2]!]],
    [{ model: 'n' }, [others[3]!]],
    [{ from: '2026-11-22' }, [days[2]!]],
    [{ to: '2026-11-20' }, [days[0]!]],
    [{ from: '2026-11-20', to: '2026-11-21', teams: ['a'], project: 'p', model: 'm' }, days.slice(0, 2)],
    [{ project: 'none' }, []],
  ])('by %j', async (filter, expected) => {
    await addUsage(database, [...days, ...others])
    expect((await read(filter)).map(({ id: _, ...row }) => row)).toEqual(expected)
  })
})

test('a database of the first version gets the tables of the later ones', async () => {
  const old = await createDataDir()
  const first = new Kysely({ dialect: createSqliteDialect(join(old, 'trainyard.sqlite')) })
  const provider = { getMigrations: async () => ({ '001-initial': initial }) }
  const { error } = await new Migrator({ db: first, provider }).migrateToLatest()
  expect(error).toBeUndefined()
  await first.destroy()
  const migrated = await openDatabase(old)
  await addUsage(migrated, [ONE])
  expect(await migrated.selectFrom('usage').selectAll().execute()).toHaveLength(1)
  expect(await migrated.selectFrom('webhook_attempts').selectAll().execute()).toEqual([])
  await migrated.destroy()
  await rm(old, { recursive: true, force: true })
})
