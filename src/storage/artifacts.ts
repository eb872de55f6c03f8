import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { ArtifactVersionRow } from './tables.ts'

/** Where an artifact lives; a collection is all versions of one name. */
export interface CollectionName {
  entity: string
  project: string
  name: string
}

export interface StoredFile {
  path: string
  sha256: string
  /** In bytes. */
  size: number
}

export interface NewVersion {
  type: string
  metadata: Record<string, unknown>
  aliases: string[]
  tags: string[]
  files: StoredFile[]
  user: string
}

/** A version with all that belongs to it. */
export interface ArtifactVersion extends CollectionName {
  id: string
  version: number
  type: string
  metadata: Record<string, unknown>
  tags: string[]
  aliases: string[]
  files: StoredFile[]
  digest: string
  createdBy: string
  createdAt: string
}

/**
 * Adds a version, or finds the one of the same content (files, type and metadata) and gives it the aliases and tags.
 * Call inside a transaction. The newest version always bears the alias `latest`.
 */
export async function addArtifactVersion(
  queries: Queries,
  where: CollectionName,
  version: NewVersion,
): Promise<string> {
  const collection = await takeCollection(queries, where)
  const digest = digestOf(version)
  const known = await queries
    .selectFrom('artifact_versions')
    .selectAll()
    .where('collection_id', '=', collection.id)
    .where('digest', '=', digest)
    .executeTakeFirst()
  const id = known?.id ?? (await insertVersion(queries, collection, version, digest))
  if (known) {
    const tags = JSON.stringify([...new Set([...JSON.parse(known.tags), ...version.tags])])
    await queries.updateTable('artifact_versions').set({ tags }).where('id', '=', id).execute()
  }
  for (const alias of known ? version.aliases : [...version.aliases, 'latest']) {
    await putAlias(queries, collection.id, alias, id)
  }
  return id
}

/** Moves an alias to a version: within a collection an alias names one version. */
async function putAlias(queries: Queries, collectionId: string, alias: string, versionId: string): Promise<void> {
  await queries
    .insertInto('artifact_aliases')
    .values({ collection_id: collectionId, alias, version_id: versionId })
    .onConflict(conflict => conflict.columns(['collection_id', 'alias']).doUpdateSet({ version_id: versionId }))
    .execute()
}

/** Moves an alias to a version of which only the id is at hand. */
export async function moveAlias(queries: Queries, versionId: string, alias: string): Promise<void> {
  const row = await queries
    .selectFrom('artifact_versions')
    .select('collection_id')
    .where('id', '=', versionId)
    .executeTakeFirstOrThrow()
  await putAlias(queries, row.collection_id, alias, versionId)
}

/** Takes an alias off a version; false when the version does not bear it. */
export async function deleteAlias(queries: Queries, versionId: string, alias: string): Promise<boolean> {
  const result = await queries
    .deleteFrom('artifact_aliases')
    .where('version_id', '=', versionId)
    .where('alias', '=', alias)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

/** Finds a version by `v<N>` or by alias. */
export async function findArtifactVersion(
  queries: Queries,
  where: CollectionName,
  reference: string,
): Promise<ArtifactVersion | null> {
  const number = /^v(\d{1,15})$/.exec(reference)?.[1]
  const versions = selectVersions(queries, where)
  const row = number
    ? await versions.where('artifact_versions.version', '=', Number(number)).executeTakeFirst()
    : await versions
        .innerJoin('artifact_aliases', 'artifact_aliases.version_id', 'artifact_versions.id')
        .where('artifact_aliases.alias', '=', reference)
        .executeTakeFirst()
  return row ? loadVersion(queries, where, row) : null
}

export async function getArtifactVersionById(queries: Queries, id: string): Promise<ArtifactVersion> {
  const row = await queries
    .selectFrom('artifact_versions')
    .innerJoin('collections', 'collections.id', 'artifact_versions.collection_id')
    .selectAll('artifact_versions')
    .select(['collections.entity', 'collections.project', 'collections.name'])
    .where('artifact_versions.id', '=', id)
    .executeTakeFirstOrThrow()
  return loadVersion(queries, row, row)
}

export async function listVersions(
  queries: Queries,
  where: CollectionName,
  page: PageQuery,
): Promise<Page<ArtifactVersion>> {
  const rows = await selectPage<ArtifactVersionRow, ArtifactVersionRow>(
    selectVersions(queries, where),
    'artifact_versions.id',
    page,
    row => row,
  )
  return { ...rows, data: await Promise.all(rows.data.map(row => loadVersion(queries, where, row))) }
}

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

/** Deletes a version; `latest` moves to the newest one left. Returns the contents that nothing refers to any more. */
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

/** A statement takes 32766 parameters. */
const ROWS_PER_STATEMENT = 1000

function toChunks<Item>(items: Item[]): Item[][] {
  const chunks: Item[][] = []
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    chunks.push(items.slice(start, start + ROWS_PER_STATEMENT))
  }
  return chunks
}

