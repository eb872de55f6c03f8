/** The command line of `trainyard contract`, read and checked. */
import { parseArgs } from 'node:util'
import { journalFolder } from './journal.ts'
import { toLegend } from './report/outcome.ts'
import type { ReportFiles } from './run-report.ts'
import type { Selection } from './select-checks.ts'
import {
  type Command,
  describeSettings,
  readVariables,
  SETTING_ENTRIES,
  SETTINGS,
  type SettingName,
  type Values,
} from './settings.ts'
import { NOTHING_GIVEN, type Receiver, type Target } from './target.ts'

export interface RunCommand {
  command: 'run' | 'list' | 'dry-run'
  target: Target
  selection: Selection
  /** Between two requests, in milliseconds. */
  delayMs: number
  concurrency: number
  maxRequests: number | null
  files: ReportFiles
  /** Path of the file; null: none. */
  expectedFailures: string | null
  journalFolder: string
}

export interface CleanupCommand {
  command: 'cleanup'
  target: Target
  delayMs: number
  /** Younger runs of other machines are left alone. */
  olderThanMs: number
  isAll: boolean
  journalFolder: string
}

export type ContractCommand = RunCommand | CleanupCommand | { command: 'help'; text: string }

const DEFAULT_BASE_MODEL = 'tiny-chat'
const DEFAULT_JOB_TIMEOUT_S = 600
const DEFAULT_OLDER_THAN_H = 1
const MS_PER_HOUR = 3_600_000
const HIGHEST_PORT = 65_535
/** Stands for the address where none is needed. */
const NO_ADDRESS = 'http://deployment.invalid'

export const USAGE = `Usage: trainyard contract --base-url URL --api-key KEY [options]
       trainyard contract cleanup --base-url URL --api-key KEY [options]
       trainyard contract --help

Checks a deployment against the contract. What it makes there bears the name contract-<time>-<random> and is deleted at the end;
cleanup deletes what runs left that could not end.
`

const HELP = `${USAGE}
Options, each also as a variable such as TRAINYARD_CONTRACT_BASE_URL, which a flag overrides:
${describeSettings('run')}

Options of cleanup:
${describeSettings('cleanup')}

Verdicts:
${toLegend()}

Exit code: 0 no check failed, 1 a check failed (or passed that was expected to fail), 2 the run could not start, reach the deployment
or end, 3 bad usage.

Where Node is older than 24.18, npm brings a newer one along (the variable leaves out a download for graphics cards):
  ONNXRUNTIME_NODE_INSTALL=skip npx -p node@26 -p ./trainyard.tgz trainyard contract --base-url URL --api-key KEY
`

/** Throws an error that names what is wrong. Flags override variables. */
export function readCommand(args: readonly string[], environment: NodeJS.ProcessEnv): ContractCommand {
  const [first, ...others] = args
  const command: Command = first === 'cleanup' ? 'cleanup' : 'run'
  const flags = parseFlags(command === 'cleanup' ? others : args, command)
  if (flags.help) return { command: 'help', text: HELP }
  const values: Values = { ...readVariables(environment, command), ...flags.values }
  values['api-key'] ??= environment.API_KEY
  const folder = journalFolder(environment)
  const delayMs = toNumber('delay', values, 0)
  if (command === 'cleanup')
    return {
      command,
      target: toTarget(values, true),
      delayMs,
      olderThanMs: toNumber('older-than', values, DEFAULT_OLDER_THAN_H) * MS_PER_HOUR,
      isAll: values.all ?? false,
      journalFolder: folder,
    }
  const sends = !values.list && !values['dry-run']
  return {
    command: values.list ? 'list' : sends ? 'run' : 'dry-run',
    target: toTarget(values, sends),
    selection: { filters: values.filter ?? [], tags: values.tag ?? [] },
    delayMs,
    concurrency: toWhole('concurrency', values, 1, 1),
    maxRequests: values['max-requests'] === undefined ? null : toWhole('max-requests', values, 0, 1),
    files: {
      json: values.json ?? null,
      junit: values.junit ?? null,
      html: values.html ?? null,
      badge: values.badge ?? null,
    },
    expectedFailures: values['expected-failures'] ?? null,
    journalFolder: folder,
  }
}

function parseFlags(args: readonly string[], command: Command): { help: boolean; values: Values } {
  const options = Object.fromEntries(
    SETTING_ENTRIES.filter(([, { only }]) => !only || only === command).map(([name, { value, isList }]) => [
      name,
      { type: value ? ('string' as const) : ('boolean' as const), multiple: isList === true },
    ]),
  )
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: { ...options, help: { type: 'boolean', short: 'h' } },
  })
  const { help, ...rest } = values
  return { help: help === true, values: rest as Values }
}

