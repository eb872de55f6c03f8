import type { Database } from '../storage/database.ts'
import { listKeyIds, resealSecrets } from '../storage/secrets.ts'
import { readKeyFile, toKeyFile, writeKeyFile } from './key-file.ts'
import { createMasterKey, type KeySettings, openSecretBox, readMasterKeys } from './master-key.ts'
import { SecretBox, toKeyId } from './secret-box.ts'

/**
 * Puts all secrets under a new master key, also while a server runs: the key file holds the new key and the old ones until every secret
 * is sealed anew, which is one transaction, so that whatever ends this midway leaves nothing unreadable. With SECRETS_KEY, that key is
 * the new one. Returns how many secrets were sealed anew. Throws UnreadableSecretError, with nothing changed, where one cannot be opened.
 */
export async function rotateMasterKey(database: Database, settings: KeySettings): Promise<number> {
  await openSecretBox(settings, database)
  const count = await resealWithNewKey(database, settings)
  if (!settings.secretsKey) await dropUnusedKeys(database, settings)
  return count
}

/** The first phase, which leaves the old keys in the file. */
export async function resealWithNewKey(database: Database, settings: KeySettings): Promise<number> {
  const file = toKeyFile(settings.dataDir)
  return database.transaction().execute(transaction => {
    const known = new SecretBox(readMasterKeys(settings))
    return resealSecrets(transaction, known, () => {
      if (settings.secretsKey) return known
      const keys = [createMasterKey(), ...readKeyFile(file)]
      // On the disk before the first row that needs it.
      writeKeyFile(file, keys)
      return new SecretBox(keys)
    })
  })
}

/** The second phase: leaves in the file the newest key, and those that some secret is still under. */
export async function dropUnusedKeys(database: Database, settings: KeySettings): Promise<void> {
  const file = toKeyFile(settings.dataDir)
  await database.transaction().execute(async transaction => {
    const used = new Set(await listKeyIds(transaction))
    const keys = readKeyFile(file)
    const kept = keys.filter((key, index) => index === 0 || used.has(toKeyId(key)))
    if (kept.length < keys.length) writeKeyFile(file, kept)
  })
}
