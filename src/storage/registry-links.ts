import { v7 as uuid } from 'uuid'
import { recordEvent } from '../automations/record-event.ts'
import type { CollectionName } from './artifacts.ts'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { RegistryLinkRow } from './tables.ts'

/** A collection of a registry; both exist on first use. */
export interface RegistryCollection {
  entity: string
  registry: string
  collection: string
}

/** A link with what it leads to. */
export interface RegistryLink extends RegistryLinkRow {
  artifact: CollectionName
  version: number
}

/** Links a version into a collection, or finds the link that is there; a new one is an event. Call inside a transaction. */
export async function addRegistryLink(
  queries: Queries,
  { entity, registry, collection }: RegistryCollection,
  { versionId: version_id, author }: { versionId: string; author: string },
): Promise<RegistryLink> {
  const place = { entity, registry, collection }
  const known = await selectLinks(queries, place).where('version_id', '=', version_id).executeTakeFirst()
  if (known) return toLink(known)
  const row = { ...place, id: uuid(), version_id, created_by: author, created_at: new Date().toISOString() }
  await queries.insertInto('registry_links').values(row).execute()
  await recordEvent(queries, { type: 'LINK_ARTIFACT', author, versionId: version_id, ...place })
  return toLink(await selectLinks(queries, place).where('version_id', '=', version_id).executeTakeFirstOrThrow())
}

export function listLinkRows<Item extends { id: string }>(
  queries: Queries,
  place: RegistryCollection,
  page: PageQuery,
  toItem: (link: RegistryLink) => Item,
): Promise<Page<Item>> {
  return selectPage(selectLinks(queries, place), 'registry_links.id', page, (row: JoinedRow) => toItem(toLink(row)))
}

function selectLinks(queries: Queries, { entity, registry, collection }: RegistryCollection) {
  return queries
    .selectFrom('registry_links')
    .innerJoin('artifact_versions', 'artifact_versions.id', 'registry_links.version_id')
    .innerJoin('collections', 'collections.id', 'artifact_versions.collection_id')
    .selectAll('registry_links')
    .select([
      'artifact_versions.version',
      'collections.entity as artifact_entity',
      'collections.project as artifact_project',
      'collections.name as artifact_name',
    ])
    .where('registry_links.entity', '=', entity)
    .where('registry_links.registry', '=', registry)
    .where('registry_links.collection', '=', collection)
}

type JoinedRow = RegistryLinkRow & {
  version: number
  artifact_entity: string
  artifact_project: string
  artifact_name: string
}

function toLink({ artifact_entity, artifact_project, artifact_name, ...link }: JoinedRow): RegistryLink {
  return { ...link, artifact: { entity: artifact_entity, project: artifact_project, name: artifact_name } }
}
