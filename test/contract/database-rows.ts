/** Everything that a database holds, and what a run may leave there. */
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'

/** Rows as JSON, by table. */
export type Rows = ReadonlyMap<string, ReadonlySet<string>>

/** What no operation deletes, by table: how the report of a run names it, and which rows that is true of. */
const STAYS: Readonly<Record<string, { trace: string; isTrace(row: Record<string, unknown>): boolean }>> = {
  usage: { trace: 'usage', isTrace: () => true },
  collections: { trace: 'names of artifact collections', isTrace: () => true },
  scorers: { trace: 'deleted versions of scorers', isTrace: ({ deleted_at }) => deleted_at !== null },
  idempotency_keys: { trace: 'idempotency keys', isTrace: () => true },
}

export async function readRows(database: Database): Promise<Rows> {
  const names = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(database)
  const rows = new Map<string, ReadonlySet<string>>()
  for (const { name } of names.rows) {
    const found = await sql`select * from ${sql.table(name)}`.execute(database)
    rows.set(name, new Set(found.rows.map(row => JSON.stringify(row))))
  }
  return rows
}

/** `<table>: <row>` for each row that came, changed or went and that the report (`left`) does not account for. */
export function findUnaccounted(before: Rows, after: Rows, left: readonly string[]): string[] {
  return [...after].flatMap(([table, rows]) => {
    const old = before.get(table) ?? new Set<string>()
    const stays = STAYS[table]
    const isTold = left.some(line => stays !== undefined && line.includes(stays.trace))
    const isAccounted = (row: string) => isTold && stays!.isTrace(JSON.parse(row) as Record<string, unknown>)
    const came = [...rows].filter(row => !old.has(row) && !isAccounted(row))
    return [...came, ...[...old].filter(row => !rows.has(row))].map(row => `${table}: ${row}`)
  })
}
