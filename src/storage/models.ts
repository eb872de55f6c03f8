import { v7 as uuid } from 'uuid'
import { addArtifactVersion } from './artifact-creation.ts'
import { deleteVersion, selectUnreferenced } from './artifact-deletion.ts'
import { getArtifactVersionById, type StoredFile } from './artifacts.ts'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { CheckpointRow, ModelRow } from './tables.ts'

/** Artifact type of checkpoints: PEFT LoRA folders. */
export const CHECKPOINT_TYPE = 'lora'

export type NewModel = Pick<ModelRow, 'entity' | 'project' | 'name' | 'base_model' | 'created_by'>

export async function findModelByName(queries: Queries, { entity, project, name }: NewModel): Promise<ModelRow | null> {
  const row = await queries
    .selectFrom('models')
    .selectAll()
    .where('entity', '=', entity)
    .where('project', '=', project)
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? null
}

export async function findModel(queries: Queries, id: string): Promise<ModelRow | null> {
  return (await queries.selectFrom('models').selectAll().where('id', '=', id.toLowerCase()).executeTakeFirst()) ?? null
}

export async function insertModel(queries: Queries, model: NewModel): Promise<ModelRow> {
  const row = { id: uuid(), run_id: uuid(), next_step: 0, created_at: new Date().toISOString(), ...model }
  await queries.insertInto('models').values(row).execute()
  return row
}

export function listModelRows<Item extends { id: string }>(
  queries: Queries,
  teams: string[],
  page: PageQuery,
  toItem: (row: ModelRow) => Item,
): Promise<Page<Item>> {
  return selectPage(queries.selectFrom('models').selectAll().where('entity', 'in', teams), 'id', page, toItem)
}

/**
 * Adds the next checkpoint of a model as an artifact version with the aliases `step<N>` and `latest`. Call inside a transaction.
 * The step comes from the model's counter, so that a deleted step is never given again.
 */
export async function addCheckpoint(
  queries: Queries,
  model: Pick<ModelRow, 'id'>,
  { files, metrics, author }: { files: StoredFile[]; metrics: Record<string, number>; author: string },
): Promise<CheckpointRow> {
  const current = await queries.selectFrom('models').selectAll().where('id', '=', model.id).executeTakeFirstOrThrow()
  const step = current.next_step
  await queries
    .updateTable('models')
    .set({ next_step: step + 1 })
    .where('id', '=', model.id)
    .execute()
  const version_id = await addArtifactVersion(queries, current, {
    type: CHECKPOINT_TYPE,
    // The step keeps two checkpoints of equal weights (a job with nothing to learn) apart.
    metadata: { base_model: current.base_model, model_id: current.id, step },
    aliases: [`step${step}`],
    tags: [],
    files,
    user: author,
  })
  const row = {
    id: uuid(),
    model_id: model.id,
    step,
    version_id,
    metrics: JSON.stringify(metrics),
    created_at: new Date().toISOString(),
  }
  await queries.insertInto('checkpoints').values(row).execute()
  return row
}

export async function findLatestCheckpoint(queries: Queries, modelId: string): Promise<CheckpointRow | null> {
  const row = await queries
    .selectFrom('checkpoints')
    .selectAll()
    .where('model_id', '=', modelId)
    .orderBy('step', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

export function listCheckpointRows<Item extends { id: string }>(
  queries: Queries,
  modelId: string,
  page: PageQuery,
  toItem: (row: CheckpointRow) => Item,
): Promise<Page<Item>> {
  return selectPage(queries.selectFrom('checkpoints').selectAll().where('model_id', '=', modelId), 'id', page, toItem)
}

/** Merges metrics into the newest checkpoint's, as the real client reads them. Returns its step, null where there is no checkpoint. */
export async function mergeCheckpointMetrics(
  queries: Queries,
  modelId: string,
  metrics: Record<string, number>,
): Promise<number | null> {
  const latest = await findLatestCheckpoint(queries, modelId)
  if (!latest) return null
  const merged = JSON.stringify({ ...JSON.parse(latest.metrics), ...metrics })
  await queries.updateTable('checkpoints').set({ metrics: merged }).where('id', '=', latest.id).execute()
  return latest.step
}

/** Deletes checkpoints with their artifact versions. Returns the steps found and the contents no longer referred to. */
export async function deleteCheckpointSteps(
  queries: Queries,
  modelId: string,
  steps: number[],
): Promise<{ deleted: number[]; versionIds: string[]; contents: string[] }> {
  const wanted = new Set(steps)
  const all = await queries.selectFrom('checkpoints').selectAll().where('model_id', '=', modelId).execute()
  const rows = all.filter(row => wanted.has(row.step))
  const contents: string[] = []
  for (const row of rows) contents.push(...(await deleteCheckpoint(queries, row)))
  return { deleted: rows.map(row => row.step), versionIds: rows.map(row => row.version_id), contents }
}

/** Deletes a model, its checkpoints with their artifacts, jobs, events, metrics of its run and logged trajectories. */
export async function deleteModelRow(
  queries: Queries,
  modelId: string,
): Promise<{ versionIds: string[]; contents: string[] }> {
  const rows = await queries.selectFrom('checkpoints').selectAll().where('model_id', '=', modelId).execute()
  const inputs = [
    ...(await queries.selectFrom('training_jobs').select('input_sha256').where('model_id', '=', modelId).execute()),
    ...(await queries.selectFrom('trajectory_logs').select('input_sha256').where('model_id', '=', modelId).execute()),
  ]
  const contents: string[] = []
  for (const row of rows) contents.push(...(await deleteCheckpoint(queries, row)))
  await queries.deleteFrom('models').where('id', '=', modelId).execute()
  contents.push(
    ...(await selectUnreferenced(
      queries,
      inputs.flatMap(row => row.input_sha256 ?? []),
    )),
  )
  return { versionIds: rows.map(row => row.version_id), contents }
}

async function deleteCheckpoint(queries: Queries, row: CheckpointRow): Promise<string[]> {
  const version = await getArtifactVersionById(queries, row.version_id)
  await queries.deleteFrom('checkpoints').where('id', '=', row.id).execute()
  return deleteVersion(queries, version)
}

/** Every checkpoint of some teams, with the names that make up its artifact URI, oldest first. */
export function listServedCheckpoints(queries: Queries, teams: string[]) {
  return queries
    .selectFrom('checkpoints')
    .innerJoin('models', 'models.id', 'checkpoints.model_id')
    .select([
      'models.entity',
      'models.project',
      'models.name',
      'models.base_model',
      'checkpoints.step',
      'checkpoints.created_at',
    ])
    .where('models.entity', 'in', teams)
    .orderBy('checkpoints.id')
    .execute()
}
