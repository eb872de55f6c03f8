import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** Every setting, its environment variable, default and meaning; the table in the README is checked against this list. */
const SETTINGS = {
  host: text('HOST', '127.0.0.1', 'address to listen on'),
  port: integer('PORT', 8080, 'port to listen on; 0 takes a free one', { most: 65_535 }),
  basePath: text('BASE_PATH', '', 'path prefix under which everything is served, such as `/training`', {
    pattern: /^\/[\w.~/-]*$/,
    rule: 'a path that begins with a slash',
  }),
  dataDir: text('DATA_DIR', '.trainyard', 'folder of the database, artifacts and spool files'),
  modelsDir: text('MODELS_DIR', '', 'folder of further base models, each a Hugging Face folder'),
  apiKey: text('API_KEY', '', 'the first key, of an admin of team `default`; made and shown once when absent'),
  vendor: text('VENDOR', 'Vendor', 'name in the header `{vendor}-Project`', {
    pattern: /^[A-Za-z0-9-]+$/,
    rule: 'letters, digits and hyphens',
  }),
  artifactScheme: text(
    'ARTIFACT_SCHEME',
    'artifact',
    'scheme of artifact URIs; `wandb-artifact` is always understood too',
    { pattern: /^[A-Za-z][A-Za-z0-9+.-]*$/, rule: 'a URI scheme' },
  ),
  corsOrigins: list('CORS_ORIGINS', 'origins that browsers may call from, separated by commas; `*` for all'),
  logLevel: text('LOG_LEVEL', 'info', 'least level to log: trace, debug, info, warn, error, silent', {
    pattern: /^(trace|debug|info|warn|error|silent)$/,
    rule: 'one of trace, debug, info, warn, error, silent',
  }),
  strict: flag('STRICT', false, 'check every reply against the contract before it is sent'),
  maxBodyBytes: integer('MAX_BODY_BYTES', 256 * MIB, 'largest JSON body, in bytes'),
  spoolBytes: integer(
    'SPOOL_BYTES',
    MIB,
    'JSON bodies above this, in bytes, are spooled to disk and read off the main thread',
  ),
  maxArtifactBytes: integer('MAX_ARTIFACT_BYTES', 2 * GIB, 'largest upload of one artifact version, in bytes'),
  maxMessages: integer('MAX_MESSAGES', 2048, 'most messages of one chat request'),
  maxChoices: integer('MAX_CHOICES', 128, 'largest `n` of one chat request'),
  maxTopLogprobs: integer('MAX_TOP_LOGPROBS', 20, 'largest `top_logprobs`'),
  maxStop: integer('MAX_STOP', 16, 'most stop strings of one chat request'),
  trustRequestChatTemplate: flag(
    'TRUST_REQUEST_CHAT_TEMPLATE',
    false,
    'let chat requests bring a chat template of their own, which is a program',
  ),
  priorityScheduling: flag('PRIORITY_SCHEDULING', false, 'serve chat requests of a lower `priority` first'),
  keepAliveMs: integer('KEEP_ALIVE_MS', 15_000, 'milliseconds of silence after which a stream gets a comment', {
    least: 10,
  }),
  chatQueueLength: integer('CHAT_QUEUE_LENGTH', 4096, 'most choices waiting for the engine before 429'),
  jobQueueLength: integer('JOB_QUEUE_LENGTH', 1000, 'most unfinished training jobs of one team before 429'),
  chatBatch: integer('CHAT_BATCH', 64, 'most choices generated at once'),
  prefixCacheBytes: integer(
    'PREFIX_CACHE_BYTES',
    256 * MIB,
    'memory for prompts that are kept to be gone on with, in bytes; 0 keeps none',
  ),
  engineThreads: integer('ENGINE_THREADS', availableParallelism(), 'threads of one training step'),
  engineSpinning: flag(
    'ENGINE_SPINNING',
    false,
    'let idle engine threads spin: faster on a quiet machine, ruinous on a busy one',
  ),
  maxConcurrentRequests: integer(
    'MAX_CONCURRENT_REQUESTS',
    4096,
    'most requests of one key under way at once before 429',
  ),
  jobLeaseMs: integer('JOB_LEASE_MS', 5000, 'milliseconds without a heartbeat after which a job is picked up again', {
    least: 100,
  }),
  shutdownGraceMs: integer('SHUTDOWN_GRACE_MS', 10_000, 'milliseconds that running requests get to finish at shutdown'),
  secretsKey: text(
    'SECRETS_KEY',
    '',
    'master key of stored secrets, 32 bytes as base64; made in the file `secrets.key` of the data folder when absent',
    { pattern: /^[A-Za-z0-9+/_-]{43}=?$/, rule: '32 bytes as base64', isSecret: true },
  ),
  secretsOldKeys: list(
    'SECRETS_OLD_KEYS',
    'earlier master keys, separated by commas, until `trainyard secrets rotate` has run',
  ),
  webhookRetrySchedule: durations(
    'WEBHOOK_RETRY_SCHEDULE',
    '0s,5s,1m,5m,30m,2h,5h,10h',
    'waits before each attempt of a delivery, with jitter; after the last one it has failed',
  ),
  webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 10_000, 'milliseconds that an endpoint gets to answer', {
    least: 10,
  }),
  webhookAllow: list(
    'WEBHOOK_ALLOW',
    'address ranges (CIDR), separated by commas, that endpoints may have though they are private, such as `10.0.0.0/8`',
  ),
  webhookConcurrency: integer('WEBHOOK_CONCURRENCY', 64, 'most deliveries under way at once', { least: 1 }),
  webhookStandardHeaders: flag(
    'WEBHOOK_STANDARD_HEADERS',
    false,
    'send the Standard Webhooks headers `webhook-id`, `webhook-timestamp` and `webhook-signature` too',
  ),
  retainTrajectoriesDays: days('RETAIN_TRAJECTORIES_DAYS', 0, 'logged trajectories'),
  retainDeliveriesDays: days('RETAIN_DELIVERIES_DAYS', 30, 'ended webhook deliveries and their attempts'),
  retainEventsDays: days('RETAIN_EVENTS_DAYS', 90, 'executions of automations, and events of ended training jobs,'),
  retainSpoolHours: integer('RETAIN_SPOOL_HOURS', 24, 'hours after which a spool file that nothing reads is deleted', {
    least: 1,
  }),
} as const

