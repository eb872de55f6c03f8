import { join } from 'node:path'
import { Kysely, sql, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import * as initial from './migrations/001-initial.ts'
import * as usage from './migrations/002-usage.ts'
import * as automations from './migrations/003-automations.ts'
import { createSqliteDialect } from './node-sqlite.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>
/** A database or a transaction of it: what every query takes. */
export type Queries = Kysely<Tables> | Transaction<Tables>

/** In order of their names; a migration that has shipped is never changed. */
const MIGRATIONS = { '001-initial': initial, '002-usage': usage, '003-automations': automations }

export function toDatabaseFile(folder: string): string {
  return join(folder, 'trainyard.sqlite')
}

/** Opens (and migrates) the embedded database `trainyard.sqlite` in a folder. Throws what the migration failed on. */
export async function openDatabase(folder: string): Promise<Database> {
  const database = new Kysely<Tables>({ dialect: createSqliteDialect(toDatabaseFile(folder)) })
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => MIGRATIONS } })
  const { error } = await migrator.migrateToLatest()
  if (error) throw error
  return database
}

/** Writes and takes back one row, so that a read-only or full disk shows. Throws the reason. */
export async function checkDatabase(database: Database): Promise<void> {
  await database.transaction().execute(async transaction => {
    await sql`create table if not exists system_check (at text)`.execute(transaction)
    await sql`insert into system_check values (${new Date().toISOString()})`.execute(transaction)
    await sql`delete from system_check`.execute(transaction)
  })
}
