import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { Plan, WebhookRow } from './tables.ts'

export type NewWebhook = Pick<
  WebhookRow,
  'entity' | 'name' | 'endpoint_url' | 'access_token_secret' | 'signing_secret' | 'created_by'
>
export type WebhookChanges = Partial<Omit<WebhookRow, 'id' | 'entity' | 'created_by' | 'created_at' | 'updated_at'>>

export async function insertWebhook(queries: Queries, webhook: NewWebhook): Promise<WebhookRow> {
  const now = new Date().toISOString()
  const row: WebhookRow = {
    ...webhook,
    id: uuid(),
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    created_at: now,
    updated_at: now,
  }
  await queries.insertInto('webhooks').values(row).execute()
  return row
}

/** Null for the id of another team's webhook too. */
export async function findWebhook(
  queries: Queries,
  { entity, id }: { entity: string; id: string },
): Promise<WebhookRow | null> {
  const row = await queries
    .selectFrom('webhooks')
    .selectAll()
    .where('entity', '=', entity)
    .where('id', '=', id.toLowerCase())
    .executeTakeFirst()
  return row ?? null
}

export async function findWebhookByName(
  queries: Queries,
  { entity, name }: { entity: string; name: string },
): Promise<WebhookRow | null> {
  const row = await queries
    .selectFrom('webhooks')
    .selectAll()
    .where('entity', '=', entity)
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? null
}

export function listWebhookRows<Item extends { id: string }>(
  queries: Queries,
  entity: string,
  page: PageQuery,
  toItem: (row: WebhookRow) => Item,
): Promise<Page<Item>> {
  return selectPage(queries.selectFrom('webhooks').selectAll().where('entity', '=', entity), 'id', page, toItem)
}

export async function updateWebhookRow(queries: Queries, id: string, changes: WebhookChanges): Promise<WebhookRow> {
  return queries
    .updateTable('webhooks')
    .set({ ...changes, updated_at: new Date().toISOString() })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a webhook with its deliveries and returns how many they were; null, with nothing deleted, where an automation calls it. Call inside a transaction. */
export async function deleteWebhookRow(queries: Queries, id: string): Promise<number | null> {
  const user = await queries.selectFrom('automations').select('id').where('webhook_id', '=', id).executeTakeFirst()
  if (user) return null
  const { numDeletedRows } = await queries
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', id)
    .executeTakeFirstOrThrow()
  await queries.deleteFrom('webhooks').where('id', '=', id).execute()
  return Number(numDeletedRows)
}

/** A webhook as the sender of deliveries needs it: with the plan of its team. */
export async function getWebhookWithPlan(queries: Queries, id: string): Promise<WebhookRow & { plan: Plan }> {
  return queries
    .selectFrom('webhooks')
    .innerJoin('teams', 'teams.name', 'webhooks.entity')
    .selectAll('webhooks')
    .select('teams.plan')
    .where('webhooks.id', '=', id)
    .executeTakeFirstOrThrow()
}

/** Notes that the endpoint took a delivery: whatever failed before is over. */
export async function noteSuccess(queries: Queries, id: string): Promise<void> {
  await queries
    .updateTable('webhooks')
    .set({ failing_since: null })
    .where('id', '=', id)
    .where('failing_since', 'is not', null)
    .execute()
}

/** Notes a failure at a time; where failures began longer than `patienceMs` before, the webhook is disabled. Returns whether it was just now. */
export async function noteFailure(
  queries: Queries,
  id: string,
  { at, patienceMs, reason }: { at: Date; patienceMs: number; reason: string },
): Promise<boolean> {
  const now = at.toISOString()
  await queries
    .updateTable('webhooks')
    .set({ failing_since: now })
    .where('id', '=', id)
    .where('failing_since', 'is', null)
    .execute()
  const disabled = await queries
    .updateTable('webhooks')
    .set({ disabled_at: now, disabled_reason: reason, updated_at: now })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .where('failing_since', '<=', new Date(at.getTime() - patienceMs).toISOString())
    .returning('id')
    .executeTakeFirst()
  return disabled !== undefined
}
