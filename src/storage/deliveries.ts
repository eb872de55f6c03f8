import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { JsonValue } from '../automations/payload.ts'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { AutomationEventType, ExecutionStatus, WebhookAttemptRow, WebhookDeliveryRow } from './tables.ts'

/** Newest attempts that are shown of one delivery. */
const SHOWN_ATTEMPTS = 10

/** Written out, so that the indexes of what is pending can be used. */
export const PENDING = sql<boolean>`status = 'Pending'`

export interface NewDelivery {
  webhookId: string
  executionId: string | null
  eventType: AutomationEventType
  /** The payload with its variables. */
  payload: JsonValue
  variables: Record<string, JsonValue>
}

/** Puts a delivery into the queue, due now; the worker finds it soon after the transaction. Returns its id. */
export async function addDelivery(queries: Queries, delivery: NewDelivery): Promise<string> {
  const now = new Date()
  const id = uuid()
  const row: WebhookDeliveryRow = {
    id,
    webhook_id: delivery.webhookId,
    execution_id: delivery.executionId,
    event_type: delivery.eventType,
    payload: JSON.stringify(delivery.payload),
    variables: JSON.stringify(delivery.variables),
    status: 'Pending',
    round_attempts: 0,
    attempts: 0,
    next_attempt_at: now.getTime(),
    lease_owner: null,
    lease_until: null,
    error: null,
    response_status: null,
    created_at: now.toISOString(),
    finished_at: null,
  }
  await queries.insertInto('webhook_deliveries').values(row).execute()
  return id
}

export async function findDelivery(
  queries: Queries,
  { webhookId, id }: { webhookId: string; id: string },
): Promise<DeliveryDetail | null> {
  const row = await selectDeliveries(queries, webhookId)
    .where('webhook_deliveries.id', '=', id.toLowerCase())
    .executeTakeFirst()
  return row ?? null
}

/** A delivery with the automation that fired. */
export type DeliveryDetail = WebhookDeliveryRow & { automation_id: string | null }
/** A delivery with its newest attempts, oldest first. */
export type DeliveryWithAttempts = DeliveryDetail & { tries: WebhookAttemptRow[] }

export async function listDeliveryRows<Item extends { id: string }>(
  queries: Queries,
  webhookId: string,
  filter: { status?: ExecutionStatus },
  page: PageQuery,
  toItem: (row: DeliveryWithAttempts) => Item,
): Promise<Page<Item>> {
  let select = selectDeliveries(queries, webhookId)
  if (filter.status) select = select.where('webhook_deliveries.status', '=', filter.status)
  const rows = await selectPage(select, 'webhook_deliveries.id', page, (row: DeliveryDetail) => row)
  const data = await Promise.all(rows.data.map(async row => toItem(await withAttempts(queries, row))))
  return { ...rows, data }
}

export async function withAttempts(queries: Queries, row: DeliveryDetail): Promise<DeliveryWithAttempts> {
  const tries = await queries
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('delivery_id', '=', row.id)
    .orderBy('number', 'desc')
    .limit(SHOWN_ATTEMPTS)
    .execute()
  return { ...row, tries: tries.reverse() }
}

function selectDeliveries(queries: Queries, webhookId: string) {
  return queries
    .selectFrom('webhook_deliveries')
    .leftJoin('automation_executions', 'automation_executions.id', 'webhook_deliveries.execution_id')
    .selectAll('webhook_deliveries')
    .select('automation_executions.automation_id')
    .where('webhook_deliveries.webhook_id', '=', webhookId)
}

/** Has a delivery sent again, now, in a new round of attempts; one that is being sent stays as it is. Call inside a transaction. */
export async function redeliver(queries: Queries, id: string): Promise<void> {
  const now = Date.now()
  const again = await queries
    .updateTable('webhook_deliveries')
    .set({
      status: 'Pending',
      round_attempts: 0,
      next_attempt_at: now,
      lease_owner: null,
      lease_until: null,
      error: null,
      finished_at: null,
    })
    .where('id', '=', id)
    .where(({ eb, or }) => or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .returning('execution_id')
    .executeTakeFirst()
  if (again?.execution_id) await setExecution(queries, again.execution_id, { status: 'Pending', error: null, at: null })
}

/** The status of an automation's execution follows that of its delivery. */
export async function setExecution(
  queries: Queries,
  id: string,
  { status, error, at }: { status: ExecutionStatus; error: string | null; at: string | null },
): Promise<void> {
  await queries
    .updateTable('automation_executions')
    .set({ status, error, finished_at: at })
    .where('id', '=', id)
    .execute()
}

/** Deliveries that wait to be sent, or sent again. */
export async function countPendingDeliveries(queries: Queries): Promise<number> {
  const { count } = await queries
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(PENDING)
    .executeTakeFirstOrThrow()
  return Number(count)
}
