import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundleSpec, toDocumentText } from './bundle.ts'
import { toClient } from './client.ts'
import { packageRoot } from './package-paths.ts'
import { runScript } from './run-script.ts'
import { toSpecLines, toSpecLinesText } from './spec-lines.ts'
import { checkTinyChat } from './tiny-chat/check.ts'
import { toTypes } from './types.ts'

/** What generated/ should hold according to the contract of `root`: text by path, relative to `root`. */
export const toGeneratedFiles = async (root: string): Promise<Record<string, string>> => {
  const document = await bundleSpec(root)
  return {
    'generated/openapi.json': toDocumentText(document),
    'generated/schema.d.ts': await toTypes(document),
    'generated/client.ts': toClient(document),
    'generated/spec-lines.json': toSpecLinesText(await toSpecLines(root, document)),
  }
}

/** Writes generated/ anew and returns the paths of the files that changed. */
export const runGenerate = async (root: string): Promise<string[]> => {
  const files = await toGeneratedFiles(root)
  const drifted = await listDrift(root, files)
  for (const path of drifted) await writeFile(join(root, path), files[path]!)
  return drifted
}

/** The paths under generated/ that the contract would write otherwise, missing ones included. Writes nothing. */
export const checkGenerated = async (root: string): Promise<string[]> => listDrift(root, await toGeneratedFiles(root))

const listDrift = async (root: string, files: Record<string, string>) => {
  const drifted = []
  for (const [path, text] of Object.entries(files)) {
    const present = await readFile(join(root, path), 'utf8').catch(() => null)
    if (present !== text) drifted.push(path)
  }
  return drifted
}

const main = async () => {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false }, root: { type: 'string' } } })
  const root = resolve(values.root ?? packageRoot)
  if (!values.check) {
    const written = await runGenerate(root)
    console.log(written.length > 0 ? `wrote ${written.join(', ')}` : 'generated/ is up to date')
    return
  }
  const drifted = await checkGenerated(root)
  const problems = [
    ...drifted.map(path => `${path} does not match spec/: run \`npm run generate\` and commit the result`),
    ...(await checkTinyChat(join(root, 'generated/tiny-chat'))),
  ]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

if (import.meta.main) await runScript(main)
