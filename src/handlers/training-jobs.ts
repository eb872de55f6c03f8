import type { components } from '../../generated/schema.d.ts'
import { freeContents } from '../artifacts/collect.ts'
import { requireArtifact } from '../artifacts/require-artifact.ts'
import { requireOwn } from '../auth.ts'
import type { Context } from '../context.ts'
import { busy, invalidValue, unavailable } from '../errors.ts'
import type { Handler, RawBody } from '../spec/handler.ts'
import type { Queries } from '../storage/database.ts'
import type { ModelRow, TrainingEventRow, TrainingJobRow } from '../storage/tables.ts'
import { cancelJob, findJob, insertJob, listEventRows, listJobRows, type NewJob } from '../storage/training-jobs.ts'
import { checkSftArtifact } from '../training/check-artifact.ts'
import { DataError } from '../training/engine.ts'
import { toRlConfig } from '../training/rl-config.ts'
import { toSftConfig } from '../training/sft-config.ts'
import { summariseTrajectories } from '../training/trajectory-summary.ts'
import { requireModel } from './models.ts'
import { requireReadable, withBody } from './trajectory-log.ts'

type TrainingJob = components['schemas']['TrainingJob']

export const createRlTrainingJob: Handler<'createRlTrainingJob'> = async ({ body, headers, raw }, context) => {
  const model = await requireModel(context, body.model_id)
  checkConfig(['body', 'experimental_config'], () => toRlConfig(body.experimental_config, defaultRate(context, model)))
  requireReadable(raw.summary ?? summariseTrajectories(body.trajectory_groups))
  const config = JSON.stringify({ experimental_config: body.experimental_config ?? null })
  const row = await withBody(context, raw, (kept, confirm) => {
    const job = { type: 'rl' as const, config, input_version_id: null, ...kept }
    return createJob(context, model, job, { key: headers['idempotency-key'], raw, confirm })
  })
  return { status: 200, body: toJob(row) }
}

export const createSftTrainingJob: Handler<'createSftTrainingJob'> = async ({ body, headers, raw }, context) => {
  const model = await requireModel(context, body.model_id)
  checkConfig(['body', 'config'], () => toSftConfig(body.config, defaultRate(context, model)))
  const data = { param: 'training_data_url', uri: body.training_data_url }
  const version = await requireArtifact(context, data)
  const fault = await checkSftArtifact(context.artifacts, version.files, context.settings.dataDir)
  if (fault) throw invalidValue(['body', 'training_data_url', ...fault.loc], fault.message)
  const config = JSON.stringify({ config: body.config ?? null, experimental_config: body.experimental_config ?? null })
  const job = { type: 'sft' as const, config, input: null, input_sha256: null, input_version_id: version.id }
  const confirm = async (queries: Queries) => {
    // It may have been deleted while its files were read.
    await requireArtifact(context, data, queries)
  }
  return {
    status: 200,
    body: toJob(await createJob(context, model, job, { key: headers['idempotency-key'], raw, confirm })),
  }
}

export const getTrainingJob: Handler<'getTrainingJob'> = async ({ path }, context) => ({
  status: 200,
  body: toJob(await requireJob(context, path.training_job_id)),
})

export const listTrainingJobs: Handler<'listTrainingJobs'> = async ({ query }, { database, principal }) => ({
  status: 200,
  body: await listJobRows(database, [...principal.teams.keys()], query, query, toJob),
})

export const listTrainingJobEvents: Handler<'listTrainingJobEvents'> = async ({ path, query }, context) => {
  const job = await requireJob(context, path.training_job_id)
  return { status: 200, body: await listEventRows(context.database, job.id, query, toEvent) }
}

export const cancelTrainingJob: Handler<'cancelTrainingJob'> = async ({ path }, context) => {
  const { id, status, input_sha256 } = await requireJob(context, path.training_job_id)
  const job = await cancelJob(context.database, id)
  if (job.status === 'CANCELLED' && status !== 'CANCELLED') {
    context.metrics.countJob(job.type, job.status)
    if (input_sha256) await freeContents(context, [input_sha256])
  }
  return { status: 200, body: toJob(job) }
}

async function requireJob(context: Context, id: string): Promise<TrainingJobRow> {
  return requireOwn(context.principal, await findJob(context.database, id), `The training job ${id}`)
}

function defaultRate({ baseModels }: Context, model: ModelRow): number {
  const baseModel = baseModels.get(model.base_model)
  if (baseModel) return baseModel.defaultLearningRate
  throw unavailable(`The base model ${model.base_model} is not on this deployment any more`)
}

/** 422 where a value of the config is out of its range. */
function checkConfig(root: string[], read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    const names = error.loc[0] === root[1] ? error.loc.slice(1) : error.loc
    throw invalidValue([...root, ...names], error.message)
  }
}

/** `confirm` runs in the creating transaction: it throws where what the job refers to is gone. */
async function createJob(
  context: Context,
  model: ModelRow,
  job: Omit<NewJob, 'entity' | 'model_id' | 'created_by'>,
  { key, raw, confirm }: { key: string | undefined; raw: RawBody; confirm(queries: Queries): Promise<void> },
): Promise<TrainingJobRow> {
  const { database, settings, principal, jobs } = context
  const operation = job.type
  const idempotency = key ? { team: principal.team, operation, key, bodyHash: raw.sha256() } : null
  const creation = await insertJob(
    database,
    { ...job, entity: model.entity, model_id: model.id, created_by: principal.user },
    {
      idempotency,
      queueLength: settings.jobQueueLength,
      async confirm(queries) {
        await requireModel(context, model.id, queries)
        await confirm(queries)
      },
    },
  )
  if ('job' in creation) {
    jobs.wake()
    return creation.job
  }
  if (creation.refused === 'queue-full') throw busy(`The team has ${settings.jobQueueLength} unfinished training jobs`)
  throw invalidValue(['header', 'idempotency-key'], 'This key was used with another body', 'idempotency_key_reused')
}

function toJob(row: TrainingJobRow): TrainingJob {
  const { id, status, model_id, type, training_start, training_end, error_message, created_at } = row
  return { id, status, model_id, type, training_start, training_end, error_message, created_at }
}

function toEvent({ id, type, data, created_at }: TrainingEventRow): components['schemas']['TrainingEvent'] {
  return { id, type, data: JSON.parse(data), created_at } as components['schemas']['TrainingEvent']
}
