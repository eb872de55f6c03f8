import type { Settings } from './config.ts'
import { withDatabase } from './operator-database.ts'
import { rotateMasterKey } from './secrets/rotate.ts'

/** `trainyard secrets rotate`: returns the number of secrets that were sealed anew. Throws UnreadableSecretError and SettingError. */
export function rotateSecrets(settings: Settings): Promise<number> {
  return withDatabase(settings, database => rotateMasterKey(database, settings))
}
