import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { Settings } from './config.ts'
import { type Database, openDatabase, toDatabaseFile } from './storage/database.ts'

/** What an operator's command cannot do, in words for one line. */
export class CommandError extends Error {
  override name = 'CommandError' as const
}

/**
 * Runs a command on the database of DATA_DIR, also while a server uses it. Throws CommandError where there is no database, unless the
 * command may make it: a folder that was mistyped is not to look like an empty service.
 */
export async function withDatabase<Result>(
  { dataDir }: Settings,
  act: (database: Database) => Promise<Result>,
  { mayCreate = false } = {},
): Promise<Result> {
  if (mayCreate) await mkdir(dataDir, { recursive: true })
  else if (!existsSync(toDatabaseFile(dataDir)))
    throw new CommandError(`There is no database in ${dataDir}: set DATA_DIR to the data folder of the service`)
  const database = await openDatabase(dataDir)
  try {
    return await act(database)
  } finally {
    await database.destroy()
  }
}
