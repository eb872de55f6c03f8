import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

const findUpwards = (relativePath: string) => {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, relativePath)
    if (existsSync(candidate)) return candidate
    if (folder === dirname(folder)) return null
  }
}

/** The folder of this package's package.json: the same one for `src/` and for the compiled `dist/src/`. */
export const packageRoot = dirname(findUpwards('package.json') ?? join(import.meta.dirname, '../../package.json'))

/**
 * The path of a file of an installed package, whatever that package exports.
 *
 * @throws {Error} when the package is not installed, naming the command that installs it.
 */
export const installedFile = (path: string) => {
  const found = findUpwards(join('node_modules', path))
  if (!found) throw new Error(`${path} is not installed: run \`npm ci\` (it is a development dependency)`)
  return found
}