type SettingTable = typeof SETTINGS
export type Settings = { -readonly [Name in keyof SettingTable]: ReturnType<SettingTable[Name]['read']> }

/** Reads every setting from an environment. Throws a SettingError naming the variable that cannot be read. */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const entries = Object.entries(SETTINGS).map(([name, setting]) => [name, setting.read(environment[setting.variable])])
  const settings = Object.fromEntries(entries) as Settings
  settings.dataDir = resolve(settings.dataDir)
  settings.basePath = settings.basePath.replace(/\/+$/, '')
  return settings
}

/** The settings as rows for the README and `trainyard serve --help`. */
export function describeSettings(): { variable: string; default: string; meaning: string }[] {
  return Object.values(SETTINGS).map(({ variable, shown, meaning }) => ({ variable, default: shown, meaning }))
}

export class SettingError extends Error {
  override name = 'SettingError' as const
}

interface Setting<Value> {
  variable: string
  shown: string
  meaning: string
  read(value: string | undefined): Value
}

function text(
  variable: string,
  fallback: string,
  meaning: string,
  { pattern, rule, isSecret }: { pattern: RegExp; rule: string; isSecret?: boolean } = { pattern: /./, rule: 'a text' },
): Setting<string> {
  const read = (value: string | undefined) => {
    // Empty is unset: an empty HOST would be all addresses, an empty DATA_DIR the current folder.
    if (value === undefined || value === '') return fallback
    if (!pattern.test(value)) throw new SettingError(`${variable} must be ${rule}${isSecret ? '' : `, not "${value}"`}`)
    return value
  }
  return { variable, shown: fallback, meaning, read }
}

function list(variable: string, meaning: string): Setting<string[]> {
  const read = (value: string | undefined) =>
    (value ?? '')
      .split(',')
      .map(item => item.trim())
      .filter(Boolean)
  return { variable, shown: '', meaning, read }
}

function integer(
  variable: string,
  fallback: number,
  meaning: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { least?: number; most?: number } = {},
): Setting<number> {
  const read = (value: string | undefined) => {
    if (value === undefined || value === '') return fallback
    if (!/^\d{1,15}$/.test(value)) throw new SettingError(`${variable} must be a whole number, not "${value}"`)
    const number = Number(value)
    if (number < least) throw new SettingError(`${variable} must be at least ${least}, not ${number}`)
    if (number > most) throw new SettingError(`${variable} must be at most ${most}, not ${number}`)
    return number
  }
  const shown = variable === 'ENGINE_THREADS' ? 'number of cores' : String(fallback)
  return { variable, shown, meaning, read }
}

/** A number of days after which things are deleted; 0 keeps them. */
function days(variable: string, fallback: number, what: string): Setting<number> {
  return integer(variable, fallback, `days after which ${what} are deleted; 0 keeps them`)
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000 } as const

/** Whole seconds, minutes or hours, separated by commas; the setting is in milliseconds. */
function durations(variable: string, fallback: string, meaning: string): Setting<number[]> {
  const read = (value: string | undefined) =>
    (value || fallback).split(',').map(item => {
      const match = /^(\d{1,6})([smh])$/.exec(item.trim())
      if (!match) throw new SettingError(`${variable} must be durations such as 5s,1m,2h, not "${value}"`)
      return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]
    })
  return { variable, shown: fallback, meaning, read }
}

function flag(variable: string, fallback: boolean, meaning: string): Setting<boolean> {
  const read = (value: string | undefined) => {
    if (value === undefined || value === '') return fallback
    if (value !== '1' && value !== '0' && value !== 'true' && value !== 'false') {
      throw new SettingError(`${variable} must be 1 or 0, not "${value}"`)
    }
    return value === '1' || value === 'true'
  }
  return { variable, shown: fallback ? '1' : '0', meaning, read }
}
