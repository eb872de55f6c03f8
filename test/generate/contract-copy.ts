import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** A copy of the contract and of what is generated from it, in a folder that goes away with the test. */
export const copyContract = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-contract-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const path of ['package.json', 'redocly.yaml', 'spec', 'generated', 'src/generate/redocly-plugin.js']) {
    await cp(join(root, path), join(folder, path), { recursive: true })
  }
  return folder
}

/** Replaces text in a file, and fails when it is not there. */
export const replaceIn = async (file: string, from: string, to: string) => {
  const text = await readFile(file, 'utf8')
  if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`)
  await writeFile(file, text.replace(from, to))
}
