/** dredd, which sends one request for each response that a document declares, as a process. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { findOperation } from './find-operation.ts'

const VARIABLE = 'TRAINYARD_DREDD'
const HOW_TO_INSTALL = `npm install --ignore-scripts dredd@14.1.0 (in a folder of its own), then ${VARIABLE}=<folder>/node_modules/.bin/dredd`
/** The newest version of OpenAPI that it reads. */
export const DREDD_OPENAPI = '3.1.0'
const LIMIT_MS = 120_000
/** Characters of what it said last. */
const SHOWN = 200

/** The program and its version. Throws, with how to install it, where there is none. */
export async function findDredd(): Promise<{ program: string; version: string }> {
  const program = process.env[VARIABLE] ?? 'dredd'
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'])
    return { program, version: /v(\S+)/.exec(stdout)![1]! }
  } catch (error) {
    throw new Error(`dredd is not there: ${HOW_TO_INSTALL}`, { cause: error })
  }
}

/** What failed, each as the operation and what was wrong with its response. Throws where dredd itself came to nothing. */
export async function runDredd(program: string, url: string, apiKey: string, document: unknown): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'dredd-'))
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(withReadableParts(document)))
    const settings = ['--sorted', '--no-color', '--header', `authorization: Bearer ${apiKey}`]
    return toFindings(await run(program, ['openapi.json', url, ...settings], folder))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toFindings(output: string): string[] {
  if (!/^complete: /m.test(output)) throw new Error(`dredd came to no end: ${output.slice(-SHOWN)}`)
  const blocks = (output.split('Displaying failed tests')[1] ?? '').split(/^(?=fail: [A-Z]+ \(\d+\) )/m)
  return blocks.flatMap(block => {
    const { 1: method, 2: path } = /^fail: ([A-Z]+) \(\d+\) (\S+) duration/.exec(block) ?? []
    if (!method) return []
    const reasons = block.split('\nrequest:')[0]!.split('\n').slice(1)
    const said = reasons.map(line => line.replace(/^fail: /, '').trim())
    return said.filter(isMeant).map(reason => `${findOperation(method, path!).operationId}: ${reason}`)
  })
}

/** It compares media types as texts, so that JSON with a charset, or without, would never be what was declared. */
function isMeant(reason: string): boolean {
  return reason !== '' && !/'\/content-type' No enum match for: "application\/json(; ?charset=utf-8)?"/i.test(reason)
}

/**
 * The document with the successes alone, for it sends the same good request for every status, and without headers that nobody has to
 * send, for it would send all of them.
 */
function withReadableParts(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (key === 'parameters' && Array.isArray(value)) return value.filter(one => one.in !== 'header' || one.required)
    return key === 'responses' && value?.['200'] ? { '200': value['200'] } : value
  })
}

/** What it said, whether or not it found something. Through a file, for it ends before a pipe has taken everything. */
async function run(program: string, words: readonly string[], cwd: string): Promise<string> {
  const file = await open(join(cwd, 'output'), 'w+')
  try {
    const child = spawn(program, words, { cwd, timeout: LIMIT_MS, stdio: ['ignore', file.fd, 'ignore'] })
    await once(child, 'exit')
  } finally {
    await file.close()
  }
  return stripVTControlCharacters(await readFile(join(cwd, 'output'), 'utf8'))
}
