import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { freeContents } from '../artifacts/collect.ts'
import { storeFolder } from '../artifacts/store-folder.ts'
import { isDiskFull } from '../errors.ts'
import type { BaseModels } from '../inference/base-models.ts'
import { getArtifactVersionById } from '../storage/artifacts.ts'
import type { Database, Queries } from '../storage/database.ts'
import { heartbeat, type Lease, LeaseLostError, releaseJob, underLease } from '../storage/leases.ts'
import { addCheckpoint, findLatestCheckpoint, findModel } from '../storage/models.ts'
import { addRunMetrics } from '../storage/runs.ts'
import type { ModelRow, TrainingJobRow } from '../storage/tables.ts'
import { endJob } from '../storage/training-jobs.ts'
import { DataError, type TrainingEngine, type TrainTask } from './engine.ts'
import { EventWriter } from './event-writer.ts'
import { toRlConfig } from './rl-config.ts'
import { toSftConfig } from './sft-config.ts'
import { selectTrainingFile } from './training-files.ts'

export interface RunServices {
  database: Database
  artifacts: ArtifactStore
  baseModels: BaseModels
  training: TrainingEngine
  log: Logger
  leaseMs: number
  /** Folder of working copies; a job's own is removed when it ends. */
  workDir: string
  onJobEnded(type: string, status: string): void
}

/** A heartbeat comes this many times within a lease. */
const BEATS_PER_LEASE = 4
/** A job whose process dies again and again is given up: the data may be what kills it. */
const MAX_LOST_LEASES = 5

/** The process ends: the job goes back to the queue. */
class ShutdownError extends Error {
  override name = 'ShutdownError' as const
}

/**
 * Runs one claimed job to its end and writes all of its state: events, checkpoint and status, each write under the lease.
 * Throws, with the job back in the queue, where the disk is full.
 * A job that runs again after a crash takes the same steps (its seed is its id), so the events that are there already are skipped by their number.
 */
export async function runJob(
  services: RunServices,
  { job, lease }: { job: TrainingJobRow; lease: Lease },
  shutdown: AbortSignal,
  onBeat: () => void,
): Promise<void> {
  const { database, log } = services
  const stop = new AbortController()
  const onShutdown = () => stop.abort(new ShutdownError('The service is shutting down'))
  if (shutdown.aborted) onShutdown()
  shutdown.addEventListener('abort', onShutdown, { once: true })
  const beat = setInterval(async () => {
    try {
      onBeat()
      await heartbeat(database, lease, services.leaseMs)
    } catch (error) {
      // Another error than a lost lease may pass (a busy disk): the next beat tries again, and the lease fences what is written.
      if (error instanceof LeaseLostError) stop.abort(error)
    }
  }, services.leaseMs / BEATS_PER_LEASE)
  const folder = join(services.workDir, `${job.id}-${job.attempt}`)
  try {
    stop.signal.throwIfAborted()
    if (job.lost_leases >= MAX_LOST_LEASES) throw new Error(`Given up: its process ended ${job.lost_leases} times`)
    await train(services, job, lease, folder, stop.signal)
    await onEnded(services, job, 'COMPLETED')
  } catch (error) {
    await endEarly(services, job, lease, stop.signal.aborted ? stop.signal.reason : error).catch(
      onLostLease(services, lease),
    )
  } finally {
    clearInterval(beat)
    shutdown.removeEventListener('abort', onShutdown)
    await rm(folder, { recursive: true, force: true }).catch(error =>
      log.warn({ error }, 'a working folder was not removed'),
    )
  }
}

async function train(
  services: RunServices,
  job: TrainingJobRow,
  lease: Lease,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, training } = services
  const model = await findModel(database, job.model_id)
  if (!model) throw new LeaseLostError('The model was deleted')
  const task = await prepareTask(services, job, model, folder)
  const author = job.created_by ?? model.created_by
  // Jobs of one model run one after the other, so this is the step of the checkpoint that will come out.
  const step = model.next_step
  const onStep = (queries: Queries, data: Record<string, number>) =>
    addRunMetrics(queries, model, { step, metrics: data, author })
  const events = await EventWriter.open({ database, lease, onStep })
  signal.throwIfAborted()
  // Drained after a failure too: the terminal event comes last.
  const metrics = await training.train(task, progress => events.push(progress), signal).finally(() => events.drain())
  signal.throwIfAborted()
  await storeFolder(services, task.outputFolder, (files, confirm) =>
    underLease(database, lease, async queries => {
      await confirm()
      await addCheckpoint(queries, model, { files, metrics, author })
      // The others are means of what the steps brought.
      const rest = Object.entries(metrics).filter(([name]) => !events.metricNames.has(name))
      await addRunMetrics(queries, model, { step, metrics: Object.fromEntries(rest), author })
      await endJob(queries, job, 'COMPLETED', {})
    }),
  )
}

