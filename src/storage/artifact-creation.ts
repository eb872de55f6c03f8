import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { addLabels } from './artifact-labels.ts'
import type { CollectionName, StoredFile } from './artifacts.ts'
import type { Queries } from './database.ts'
import { toChunks } from './statement-rows.ts'

export interface NewVersion {
  type: string
  metadata: Record<string, unknown>
  aliases: string[]
  tags: string[]
  files: StoredFile[]
  user: string
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
    .select('id')
    .where('collection_id', '=', collection.id)
    .where('digest', '=', digest)
    .executeTakeFirst()
  const id = known?.id ?? (await insertVersion(queries, collection, version, digest))
  const { aliases, tags, user: author } = version
  await addLabels(queries, id, { aliases: known ? aliases : [...aliases, 'latest'], tags, author })
  return id
}

async function takeCollection(queries: Queries, { entity, project, name }: CollectionName) {
  await queries
    .insertInto('collections')
    .values({ id: uuid(), entity, project, name, next_version: 0 })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return queries
    .selectFrom('collections')
    .selectAll()
    .where('entity', '=', entity)
    .where('project', '=', project)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
}

async function insertVersion(
  queries: Queries,
  collection: { id: string; next_version: number },
  { type, metadata, files, user }: NewVersion,
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
      tags: '[]',
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

/** SHA-256 over type, metadata and the sorted files, so that the order of an upload does not matter. */
function digestOf({ type, metadata, files }: Pick<NewVersion, 'type' | 'metadata' | 'files'>): string {
  const manifest = files.map(({ path, sha256 }) => [path, sha256]).sort(([one], [other]) => (one! < other! ? -1 : 1))
  const sorted = Object.fromEntries(Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1)))
  return createHash('sha256')
    .update(JSON.stringify([type, sorted, manifest]))
    .digest('hex')
}
