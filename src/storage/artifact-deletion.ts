import { deleteAlias, putAlias } from './artifact-labels.ts'
import type { ArtifactVersion } from './artifacts.ts'
import type { Queries } from './database.ts'
import { toChunks } from './statement-rows.ts'

/** Why a version may not be deleted, or null. */
export async function findUseOfVersion(queries: Queries, versionId: string): Promise<'model' | 'job' | null> {
  const checkpoint = await queries
    .selectFrom('checkpoints')
    .select('id')
    .where('version_id', '=', versionId)
    .executeTakeFirst()
  if (checkpoint) return 'model'
  const job = await queries
    .selectFrom('training_jobs')
    .select('id')
    .where('input_version_id', '=', versionId)
    .where('status', 'in', ['QUEUED', 'RUNNING'])
    .executeTakeFirst()
  return job ? 'job' : null
}

/** Deletes a version; `latest` moves to the newest one left, which is no event. Returns the contents that nothing refers to any more. */
export async function deleteVersion(
  queries: Queries,
  version: Pick<ArtifactVersion, 'id' | 'files'>,
): Promise<string[]> {
  const row = await queries.selectFrom('artifact_versions').selectAll().where('id', '=', version.id).executeTakeFirst()
  if (!row) return []
  const wasLatest = await deleteAlias(queries, version.id, 'latest')
  await queries.deleteFrom('artifact_versions').where('id', '=', version.id).execute()
  if (wasLatest) {
    const newest = await queries
      .selectFrom('artifact_versions')
      .select('id')
      .where('collection_id', '=', row.collection_id)
      .orderBy('version', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (newest) await putAlias(queries, row.collection_id, 'latest', newest.id)
  }
  return selectUnreferenced(
    queries,
    version.files.map(file => file.sha256),
  )
}

/** Of some contents, those that no artifact version, job or log refers to. */
export async function selectUnreferenced(queries: Queries, contents: string[]): Promise<string[]> {
  const referenced = new Set<string | null>()
  for (const some of toChunks(contents)) {
    const rows = [
      ...(await queries.selectFrom('artifact_files').select('sha256').distinct().where('sha256', 'in', some).execute()),
      ...(await selectInputs(queries, 'training_jobs', some)),
      ...(await selectInputs(queries, 'trajectory_logs', some)),
    ]
    for (const { sha256 } of rows) referenced.add(sha256)
  }
  return [...new Set(contents)].filter(sha256 => !referenced.has(sha256))
}

function selectInputs(queries: Queries, table: 'training_jobs' | 'trajectory_logs', contents: string[]) {
  return queries.selectFrom(table).select('input_sha256 as sha256').where('input_sha256', 'in', contents).execute()
}
