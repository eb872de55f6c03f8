/** schemathesis, a fuzzer of services that have an OpenAPI document, as a process. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const VARIABLE = 'TRAINYARD_SCHEMATHESIS'
export const HOW_TO_INSTALL = `pip install schemathesis (in a virtual environment), then ${VARIABLE}=<folder>/bin/st`
/** The same cases in each run. */
const SEED = '1'
const LIMIT_MS = 3_600_000
/** Its exit codes of a run that came to its end: nothing found, or something found. */
const ENDED = new Set([0, 1])

export interface SchemathesisTask {
  /** As `findSchemathesis` gave it. */
  program: string
  /** Of the service, without a slash at the end. */
  url: string
  apiKey: string
  document: unknown
  /** For each operation, of the phases that generate at random. */
  examples: number
  /** Default: its own, which are all. */
  phases?: readonly string[]
  /** In milliseconds; default: an hour. */
  limitMs?: number
}

export interface SchemathesisRun {
  /** From starting the process to its end. */
  milliseconds: number
  /** Each failure as its code, its title and the operation, in no order. */
  findings: string[]
}

interface Report {
  failures: { code: string; title: string; operations: string[] }[]
}

/** The program and its version. Throws, with how to install it, where there is none. */
export async function findSchemathesis(): Promise<{ program: string; version: string }> {
  const program = process.env[VARIABLE] ?? 'st'
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'])
    return { program, version: stdout.trim().split(' ').at(-1)! }
  } catch (error) {
    throw new Error(`schemathesis is not there: ${HOW_TO_INSTALL}`, { cause: error })
  }
}

/** Throws where the run did not come to its end. */
export async function runSchemathesis(task: SchemathesisTask): Promise<SchemathesisRun> {
  const folder = await mkdtemp(join(tmpdir(), 'schemathesis-'))
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(withReadableStreams(task.document)))
    await writeFile(join(folder, 'schemathesis.toml'), toSettings(task))
    const words = ['run', 'openapi.json', '--url', task.url, '--seed', SEED, '--max-examples', String(task.examples)]
    const phases = task.phases ? ['--phases', task.phases.join(',')] : []
    const report = ['--no-color', '--report', 'json', '--report-json-path', 'report.json']
    const start = performance.now()
    await run(task.program, [...words, ...phases, ...report], folder, task.limitMs ?? LIMIT_MS)
    const milliseconds = performance.now() - start
    const { failures } = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as Report
    const findings = failures.flatMap(({ code, title, operations }) =>
      operations.map(operation => `${code} ${title}: ${operation}`),
    )
    return { milliseconds, findings }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(program: string, words: readonly string[], cwd: string, limitMs: number): Promise<void> {
  const options = { cwd, timeout: limitMs, maxBuffer: Number.POSITIVE_INFINITY }
  await promisify(execFile)(program, words, options).catch(error => {
    if (!ENDED.has(error.code))
      throw new Error(`schemathesis ended with ${error.code}: ${error.stderr || error.stdout}`)
  })
}

function toSettings({ apiKey }: SchemathesisTask): string {
  return `[auth.openapi.bearerAuth]
bearer = "${apiKey}"
[auth.openapi.basicAuth]
username = "api"
password = "${apiKey}"
`
}

/**
 * The document with each event stream in the form that schemathesis reads: an item is an event whose `data` holds the JSON, and what
 * the whole is as a text is not said, since it would be compared with the list of events.
 */
function withReadableStreams(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (key !== 'text/event-stream' || !value?.itemSchema) return value
    const { schema: _, itemSchema, ...others } = value
    const data = {
      type: 'string',
      anyOf: [{ const: '[DONE]' }, { contentMediaType: 'application/json', contentSchema: itemSchema }],
    }
    return { ...others, itemSchema: { type: 'object', required: ['data'], properties: { data } } }
  })
}
