/** `trainyard contract`: the contract tests against any deployment, with a report of what they exercised. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../generate/package-paths.ts'
import { operations } from '../spec/document.ts'
import type { CoverageReport } from './coverage.ts'
import { toCoverageTable, toFindingLines } from './report.ts'
import type { Target } from './target.ts'

/** 0: all is well; 1: a check failed; 2: the deployment could not be reached or refused the key; 3: bad usage. */
export type ExitCode = 0 | 1 | 2 | 3

const USAGE = `Usage: trainyard contract --base-url URL --api-key KEY [options]

Checks a deployment against the contract. What it makes there is named contract-<time>-<random> and deleted at the end.

  --base-url URL         address of the service; any path prefix is fine
  --api-key KEY          a key; else the variable API_KEY
  --second-api-key KEY   a key of another team: checks what must not be seen across teams
  --basic USER:PASSWORD  basic credentials; else api:<api key>
  --inference-url URL    address of the inference service, ending in /v1; else <base URL>/v1
  --base-model NAME      model to train and to chat with (tiny-chat)
  --job-timeout SECONDS  longest time that one training job may take (600)
  --filter TEXT          only tests whose title holds this text, such as createModel/; coverage is then not judged
  --mock                 the deployment is a mock that keeps nothing (a Prism mock is noticed by itself)
  --junit FILE           also write a JUnit report
  --json FILE            also write vitest's JSON report
  --help                 show this text

Exit code: 0 all is well, 1 a check failed, 2 the deployment could not be reached, 3 bad usage.
`

const DEFAULT_BASE_MODEL = 'tiny-chat'
const DEFAULT_JOB_TIMEOUT_S = 600
const REACH_TIMEOUT_MS = 10_000
/** Tests that wait for a job have a limit of their own. */
const TEST_TIMEOUT_MS = 60_000

interface Request {
  target: Target
  filter: string | undefined
  junit: string | undefined
  json: string | undefined
}

/** Runs the tests with the arguments of the command line and resolves with the exit code. Prints to stdout and stderr. */
export async function runContract(args: string[]): Promise<ExitCode> {
  let request: Request | null
  try {
    request = readArguments(args)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`)
    return 3
  }
  if (!request) {
    process.stdout.write(USAGE)
    return 0
  }
  const trouble = await reach(request.target)
  if (trouble) {
    process.stderr.write(`${trouble}\n`)
    return 2
  }
  return runTests({
    ...request,
    target: { ...request.target, isMock: request.target.isMock || (await isPrism(request.target)) },
  })
}

/** Null when only help is asked for. Throws an error that names what is wrong. */
export function readArguments(args: string[]): Request | null {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    strict: true,
    allowPositionals: false,
    options: {
      'base-url': text,
      'api-key': text,
      'second-api-key': text,
      basic: text,
      'inference-url': text,
      'base-model': text,
      'job-timeout': text,
      filter: text,
      junit: text,
      json: text,
      mock: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return null
  const apiKey = values['api-key'] ?? process.env.API_KEY
  if (!values['base-url']) throw new Error('--base-url is missing')
  if (!apiKey) throw new Error('--api-key is missing')
  const baseUrl = toAddress('--base-url', values['base-url'])
  const inferenceUrl = toAddress('--inference-url', values['inference-url'] ?? `${baseUrl}/v1`)
  if (!inferenceUrl.endsWith('/v1')) throw new Error('--inference-url must end in /v1')
  const basic = values.basic ?? `api:${apiKey}`
  if (!basic.includes(':')) throw new Error('--basic must be user:password')
  const seconds = Number(values['job-timeout'] ?? DEFAULT_JOB_TIMEOUT_S)
  if (!(seconds > 0)) throw new Error('--job-timeout must be a number of seconds')
  const target = {
    baseUrl,
    inferenceUrl,
    apiKey,
    secondApiKey: values['second-api-key'] ?? null,
    basic,
    baseModel: values['base-model'] ?? DEFAULT_BASE_MODEL,
    isMock: values.mock ?? false,
    jobTimeoutMs: seconds * 1000,
  }
  return { target, filter: values.filter, junit: values.junit, json: values.json }
}

function toAddress(option: string, value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new Error(`${option} must be an http address, not ${value}`)
  return value.replace(/\/+$/, '')
}

/** Why the tests cannot begin, or null. */
async function reach({ baseUrl, apiKey, secondApiKey, basic }: Target): Promise<string | null> {
  const get = (path: string, authorization: string) =>
    fetch(baseUrl + path, { headers: { authorization }, signal: AbortSignal.timeout(REACH_TIMEOUT_MS) })
  try {
    if ((await get('/v1/models', `Bearer ${apiKey}`)).status === 401) return `${baseUrl} refuses the API key`
    if (secondApiKey && (await get('/v1/models', `Bearer ${secondApiKey}`)).status === 401)
      return `${baseUrl} refuses the second API key`
    const credentials = Buffer.from(basic).toString('base64')
    const { status } = await get('/v2/no-team/no-project/scorers', `Basic ${credentials}`)
    return status === 401 ? `${baseUrl} refuses the basic credentials` : null
  } catch (error) {
    const { message, cause } = error as Error
    return `${baseUrl} cannot be reached: ${cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message}`
  }
}

/** Prism answers unknown paths in a form of its own. */
async function isPrism({ baseUrl }: Target): Promise<boolean> {
  const response = await fetch(`${baseUrl}/contract-probe`, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS) })
  return (await response.text()).includes('stoplight.io/prism')
}

async function runTests({ target, filter, junit, json }: Request): Promise<ExitCode> {
  const folder = await mkdtemp(join(tmpdir(), 'contract-'))
  const contractReport = join(folder, 'report.json')
  try {
    const { startVitest } = await import('vitest/node')
    const vitest = await startVitest('test', [], {
      config: false,
      root: packageRoot,
      include: [findTests()],
      exclude: [],
      watch: false,
      testTimeout: TEST_TIMEOUT_MS,
      provide: { contractTarget: target, contractReport },
      ...(filter === undefined ? {} : { testNamePattern: filter.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') }),
      reporters: ['verbose', ...(junit ? ['junit'] : []), ...(json ? ['json'] : [])],
      outputFile: { ...(junit ? { junit } : {}), ...(json ? { json } : {}) },
    })
    const failed = vitest.state.getCountOfFailedTests() > 0 || vitest.state.getUnhandledErrors().length > 0
    const ran = vitest.state.getFiles().some(file => file.result?.state !== undefined)
    await vitest.close()
    await printReport(contractReport)
    return failed || !ran || process.exitCode ? 1 : 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The tests stand beside the sources in the repository, and beside the compiled ones in the package. */
function findTests(): string {
  return join(
    import.meta.dirname,
    '../../test/contract',
    `contract.test${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  )
}

async function printReport(path: string): Promise<void> {
  let report: CoverageReport & { left: string[] }
  try {
    report = JSON.parse(await readFile(path, 'utf8'))
  } catch {
    process.stderr.write('The tests ended before they could report what they exercised\n')
    return
  }
  process.stdout.write(`\n${toCoverageTable(operations, report)}\n`)
  const findings = toFindingLines(report.findings)
  if (findings.length > 0) process.stdout.write(`\nAgainst the contract:\n${findings.join('\n')}\n`)
  if (report.left.length > 0) process.stdout.write(`\nLeft behind:\n${report.left.join('\n')}\n`)
}
