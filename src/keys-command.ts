import type { Settings } from './config.ts'
import { CommandError, withDatabase } from './operator-database.ts'
import { requireName } from './resource-name.ts'
import { addKey, createKeyValue, deleteKey, type KeyRow, listAllKeys, type Role } from './storage/keys.ts'

export interface NewKey {
  user: string
  team: string
  /** Left out, a member keeps its role and a new one is a plain member. */
  role?: Role
  /** Left out, a random one. */
  key?: string
  name: string
}

/** `trainyard keys create`: stores a key and returns it. Throws RangeError for a value that is too short, and CommandError for a name. */
export async function createKey(settings: Settings, { key = createKeyValue(), ...rest }: NewKey): Promise<string> {
  requireName('user', rest.user)
  requireName('team', rest.team)
  await withDatabase(settings, database => addKey(database, { ...rest, value: key }), { mayCreate: true })
  return key
}

/** `trainyard keys list`: all keys, or those of a user or of a team, the oldest first. */
export function listKeys(settings: Settings, filter: { user?: string; team?: string }): Promise<KeyRow[]> {
  return withDatabase(settings, database => listAllKeys(database, filter))
}

/** `trainyard keys revoke`: all of the keys, or where one of them does not exist none, which is a CommandError. */
export function revokeKeys(settings: Settings, ids: string[]): Promise<void> {
  return withDatabase(settings, database =>
    database.transaction().execute(async transaction => {
      for (const id of new Set(ids.map(id => id.toLowerCase()))) {
        if (!(await deleteKey(transaction, id))) throw new CommandError(`There is no key with the id ${id}`)
      }
    }),
  )
}
