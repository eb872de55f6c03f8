import { randomBytes } from 'node:crypto'
import type { Settings } from '../config.ts'
import type { Database } from '../storage/database.ts'
import { hasKeyFile, readKeyFile, toKey, toKeyFile, writeKeyFile } from './key-file.ts'
import { KEY_BYTES, SecretBox } from './secret-box.ts'

export type KeySettings = Pick<Settings, 'secretsKey' | 'secretsOldKeys' | 'dataDir'>

/**
 * The box with the master keys of a deployment. SECRETS_KEY seals, or else the first key of the key file, which is made where there is
 * none; SECRETS_OLD_KEYS and the file's other keys open. Throws SettingError where a key or the file is not as it must be.
 */
export async function openSecretBox(settings: KeySettings, database: Database): Promise<SecretBox> {
  if (!settings.secretsKey) await ensureKeyFile(toKeyFile(settings.dataDir), database)
  return new SecretBox(() => readMasterKeys(settings))
}

/** All keys of the settings and the file, the one that seals first. */
export function readMasterKeys({ secretsKey, secretsOldKeys, dataDir }: KeySettings): Buffer[] {
  const file = toKeyFile(dataDir)
  const own = secretsKey ? [toKey(secretsKey, 'SECRETS_KEY')] : []
  const kept = !secretsKey || hasKeyFile(file) ? readKeyFile(file) : []
  return [...own, ...kept, ...secretsOldKeys.map(text => toKey(text, 'Each key of SECRETS_OLD_KEYS'))]
}

export function createMasterKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** The file is only ever written within a write transaction of the database: that keeps out any other process that would write it. */
async function ensureKeyFile(file: string, database: Database): Promise<void> {
  if (hasKeyFile(file)) return
  await database.transaction().execute(async () => {
    if (!hasKeyFile(file)) writeKeyFile(file, [createMasterKey()])
  })
}
