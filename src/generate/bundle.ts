import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenApiDocument } from './document.ts'
import { mustRunRedocly } from './redocly.ts'

/**
 * Bundles the contract of a repository (the api `main` of its redocly.yaml) into one document.
 *
 * @throws {Error} with Redocly's own words when a reference does not resolve or a file does not parse.
 */
export const bundleSpec = async (root: string): Promise<OpenApiDocument> => {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-bundle-'))
  try {
    const file = join(folder, 'openapi.json')
    await mustRunRedocly(root, ['bundle', 'main', '--output', file])
    return JSON.parse(await readFile(file, 'utf8')) as OpenApiDocument
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The text of generated/openapi.json: two spaces, final newline, keys in the order of the contract's files. */
export const toDocumentText = (document: OpenApiDocument) => `${JSON.stringify(document, null, 2)}\n`
