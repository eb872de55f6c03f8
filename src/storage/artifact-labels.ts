import { recordEvent } from '../automations/record-event.ts'
import type { Queries } from './database.ts'

export interface NewLabels {
  aliases: string[]
  tags: string[]
  /** Who puts them on, for the events. */
  author: string
}

/**
 * Puts aliases and tags on a version; an alias leaves the version that had it. Records an event for each that the version did not bear
 * yet, once all of them are on it. Call inside a transaction.
 */
export async function addLabels(
  queries: Queries,
  versionId: string,
  { aliases, tags, author }: NewLabels,
): Promise<void> {
  const row = await queries
    .selectFrom('artifact_versions')
    .select(['collection_id', 'tags'])
    .where('id', '=', versionId)
    .executeTakeFirstOrThrow()
  const newAliases: string[] = []
  for (const alias of aliases) if (await putAlias(queries, row.collection_id, alias, versionId)) newAliases.push(alias)
  const known: string[] = JSON.parse(row.tags)
  const newTags = [...new Set(tags)].filter(tag => !known.includes(tag))
  if (newTags.length > 0) await writeTags(queries, versionId, [...known, ...newTags])
  for (const alias of newAliases) await recordEvent(queries, { type: 'ADD_ARTIFACT_ALIAS', author, versionId, alias })
  for (const tag of newTags) await recordEvent(queries, { type: 'ADD_ARTIFACT_TAG', author, versionId, tag })
}

/** Makes an alias name this version: within a collection it names one. False where it did already. */
export async function putAlias(
  queries: Queries,
  collectionId: string,
  alias: string,
  versionId: string,
): Promise<boolean> {
  const bearer = await queries
    .selectFrom('artifact_aliases')
    .select('version_id')
    .where('collection_id', '=', collectionId)
    .where('alias', '=', alias)
    .executeTakeFirst()
  if (bearer?.version_id === versionId) return false
  await queries
    .insertInto('artifact_aliases')
    .values({ collection_id: collectionId, alias, version_id: versionId })
    .onConflict(conflict => conflict.columns(['collection_id', 'alias']).doUpdateSet({ version_id: versionId }))
    .execute()
  return true
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

/** Takes a tag off a version; false when the version does not bear it. Call inside a transaction. */
export async function deleteTag(queries: Queries, versionId: string, tag: string): Promise<boolean> {
  const row = await queries
    .selectFrom('artifact_versions')
    .select('tags')
    .where('id', '=', versionId)
    .executeTakeFirstOrThrow()
  const tags: string[] = JSON.parse(row.tags)
  if (!tags.includes(tag)) return false
  await writeTags(
    queries,
    versionId,
    tags.filter(one => one !== tag),
  )
  return true
}

async function writeTags(queries: Queries, versionId: string, tags: string[]): Promise<void> {
  await queries
    .updateTable('artifact_versions')
    .set({ tags: JSON.stringify(tags) })
    .where('id', '=', versionId)
    .execute()
}
