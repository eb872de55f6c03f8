import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { DiskStore } from './artifacts/disk-store.ts'
import { Authenticator } from './auth.ts'
import { DeliveryWorker } from './automations/delivery-worker.ts'
import { EndpointGuard, type Lookup } from './automations/endpoint-guard.ts'
import { Sender } from './automations/send.ts'
import { SPOOL_FOLDER } from './body.ts'
import { BodyReader } from './body-reader.ts'
import type { Settings } from './config.ts'
import type { Service } from './context.ts'
import { readBaseModels } from './inference/base-models.ts'
import { ADAPTER_FOLDER } from './inference/chat-model.ts'
import type { InferenceEngine } from './inference/engine.ts'
import { createMetrics } from './metrics.ts'
import { createOnnxInferenceEngine } from './onnx/onnx-inference-engine.ts'
import { createOnnxTrainingEngine } from './onnx/onnx-training-engine.ts'
import { Retention } from './retention.ts'
import { openSecretBox } from './secrets/master-key.ts'
import type { SecretBox } from './secrets/secret-box.ts'
import { type Database, openDatabase } from './storage/database.ts'
import { countPendingDeliveries } from './storage/deliveries.ts'
import { lockFolder } from './storage/folder-lock.ts'
import { addKey, createKeyValue, hasAnyKey, isWeakKey } from './storage/keys.ts'
import { listKeyIds } from './storage/secrets.ts'
import type { TrainingEngine } from './training/engine.ts'
import { JobWorker } from './training/job-worker.ts'
import { UsageCounter } from './usage-counter.ts'

/** Folders whose content is of use to one process only: emptied at start. */
const WORK_FOLDER = 'work'
const TRANSIENT_FOLDERS = [SPOOL_FOLDER, ADAPTER_FOLDER, WORK_FOLDER]
/** The log is written in pieces: a write for each request would cost as much as validating it. */
const LOG_PIECE_BYTES = 4096
const LOG_FLUSH_MS = 100

/** What may hold a secret, in whatever is logged: keys of credentials, and of requests and replies that an error brings along. */
const SECRET_KEYS = ['authorization', 'headers', 'apiKey', 'body', 'value', 'key', 'secret', 'payload']

export interface ServiceParts {
  log?: Logger
  inference?: InferenceEngine
  training?: TrainingEngine
  /** Finds the addresses of endpoints' host names. */
  lookup?: Lookup
}

/**
 * Builds the embedded service in its data folder; parts that are given replace the embedded ones. Nothing goes on by itself until
 * `jobs`, `deliveries` and `retention` are started.
 */
export async function createService(settings: Settings, parts: ServiceParts = {}): Promise<Service> {
  const lock = lockFolder(settings.dataDir)
  try {
    return { ...(await createParts(settings, parts)), lock }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function createParts(settings: Settings, parts: ServiceParts): Promise<Omit<Service, 'lock'>> {
  const { dataDir, engineThreads: threads, engineSpinning: spinning } = settings
  const endpointGuard = new EndpointGuard(settings.webhookAllow, parts.lookup)
  for (const name of TRANSIENT_FOLDERS) {
    await rm(join(dataDir, name), { recursive: true, force: true })
    await mkdir(join(dataDir, name), { recursive: true })
  }
  const log = parts.log ?? createLog(settings.logLevel)
  const database = await openDatabase(dataDir)
  const secrets = await openSecretBox(settings, database).catch(async error => {
    await database.destroy()
    throw error
  })
  await warnOfLostKeys(database, secrets, log)
  const artifacts = await DiskStore.open(join(dataDir, 'artifacts'))
  const baseModels = readBaseModels(settings.modelsDir)
  const metrics = createMetrics()
  const training = parts.training ?? createOnnxTrainingEngine({ threads, spinning })
  const inference =
    parts.inference ??
    createOnnxInferenceEngine({
      baseModels,
      spinning,
      queueLength: settings.chatQueueLength,
      maxBatch: settings.chatBatch,
      prefixCacheBytes: settings.prefixCacheBytes,
    })
  const jobs = new JobWorker({
    database,
    artifacts,
    baseModels,
    training,
    log,
    leaseMs: settings.jobLeaseMs,
    workDir: join(dataDir, WORK_FOLDER),
    onJobEnded: metrics.countJob,
  })
  const sender = new Sender(settings, endpointGuard)
  const deliveries = new DeliveryWorker({ database, log, secrets, sender, settings, onOutcome: metrics.countDelivery })
  metrics.watchDeliveries(() => countPendingDeliveries(database))
  return {
    settings,
    log,
    database,
    artifacts,
    baseModels,
    inference,
    training,
    jobs,
    deliveries,
    sender,
    endpointGuard,
    metrics,
    usage: new UsageCounter({ database, log }),
    bodies: new BodyReader(),
    retention: new Retention({ settings, database, artifacts, log }),
    authenticator: new Authenticator(database),
    secrets,
  }
}

/** Stops the parts in the order in which they depend on each other. */
export async function closeService({
  retention,
  jobs,
  deliveries,
  bodies,
  training,
  inference,
  usage,
  database,
  lock,
}: Service): Promise<void> {
  await retention.stop()
  await Promise.all([jobs.stop(), deliveries.stop()])
  await bodies.close()
  await training.close()
  await inference.close()
  await usage.close()
  await database.destroy()
  lock.release()
}

/**
 * Makes sure that there is a first key, of an admin of team `default`: the one of the settings, or a random one.
 * Returns the random one, which nobody can see again, or null.
 */
export async function ensureFirstKey({
  database,
  log,
  settings,
}: Pick<Service, 'database' | 'log' | 'settings'>): Promise<string | null> {
  const first = { user: 'admin', team: 'default', role: 'admin' as const, name: 'first key' }
  if (settings.apiKey) {
    if (isWeakKey(settings.apiKey)) log.warn('API_KEY is too short to hold 128 random bits: fit for trials only')
    await addKey(database, { ...first, value: settings.apiKey })
    return null
  }
  if (await hasAnyKey(database)) return null
  const value = createKeyValue()
  await addKey(database, { ...first, value })
  return value
}

/** Nothing else fails at start where a master key was lost: the secrets under it can still be put anew. */
async function warnOfLostKeys(database: Database, secrets: SecretBox, log: Logger): Promise<void> {
  const lost = (await listKeyIds(database)).filter(keyId => !secrets.has(keyId))
  if (lost.length > 0)
    log.warn(
      { keyIds: lost },
      'master keys are not at hand: the secrets under them cannot be used until they are put anew',
    )
}

/** Logs as JSON lines to stdout; whatever might hold a secret is cut out, wherever it stands. Lines are written together, soon after. */
function createLog(level: string): Logger {
  const options = {
    level,
    serializers: { error: pino.stdSerializers.err },
    redact: { paths: SECRET_KEYS.flatMap(key => [key, `*.${key}`, `*.*.${key}`]), remove: true },
  }
  return pino(options, pino.destination({ sync: false, minLength: LOG_PIECE_BYTES, periodicFlush: LOG_FLUSH_MS }))
}
