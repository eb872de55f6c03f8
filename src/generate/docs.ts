import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from './package-paths.ts'
import { mustRunRedocly } from './redocly.ts'
import { runScript } from './run-script.ts'

/** The built page: in the repository git-ignored, in the published package included. */
export const docsFile = join(packageRoot, 'dist/docs.html')
const documentFile = join(packageRoot, 'generated/openapi.json')

// Redoc fetches its own logo and icons from these hosts; a self-contained page may not
const remoteLogo = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g
const remoteHost = /https:\/\/cdn\.redoc\.?ly(\.com)?[^"'`\s]*/g
const logo = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="44" height="14"><text y="11" font-family="sans-serif" font-size="11" fill="gray">Redocly</text></svg>',
)}`
const nothing = 'data:,'

/** Without an icon a browser asks the server for /favicon.ico. */
const toHead = (digest: string) =>
  `<head>\n  <link rel="icon" href="${nothing}">\n  <meta name="document-digest" content="${digest}">`

/**
 * Builds the documentation of generated/openapi.json into one page that needs no network.
 *
 * @throws {Error} with what Redocly said when it fails.
 */
export const buildDocs = async (file: string = docsFile): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-docs-'))
  try {
    const built = join(folder, 'docs.html')
    await mustRunRedocly(folder, ['build-docs', documentFile, '--inlineBundle', '--output', built])
    const page = toOfflinePage(await readFile(built, 'utf8'), await digestDocument())
    await mkdir(dirname(file), { recursive: true })
    const unfinished = `${file}.${process.pid}.tmp`
    await writeFile(unfinished, page)
    await rename(unfinished, file)
    return file
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Builds under way, by file: visitors who come meanwhile wait for the same one. */
const builds = new Map<string, Promise<string>>()

/** The path of the built page, which is built now when it is missing or was built from another document. */
export const ensureDocs = async (file: string = docsFile): Promise<string> => {
  const head = toHead(await digestDocument())
  if ((await readBeginning(file)).includes(head)) return file
  const build = builds.get(file) ?? buildDocs(file).finally(() => builds.delete(file))
  builds.set(file, build)
  return build
}

const beginningBytes = 1024

const readBeginning = async (file: string) => {
  const handle = await open(file).catch(() => null)
  if (!handle) return ''
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(beginningBytes))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

const digestDocument = async () =>
  createHash('sha256')
    .update(await readFile(documentFile))
    .digest('hex')

const toOfflinePage = (page: string, digest: string) => {
  if (!page.includes('<head>')) throw new Error('the page that redocly built has no <head>')
  return page
    .replaceAll(remoteLogo, logo)
    .replaceAll(remoteHost, nothing)
    .replace('<head>', () => toHead(digest))
}

const main = async () => {
  const { values } = parseArgs({ options: { output: { type: 'string', default: docsFile } } })
  console.log(`built ${await buildDocs(resolve(values.output))}`)
}

if (import.meta.main) await runScript(main)
