import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { SettingError } from '../config.ts'
import { KEY_BYTES } from './secret-box.ts'

const NAME = 'secrets.key'
const OWNER_ONLY = 0o600
const OTHERS = 0o077
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/

/** The master keys of a data folder, one a line in base64, the newest first. */
export function toKeyFile(dataDir: string): string {
  return join(dataDir, NAME)
}

export function hasKeyFile(file: string): boolean {
  return existsSync(file)
}

/** Throws SettingError, with nothing of the content, where the file holds something else or others than its owner may read it. */
export function readKeyFile(file: string): Buffer[] {
  // Windows has no such bits, and tells 666 of every file.
  const mode = process.platform === 'win32' ? 0 : statSync(file).mode
  if (mode & OTHERS)
    throw new SettingError(`Others than its owner may read the master key file ${file}: run chmod 600 on it`)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line, index) => toKey(line.trim(), `Line ${index + 1} of the master key file ${file}`))
}

/** The file is whole whenever it is there: it is written beside, brought to the disk, and then put in place of the one before. */
export function writeKeyFile(file: string, keys: Buffer[]): void {
  const beside = `${file}.new`
  rmSync(beside, { force: true })
  const handle = openSync(beside, 'wx', OWNER_ONLY)
  try {
    writeSync(handle, keys.map(key => `${key.toString('base64')}\n`).join(''))
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(beside, file)
  syncFolder(dirname(file))
}

/** Throws SettingError, without the text, unless it is a key of 32 bytes in base64. */
export function toKey(text: string, what: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (!KEY.test(text) || key.length !== KEY_BYTES)
    throw new SettingError(`${what} must be ${KEY_BYTES} bytes as base64`)
  return key
}

/** Without it a power cut could take the new name back. Windows cannot open folders, and does without. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
