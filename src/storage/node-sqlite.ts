import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { SqliteAdapter, SqliteDialect } from 'kysely'

/** Milliseconds to wait for another process, such as the CLI, that holds the write lock. */
const BUSY_TIMEOUT_MS = 5000
/** Prepared statements kept; Kysely makes the same few dozen texts over and over. */
const STATEMENT_CACHE = 500

/**
 * Kysely's SQLite dialect over node:sqlite, which lacks only better-sqlite3's `reader` flag.
 * Durable: WAL with synchronous FULL reaches the disk before a commit returns.
 */
export function createSqliteDialect(file: string): SqliteDialect {
  const database = new DatabaseSync(file)
  database.exec(
    `pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = ${BUSY_TIMEOUT_MS}`,
  )
  const statements = new Map<string, ReturnType<typeof wrap>>()
  const prepare = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    if (statements.size >= STATEMENT_CACHE) statements.clear()
    // A deferred transaction that turns into a writer fails at once when another process wrote in between; an immediate one waits.
    const statement = wrap(database.prepare(sql === 'begin' ? 'begin immediate' : sql))
    if (sql === 'rollback') return { ...statement, run: () => (database.isTransaction ? statement.run([]) : NO_CHANGE) }
    statements.set(sql, statement)
    return statement
  }
  return new AtomicSqliteDialect({ database: { prepare, close: () => database.close() } })
}

/** Kysely leaves it to the migrations to be atomic. Ours are whole or not there, and are written with one sync instead of dozens. */
class AtomicSqliteDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new AtomicSqliteAdapter()
  }
}

class AtomicSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** A full disk rolls a transaction back by itself: a second time would fail, and hide why. */
const NO_CHANGE = { changes: 0, lastInsertRowid: 0 }

type Values = (null | number | bigint | string | Uint8Array)[]

function wrap(statement: StatementSync) {
  return {
    reader: statement.columns().length > 0,
    all: (parameters: readonly unknown[]) => statement.all(...(parameters as Values)),
    run: (parameters: readonly unknown[]) => statement.run(...(parameters as Values)),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...(parameters as Values)),
  }
}