function toTarget(values: Values, isNeeded: boolean): Target {
  if (isNeeded && !values['base-url']) throw new Error('--base-url is missing')
  if (isNeeded && !values['api-key']) throw new Error('--api-key is missing')
  const baseUrl = toAddress('base-url', values['base-url'] ?? NO_ADDRESS)
  const inferenceUrl = toAddress('inference-url', values['inference-url'] ?? `${baseUrl}/v1`)
  if (!inferenceUrl.endsWith('/v1')) throw new Error('--inference-url must end in /v1')
  const apiKey = values['api-key'] ?? ''
  const basic = values.basic ?? `api:${apiKey}`
  if (!basic.includes(':')) throw new Error('--basic must be user:password')
  const profile = values.profile ?? 'full'
  if (profile !== 'full' && profile !== 'interface') throw new Error('--profile must be interface or full')
  const jobTimeout = toNumber('job-timeout', values, DEFAULT_JOB_TIMEOUT_S)
  if (jobTimeout === 0) throw new Error('--job-timeout must be more than 0')
  return {
    baseUrl,
    inferenceUrl,
    apiKey,
    secondApiKey: values['second-api-key'] ?? null,
    basic,
    baseModel: values['base-model'] ?? DEFAULT_BASE_MODEL,
    isMock: values.mock ?? false,
    jobTimeoutMs: jobTimeout * 1000,
    profile,
    project: toProject(values.project),
    isReadOnly: values['read-only'] ?? false,
    given: toGiven(values),
    mayTrain: !values['no-training'],
    mayRetry: !values['no-retries'],
    receiver: toReceiver(values, baseUrl),
  }
}

function toAddress(name: SettingName, value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new Error(`--${name} must be an http address, not ${value}`)
  const { username, password } = new URL(value)
  if (username || password) throw new Error(`--${name} must hold no credentials: there are options for them`)
  return value.replace(/\/+$/, '')
}

function toProject(text: string | undefined): Target['project'] {
  if (text === undefined) return null
  const { 1: entity, 2: project } = /^([^/]+)\/([^/]+)$/.exec(text) ?? []
  if (!entity || !project) throw new Error('--project must be team/project')
  return { entity, project }
}

/** What checks may do to a thing is only known to be harmless where they may do nothing. */
function toGiven(values: Values): Target['given'] {
  const { 'model-id': modelId, 'training-job-id': trainingJobId, artifact } = values
  for (const name of ['model-id', 'training-job-id', 'artifact'] as const)
    if (values[name] !== undefined && !values['read-only']) throw new Error(`--${name} is for --read-only alone`)
  if (artifact !== undefined && !/^[\w-]+:\/{2,3}[^/]+\/[^/]+\/[^/:]+:[^/:]+$/.test(artifact))
    throw new Error('--artifact must be <scheme>:///<team>/<project>/<name>:<version>')
  return {
    ...NOTHING_GIVEN,
    ...(modelId === undefined ? {} : { modelId }),
    ...(trainingJobId === undefined ? {} : { trainingJobId }),
    ...(artifact === undefined ? {} : { artifact }),
  }
}

/** Only a deployment on this machine reaches it without being told how. */
function toReceiver(values: Values, baseUrl: string): Receiver | null {
  const port = toWhole('webhook-port', values, 0, 0)
  if (port > HIGHEST_PORT) throw new Error(`--webhook-port must be at most ${HIGHEST_PORT}`)
  const publicUrl = values['webhook-public-url']
  if (publicUrl !== undefined) return { publicUrl: toAddress('webhook-public-url', publicUrl), port }
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname)
  return isHere || values['webhook-port'] !== undefined ? { publicUrl: null, port } : null
}

function toNumber(name: SettingName, values: Values, otherwise: number): number {
  const text = values[name]
  if (text === undefined) return otherwise
  const number = text === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(number) || number < 0)
    throw new Error(`--${name} must be a number (${(SETTINGS[name] as { value?: string }).value}), not ${text}`)
  return number
}

function toWhole(name: SettingName, values: Values, otherwise: number, least: number): number {
  const number = toNumber(name, values, otherwise)
  if (!Number.isInteger(number) || (values[name] !== undefined && number < least))
    throw new Error(`--${name} must be a whole number of at least ${least}`)
  return number
}
