import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** How long to wait for a server that is just ending, in milliseconds. */
const WAIT_MS = 2000

export interface FolderLock {
  release(): void
}

/** A folder that another server works in. */
export class FolderInUseError extends Error {
  override name = 'FolderInUseError' as const
}

/**
 * Takes a data folder (made where it is missing) for one server, which empties its working folders at start. The lock is SQLite's on
 * a file, so the system frees it however the process ends. Throws FolderInUseError.
 */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true })
  const database = new DatabaseSync(join(folder, 'lock.sqlite'), { timeout: WAIT_MS })
  try {
    database.exec('begin exclusive')
  } catch (error) {
    database.close()
    throw new FolderInUseError(`The data folder ${folder} is in use by another server`, { cause: error })
  }
  return { release: () => database.close() }
}
