import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config.ts'
import { SecretBox } from './secret-box.ts'

const KEY_FILE = 'secrets.key'
const OWNER_ONLY = 0o600

/** The box with the keys of the settings, or of the key file, which is made where there is none. */
export function openSecretBox({ secretsKey, secretsOldKeys, dataDir }: Settings): SecretBox {
  if (secretsKey) return new SecretBox([secretsKey, ...secretsOldKeys].map(toKey))
  const file = join(dataDir, KEY_FILE)
  if (!existsSync(file))
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: OWNER_ONLY, flag: 'wx' })
  return new SecretBox(readFileSync(file, 'utf8').trim().split('\n').map(toKey))
}

function toKey(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