async function takeCollection(queries: Queries, where: CollectionName) {
  await queries
    .insertInto('collections')
    .values({ id: uuid(), ...pickName(where), next_version: 0 })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return selectCollection(queries, where).executeTakeFirstOrThrow()
}

function selectCollection(queries: Queries, { entity, project, name }: CollectionName) {
  return queries
    .selectFrom('collections')
    .selectAll()
    .where('entity', '=', entity)
    .where('project', '=', project)
    .where('name', '=', name)
}

function selectVersions(queries: Queries, { entity, project, name }: CollectionName) {
  return queries
    .selectFrom('artifact_versions')
    .innerJoin('collections', 'collections.id', 'artifact_versions.collection_id')
    .selectAll('artifact_versions')
    .where('collections.entity', '=', entity)
    .where('collections.project', '=', project)
    .where('collections.name', '=', name)
}

async function insertVersion(
  queries: Queries,
  collection: { id: string; next_version: number },
  { type, metadata, tags, files, user }: NewVersion,
  digest: string,
): Promise<string> {
  const id = uuid()
  const version = collection.next_version
  await queries
    .updateTable('collections')
    .set({ next_version: version + 1 })
    .where('id', '=', collection.id)
    .execute()
  await queries
    .insertInto('artifact_versions')
    .values({
      id,
      collection_id: collection.id,
      version,
      type,
      metadata: JSON.stringify(metadata),
      tags: JSON.stringify([...new Set(tags)]),
      digest,
      created_by: user,
      created_at: new Date().toISOString(),
    })
    .execute()
  for (const some of toChunks(files)) {
    await queries
      .insertInto('artifact_files')
      .values(some.map(file => ({ version_id: id, ...file })))
      .execute()
  }
  return id
}

async function loadVersion(queries: Queries, where: CollectionName, row: ArtifactVersionRow): Promise<ArtifactVersion> {
  const files = await queries
    .selectFrom('artifact_files')
    .select(['path', 'sha256', 'size'])
    .where('version_id', '=', row.id)
    .orderBy('path')
    .execute()
  const aliases = await queries
    .selectFrom('artifact_aliases')
    .select('alias')
    .where('version_id', '=', row.id)
    .orderBy('alias')
    .execute()
  return {
    ...pickName(where),
    id: row.id,
    version: row.version,
    type: row.type,
    metadata: JSON.parse(row.metadata),
    tags: JSON.parse(row.tags),
    aliases: aliases.map(({ alias }) => alias),
    files,
    digest: row.digest,
    createdBy: row.created_by,
    createdAt: row.created_at,
  }
}

function pickName({ entity, project, name }: CollectionName): CollectionName {
  return { entity, project, name }
}

/** SHA-256 over type, metadata and the sorted files, so that the order of an upload does not matter. */
function digestOf({ type, metadata, files }: Pick<NewVersion, 'type' | 'metadata' | 'files'>): string {
  const manifest = files.map(({ path, sha256 }) => [path, sha256]).sort(([one], [other]) => (one! < other! ? -1 : 1))
  const sorted = Object.fromEntries(Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1)))
  return createHash('sha256')
    .update(JSON.stringify([type, sorted, manifest]))
    .digest('hex')
}