/** Lays out what the engine reads: the input file and the latest checkpoint's adapter. */
async function prepareTask(
  services: RunServices,
  job: TrainingJobRow,
  model: ModelRow,
  folder: string,
): Promise<TrainTask> {
  const { database, artifacts, baseModels, training } = services
  const baseModel = baseModels.get(model.base_model)
  if (!baseModel) throw new DataError(['base_model'], `${model.base_model} is not on this deployment any more`)
  const adapterFolder = join(folder, 'adapter')
  const outputFolder = join(folder, 'output')
  await mkdir(outputFolder, { recursive: true })
  const seed = Number.parseInt(job.id.slice(-8), 16)
  const latest = await findLatestCheckpoint(database, model.id)
  if (latest) {
    const { files } = await getArtifactVersionById(database, latest.version_id)
    for (const file of files) await artifacts.checkout(file.sha256, join(adapterFolder, file.path))
  } else {
    await mkdir(adapterFolder, { recursive: true })
    await training.createAdapter(baseModel.folder, adapterFolder, seed)
  }
  const inputFile = await checkoutInput(services, job, folder)
  const base = { jobId: job.id, baseModelFolder: baseModel.folder, adapterFolder, outputFolder, inputFile, seed }
  const { config, experimental_config } = JSON.parse(job.config)
  return job.type === 'rl'
    ? { ...base, type: 'rl', config: toRlConfig(experimental_config, baseModel.defaultLearningRate) }
    : { ...base, type: 'sft', config: toSftConfig(config, baseModel.defaultLearningRate) }
}

async function checkoutInput(
  { database, artifacts }: RunServices,
  job: TrainingJobRow,
  folder: string,
): Promise<string> {
  if (job.type === 'sft') {
    const { files } = await getArtifactVersionById(database, job.input_version_id!)
    const path = selectTrainingFile(files.map(file => file.path))
    const file = join(folder, 'input', path)
    await artifacts.checkout(files.find(one => one.path === path)!.sha256, file)
    return file
  }
  const file = join(folder, 'input.json')
  if (job.input_sha256) await artifacts.checkout(job.input_sha256, file)
  else await writeFile(file, job.input!)
  return file
}

async function endEarly(services: RunServices, job: TrainingJobRow, lease: Lease, cause: unknown): Promise<void> {
  if (cause instanceof LeaseLostError) throw cause
  if (cause instanceof ShutdownError) return releaseJob(services.database, lease)
  if (isDiskFull(cause)) {
    await releaseJob(services.database, lease)
    throw cause
  }
  services.log.error({ jobId: job.id, error: cause }, 'a training job failed')
  const error_message = toMessage(cause)
  await underLease(services.database, lease, queries => endJob(queries, job, 'FAILED', { error_message }))
  await onEnded(services, job, 'FAILED')
}

/** A job that was cancelled, deleted or taken over meanwhile is no longer this worker's: nothing more is written. */
function onLostLease({ log }: RunServices, { jobId, attempt }: Lease): (error: unknown) => void {
  return error => {
    if (!(error instanceof LeaseLostError)) throw error
    log.info({ jobId, attempt }, error.message)
  }
}

async function onEnded(services: RunServices, job: TrainingJobRow, status: string): Promise<void> {
  services.onJobEnded(job.type, status)
  if (job.input_sha256) await freeContents(services, [job.input_sha256])
}

function toMessage(cause: unknown): string {
  if (cause instanceof DataError) return [cause.loc.join('.'), cause.message].filter(Boolean).join(': ')
  return cause instanceof Error ? cause.message : String(cause)
}
