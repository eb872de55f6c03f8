import { type RawBuilder, sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { PENDING, setExecution } from './deliveries.ts'
import type { WebhookAttemptRow, WebhookDeliveryRow } from './tables.ts'

/** Who has claimed deliveries; a claim that is not renewed in time falls to whoever comes next. */
export interface Claimant {
  owner: string
  leaseMs: number
}

/** A claimed delivery: what is written of it names owner and attempt, so that whoever lost it writes nothing (fencing). */
export type ClaimedDelivery = Pick<
  WebhookDeliveryRow,
  'id' | 'webhook_id' | 'execution_id' | 'attempts' | 'round_attempts'
> & {
  /** Null: a large one, which is read when it is sent. */
  payload: string | null
  variables: string | null
}

/** Payloads larger than this, with their variables and in characters, do not lie in memory while they wait for a place. */
const SMALL_CONTENT = 16 * 1024

/** Whether anything is due: the cheap question. What is being sent right now counts as due. */
export async function hasDue(queries: Queries): Promise<boolean> {
  const row = await queries
    .selectFrom('webhook_deliveries')
    .select('id')
    .where(PENDING)
    .where('next_attempt_at', '<=', Date.now())
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The webhooks that have something due. It goes from webhook to webhook through the index, so its cost does not grow with what one
 * of them has waiting.
 */
export async function listDueWebhooks(queries: Queries): Promise<string[]> {
  const first = sql`select min(webhook_id) from webhook_deliveries where ${PENDING}`
  const { rows } = await sql<{ id: string }>`
    with recursive waiting (id) as (
      ${first}
      union all
      select (${first} and webhook_id > waiting.id) from waiting where waiting.id is not null
    )
    select id from waiting where id is not null and ${Date.now()} >=
      (select min(next_attempt_at) from webhook_deliveries where ${PENDING} and webhook_id = waiting.id)
  `.execute(queries)
  return rows.map(({ id }) => id)
}

/** Claims the oldest due deliveries of a webhook that nobody has, and counts an attempt for each. */
export async function claimDeliveries(
  queries: Queries,
  webhookId: string,
  { owner, leaseMs }: Claimant,
  { limit, firstWaitMs }: { limit: number; firstWaitMs: number },
): Promise<ClaimedDelivery[]> {
  const now = Date.now()
  return queries
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({
      lease_owner: owner,
      lease_until: now + leaseMs,
      attempts: eb('attempts', '+', 1),
      round_attempts: eb('round_attempts', '+', 1),
    }))
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('webhook_deliveries')
        .select('id')
        .where(dueOf(webhookId, now))
        .where(({ eb, or }) => or([eb('round_attempts', '>', 0), eb('next_attempt_at', '<=', now - firstWaitMs)]))
        .orderBy('next_attempt_at')
        .limit(limit),
    )
    .returning(['id', 'webhook_id', 'execution_id', 'attempts', 'round_attempts'])
    .returning([ifSmall('payload'), ifSmall('variables')])
    .execute()
}

function ifSmall<Column extends 'payload' | 'variables'>(column: Column) {
  const length = sql`length(payload) + length(variables)`
  return sql<string | null>`case when ${length} <= ${SMALL_CONTENT} then ${sql.ref(column)} end`.as(column)
}

/** The payload and variables of a delivery, or null where it was deleted. */
export async function readContent(
  queries: Queries,
  { id, payload, variables }: ClaimedDelivery,
): Promise<{ payload: string; variables: string } | null> {
  if (payload !== null && variables !== null) return { payload, variables }
  const row = await queries
    .selectFrom('webhook_deliveries')
    .select(['payload', 'variables'])
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Ends the oldest due deliveries of a webhook that nothing is sent to. Returns how many. */
export async function failDue(
  queries: Queries,
  webhookId: string,
  { error, limit }: { error: string; limit: number },
): Promise<number> {
  const now = Date.now()
  const at = new Date(now).toISOString()
  const ended = await queries
    .updateTable('webhook_deliveries')
    .set({ status: 'Failed', error, finished_at: at, next_attempt_at: null, lease_owner: null, lease_until: null })
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('webhook_deliveries')
        .select('id')
        .where(dueOf(webhookId, now))
        .orderBy('next_attempt_at')
        .limit(limit),
    )
    .returning('execution_id')
    .execute()
  for (const { execution_id } of ended)
    if (execution_id) await setExecution(queries, execution_id, { status: 'Failed', error, at })
  return ended.length
}

function dueOf(webhookId: string, now: number): RawBuilder<boolean> {
  return sql`webhook_id = ${webhookId} and ${PENDING} and next_attempt_at <= ${now}
    and (lease_until is null or lease_until < ${now})`
}

/** Keeps a claim. */
export async function renewClaim(
  queries: Queries,
  { id, attempts }: ClaimedDelivery,
  { owner, leaseMs }: Claimant,
): Promise<void> {
  await queries
    .updateTable('webhook_deliveries')
    .set({ lease_until: Date.now() + leaseMs })
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .where('attempts', '=', attempts)
    .execute()
}

/** Gives a claimed delivery back as if it had not been claimed. */
export async function releaseClaim(
  queries: Queries,
  { id, attempts }: ClaimedDelivery,
  { owner }: Claimant,
): Promise<void> {
  await queries
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({
      lease_owner: null,
      lease_until: null,
      attempts: eb('attempts', '-', 1),
      round_attempts: eb('round_attempts', '-', 1),
    }))
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .where('attempts', '=', attempts)
    .execute()
}

/** What an attempt made of its delivery: it ended, or is due again at a time in Unix milliseconds. */
export type Verdict = { status: 'Finished' | 'Failed' } | { status: 'Pending'; nextAttemptAt: number }

/**
 * Writes an attempt, what it made of the delivery, and the status of the execution. Returns false, with nothing written, where the
 * claim was lost or the delivery deleted.
 */
export async function writeAttempt(
  queries: Queries,
  delivery: ClaimedDelivery,
  { owner }: Claimant,
  attempt: Omit<WebhookAttemptRow, 'id' | 'delivery_id' | 'number'>,
  verdict: Verdict,
): Promise<boolean> {
  const { error, response_status } = attempt
  const at = new Date().toISOString()
  const isOver = verdict.status !== 'Pending'
  const held = await queries
    .updateTable('webhook_deliveries')
    .set({
      status: verdict.status,
      next_attempt_at: verdict.status === 'Pending' ? verdict.nextAttemptAt : null,
      lease_owner: null,
      lease_until: null,
      error,
      response_status,
      finished_at: isOver ? at : null,
    })
    .where('id', '=', delivery.id)
    .where('lease_owner', '=', owner)
    .where('attempts', '=', delivery.attempts)
    .returning('id')
    .executeTakeFirst()
  if (!held) return false
  await queries
    .insertInto('webhook_attempts')
    .values({ ...attempt, id: uuid(), delivery_id: delivery.id, number: delivery.attempts })
    .execute()
  if (isOver && delivery.execution_id)
    await setExecution(queries, delivery.execution_id, { status: verdict.status, error, at })
  return true
}
