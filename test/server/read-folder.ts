import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Everything in a folder's files, so that a plaintext would be found wherever it is. */
export async function readFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map(file => readFile(file, 'latin1')))).join('\n')
}
