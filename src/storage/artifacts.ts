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

function selectVersions(queries: Queries, { entity, project, name }: CollectionName) {
  return queries
    .selectFrom('artifact_versions')
    .innerJoin('collections', 'collections.id', 'artifact_versions.collection_id')
    .selectAll('artifact_versions')
    .where('collections.entity', '=', entity)
    .where('collections.project', '=', project)
    .where('collections.name', '=', name)
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
