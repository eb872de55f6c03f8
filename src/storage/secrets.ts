import { v7 as uuid } from 'uuid'
import type { SecretBox } from '../secrets/secret-box.ts'
import type { Database, Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { SecretRow } from './tables.ts'

export interface SecretPlace {
  entity: string
  name: string
}

/** A secret's value, or null where the team has none of that name. Throws UnreadableSecretError. */
export async function readSecret(queries: Queries, box: SecretBox, place: SecretPlace): Promise<string | null> {
  const row = await findSecret(queries, place)
  return row ? openSecret(box, row) : null
}

/** Stores a value under a name, in place of the value before, and returns the row. */
export async function storeSecret(
  database: Database,
  box: SecretBox,
  { entity, name }: SecretPlace,
  value: string,
): Promise<SecretRow> {
  return database.transaction().execute(async transaction => {
    const { keyId: key_id, sealed } = box.seal(value, toPlace({ entity, name }))
    const now = new Date().toISOString()
    return transaction
      .insertInto('secrets')
      .values({ id: uuid(), entity, name, key_id, sealed, created_at: now, updated_at: now })
      .onConflict(conflict => conflict.columns(['entity', 'name']).doUpdateSet({ key_id, sealed, updated_at: now }))
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

export async function findSecret(queries: Queries, { entity, name }: SecretPlace): Promise<SecretRow | null> {
  const select = queries.selectFrom('secrets').selectAll()
  return (await select.where('entity', '=', entity).where('name', '=', name).executeTakeFirst()) ?? null
}

export function listSecretRows<Item extends { id: string }>(
  queries: Queries,
  entity: string,
  page: PageQuery,
  toItem: (row: SecretRow) => Item,
): Promise<Page<Item>> {
  return selectPage(queries.selectFrom('secrets').selectAll().where('entity', '=', entity), 'id', page, toItem)
}

/** The name of a webhook that refers to the secret, or null. */
export async function findUseOfSecret(queries: Queries, { entity, name }: SecretPlace): Promise<string | null> {
  const webhook = await queries
    .selectFrom('webhooks')
    .select('name')
    .where('entity', '=', entity)
    .where(({ eb, or }) => or([eb('access_token_secret', '=', name), eb('signing_secret', '=', name)]))
    .orderBy('id')
    .executeTakeFirst()
  return webhook?.name ?? null
}

export async function deleteSecretRow(queries: Queries, id: string): Promise<void> {
  await queries.deleteFrom('secrets').where('id', '=', id).execute()
}

/** Ids of the master keys that some secret is under. */
export async function listKeyIds(queries: Queries): Promise<string[]> {
  return (await queries.selectFrom('secrets').select('key_id').distinct().execute()).map(row => row.key_id)
}

/**
 * Seals every secret anew that is not yet under the newest key, and returns how many. All are opened before the box that seals them is
 * asked for: where one cannot be opened, nothing has changed. To be run in a transaction.
 */
export async function resealSecrets(transaction: Queries, known: SecretBox, prepare: () => SecretBox): Promise<number> {
  const rows = await transaction.selectFrom('secrets').selectAll().execute()
  const values = rows.map(row => openSecret(known, row))
  const box = prepare()
  let count = 0
  for (const [index, row] of rows.entries()) {
    if (row.key_id === box.keyId) continue
    const { keyId: key_id, sealed } = box.seal(values[index]!, toPlace(row))
    await transaction.updateTable('secrets').set({ key_id, sealed }).where('id', '=', row.id).execute()
    count++
  }
  return count
}

function openSecret(box: SecretBox, row: SecretRow): string {
  return box.open({ keyId: row.key_id, sealed: row.sealed }, toPlace(row))
}

/** What a sealed value is bound to. */
function toPlace({ entity, name }: SecretPlace): string {
  return `${entity}/${name}`
}
