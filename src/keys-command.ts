import { mkdir } from 'node:fs/promises'
import type { Settings } from './config.ts'
import { openDatabase } from './storage/database.ts'
import { addKey, createKeyValue, type Role } from './storage/keys.ts'

/** `trainyard keys create`: stores a key and returns it. Throws RangeError for a value that is too short. */
export async function createKey(
  settings: Settings,
  {
    user,
    team,
    role,
    key = createKeyValue(),
    name,
  }: { user: string; team: string; role: Role; key?: string; name: string },
): Promise<string> {
  await mkdir(settings.dataDir, { recursive: true })
  const database = await openDatabase(settings.dataDir)
  try {
    await addKey(database, { value: key, user, team, role, name })
    return key
  } finally {
    await database.destroy()
  }
}
