import { copyFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from './package-paths.ts'
import { runRedocly } from './redocly.ts'
import { runScript } from './run-script.ts'

const currentPath = 'generated/openapi.json'
/** The contract as last released: what existing clients rely on. */
const releasedPath = 'spec/released.json'
const acceptCommand = 'node src/generate/breaking.ts --accept'

export type BreakingReport = { breaking: boolean; text: string }

/**
 * Compares the contract of `root` with the one last released there, by the rules of Redocly's `diff-recommended`: a
 * change that can break a client is one that would ask for a new major version, and info.version stays.
 *
 * @throws {Error} when there is no released contract to compare with, or when either file is no OpenAPI document.
 */
export const checkBreaking = async (root: string): Promise<BreakingReport> => {
  const released = join(root, releasedPath)
  if (!(await stat(released).catch(() => null))) {
    throw new Error(`${releasedPath} is missing, so nothing can be compared: \`${acceptCommand}\` writes it`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-diff-'))
  try {
    await copyFile(released, join(folder, 'released.json'))
    await copyFile(join(root, currentPath), join(folder, 'current.json'))
    await writeFile(join(folder, 'redocly.yaml'), 'extends: [diff-recommended]\n')
    const { exitCode, stdout, stderr } = await runRedocly(folder, ['diff', 'released.json', 'current.json'])
    const compared = /^\d+ major, \d+ minor, \d+ patch\.$/m.test(stdout)
    if (!compared) throw new Error(`redocly diff failed:\n${stdout}${stderr}`.trimEnd())
    return { breaking: exitCode !== 0, text: stdout.trim() }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes the present contract the released one. */
export const acceptContract = (root: string) => copyFile(join(root, currentPath), join(root, releasedPath))

const main = async () => {
  const { values } = parseArgs({ options: { accept: { type: 'boolean', default: false }, root: { type: 'string' } } })
  const root = resolve(values.root ?? packageRoot)
  if (values.accept) {
    await acceptContract(root)
    console.log(`${releasedPath} is now the contract of ${currentPath}: name what changed for clients in CHANGELOG.md`)
    return
  }
  const { breaking, text } = await checkBreaking(root)
  console.log(text)
  if (!breaking) return
  console.error(
    `These changes break clients. Keep the old form beside the new one, or accept them by \`${acceptCommand}\``,
  )
  process.exitCode = 1
}

if (import.meta.main) await runScript(main)
