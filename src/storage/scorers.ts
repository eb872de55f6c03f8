import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Database, Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { ScorerRow } from './tables.ts'

export interface ScorerPlace {
  entity: string
  project: string
}

/** Adds a version of a scorer, or finds the live one of the same content. */
export async function addScorer(
  database: Database,
  place: ScorerPlace,
  scorer: { object_id: string; name: string; description: string | null; content: Record<string, unknown> },
): Promise<ScorerRow> {
  const { object_id, name, description } = scorer
  const content = JSON.stringify(sortKeys(scorer.content))
  const digest = createHash('sha256')
    .update(JSON.stringify([name, description, content]))
    .digest('hex')
  return database.transaction().execute(async transaction => {
    const known = await findScorer(transaction, place, object_id, digest)
    if (known) return known
    const newest = await transaction
      .selectFrom('scorers')
      .select(({ fn }) => fn.max('version_index').as('version_index'))
      .where('entity', '=', place.entity)
      .where('project', '=', place.project)
      .where('object_id', '=', object_id)
      .executeTakeFirst()
    const row: ScorerRow = {
      ...place,
      id: uuid(),
      object_id,
      digest,
      version_index: (newest?.version_index ?? -1) + 1,
      name,
      description,
      content,
      created_at: new Date().toISOString(),
      deleted_at: null,
    }
    await transaction.insertInto('scorers').values(row).execute()
    return row
  })
}

export async function findScorer(
  queries: Queries,
  place: ScorerPlace,
  objectId: string,
  digest: string,
): Promise<ScorerRow | null> {
  const row = await selectLive(queries, place)
    .where('object_id', '=', objectId)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row ?? null
}

export function listScorerRows<Item extends { id: string }>(
  queries: Queries,
  place: ScorerPlace,
  page: PageQuery,
  toItem: (row: ScorerRow) => Item,
): Promise<Page<Item>> {
  return selectPage(selectLive(queries, place), 'id', page, toItem)
}

/**
 * Marks versions of a scorer as deleted, all live ones when no digests are given. All or nothing:
 * returns 0, with nothing changed, when there is no live version or one of the digests is not live.
 */
export async function deleteScorerVersions(
  database: Database,
  place: ScorerPlace,
  objectId: string,
  digests: string[],
): Promise<number> {
  const wanted = [...new Set(digests)]
  return database.transaction().execute(async transaction => {
    const live = transaction
      .selectFrom('scorers')
      .select('id')
      .where('entity', '=', place.entity)
      .where('project', '=', place.project)
      .where('object_id', '=', objectId)
      .where('deleted_at', 'is', null)
    const chosen = wanted.length === 0 ? live : live.where('digest', 'in', wanted)
    const { count } = await transaction
      .selectFrom(chosen.as('chosen'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count) < wanted.length) return 0
    await transaction
      .updateTable('scorers')
      .set({ deleted_at: new Date().toISOString() })
      .where('id', 'in', chosen)
      .execute()
    return Number(count)
  })
}

function selectLive(queries: Queries, { entity, project }: ScorerPlace) {
  return queries
    .selectFrom('scorers')
    .selectAll()
    .where('entity', '=', entity)
    .where('project', '=', project)
    .where('deleted_at', 'is', null)
}

/** The same content in another key order has the same digest. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sortKeys(inner)]),
  )
}
