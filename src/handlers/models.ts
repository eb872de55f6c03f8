import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { components } from '../../generated/schema.d.ts'
import { freeVersions } from '../artifacts/collect.ts'
import { storeFolder } from '../artifacts/store-folder.ts'
import { toArtifactUri } from '../artifacts/uri.ts'
import { requireMember, requireOwn } from '../auth.ts'
import type { Context } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { BaseModel } from '../inference/base-models.ts'
import type { Handler } from '../spec/handler.ts'
import type { Queries } from '../storage/database.ts'
import {
  addCheckpoint,
  deleteCheckpointSteps,
  deleteModelRow,
  findModel,
  findModelByName,
  insertModel,
  listCheckpointRows,
  listModelRows,
} from '../storage/models.ts'
import type { CheckpointRow, ModelRow } from '../storage/tables.ts'

export const createModel: Handler<'createModel'> = async ({ body }, context) => {
  const { database, principal, baseModels } = context
  const entity = body.entity ?? principal.team
  requireMember(principal, entity)
  const baseModel = baseModels.get(body.base_model)
  if (!baseModel) {
    throw new ApiError(400, 'unknown_base_model', `There is no base model ${body.base_model}`, { param: 'base_model' })
  }
  const model = {
    entity,
    project: body.project,
    name: body.name,
    base_model: body.base_model,
    created_by: principal.user,
  }
  const existing = await findModelByName(database, model)
  if (existing) return { status: 200, body: toModel(requireReturnable(existing, body)) }
  return { status: 200, body: toModel(await addModel(context, model, baseModel, body)) }
}

export const getModel: Handler<'getModel'> = async ({ path }, context) => ({
  status: 200,
  body: toModel(await requireModel(context, path.model_id)),
})

export const listModels: Handler<'listModels'> = async ({ query }, { database, principal }) => ({
  status: 200,
  body: await listModelRows(database, [...principal.teams.keys()], query, toModel),
})

export const deleteModel: Handler<'deleteModel'> = async ({ path }, context) => {
  const model = await requireModel(context, path.model_id)
  const deleted = await context.database.transaction().execute(transaction => deleteModelRow(transaction, model.id))
  await freeVersions(context, deleted)
  return {
    status: 200,
    body: { model_id: model.id, deleted_checkpoints: deleted.versionIds.length, deleted_run: true },
  }
}

export const listCheckpoints: Handler<'listCheckpoints'> = async ({ path, query }, context) => {
  const model = await requireModel(context, path.model_id)
  const toItem = (row: CheckpointRow) => toCheckpoint(row, model, context.settings.artifactScheme)
  return { status: 200, body: await listCheckpointRows(context.database, model.id, query, toItem) }
}

export const deleteCheckpoints: Handler<'deleteCheckpoints'> = async ({ path, body }, context) => {
  const model = await requireModel(context, path.model_id)
  const deleted = await context.database
    .transaction()
    .execute(transaction => deleteCheckpointSteps(transaction, model.id, body.steps))
  await freeVersions(context, deleted)
  const found = new Set(deleted.deleted)
  const not_found_steps = [...new Set(body.steps)].filter(step => !found.has(step))
  return { status: 200, body: { deleted_count: deleted.deleted.length, not_found_steps } }
}

/** 404 unless the model exists and belongs to a team of the caller. */
export async function requireModel(
  { database, principal }: Context,
  id: string,
  queries: Queries = database,
): Promise<ModelRow> {
  return requireOwn(principal, await findModel(queries, id), `The model ${id}`)
}

function requireReturnable(
  existing: ModelRow,
  { return_existing, base_model, name }: { return_existing?: boolean; base_model: string; name: string },
) {
  if (!return_existing)
    throw new ApiError(400, 'model_exists', `A model named ${name} exists already`, { param: 'name' })
  if (existing.base_model === base_model) return existing
  throw new ApiError(400, 'model_exists', `The model ${name} exists with the base model ${existing.base_model}`, {
    param: 'base_model',
  })
}

/** Makes the untrained adapter first, so that a model never stands without its checkpoint of step 0. */
async function addModel(
  context: Context,
  model: Parameters<typeof insertModel>[1],
  baseModel: BaseModel,
  request: { return_existing?: boolean; base_model: string; name: string },
): Promise<ModelRow> {
  const { database, settings, training } = context
  const folder = await mkdtemp(join(settings.dataDir, 'work', 'adapter-'))
  try {
    await training.createAdapter(baseModel.folder, folder, crypto.getRandomValues(new Uint32Array(1))[0]!)
    return await storeFolder(context, folder, (files, confirm) =>
      database.transaction().execute(async transaction => {
        const existing = await findModelByName(transaction, model)
        if (existing) return requireReturnable(existing, request)
        await confirm()
        const row = await insertModel(transaction, model)
        await addCheckpoint(transaction, row, { files, metrics: {}, author: row.created_by })
        return row
      }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toModel({
  id,
  entity,
  project,
  name,
  base_model,
  run_id,
  created_at,
}: ModelRow): components['schemas']['Model'] {
  return { id, entity, project, name, base_model, run_id, created_at }
}

function toCheckpoint(
  { id, step, metrics, created_at }: CheckpointRow,
  model: ModelRow,
  scheme: string,
): components['schemas']['Checkpoint'] {
  return { id, step, metrics: JSON.parse(metrics), artifact: toArtifactUri(scheme, model, `step${step}`), created_at }
}
