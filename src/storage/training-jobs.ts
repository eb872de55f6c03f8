import { type SqlBool, sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Database, Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { EventType, JobStatus, TrainingEventRow, TrainingJobRow } from './tables.ts'

export type NewJob = Pick<
  TrainingJobRow,
  'entity' | 'model_id' | 'type' | 'config' | 'input' | 'input_sha256' | 'input_version_id' | 'created_by'
>

/** Said in literals: the database takes the indexes of unfinished jobs only where it can tell that no others are asked for. */
export const UNFINISHED = sql<SqlBool>`status in ('QUEUED', 'RUNNING')`

/** How long an idempotency key is remembered. */
const IDEMPOTENCY_HOURS = 24

export interface Idempotency {
  team: string
  operation: string
  key: string
  bodyHash: string
}

/** What became of a creation: made, found by its key or twin, or refused. */
export type Creation = { job: TrainingJobRow } | { refused: 'key-reused' | 'queue-full' }

/**
 * Inserts a job, which enqueues it: the row is the queue. One transaction decides idempotency, the twin of an SFT job
 * (same model, data version and config, unfinished) and the team's queue bound. `confirm` throws where what a new job refers to is gone.
 */
export async function insertJob(
  database: Database,
  job: NewJob,
  {
    idempotency,
    queueLength,
    confirm,
  }: { idempotency: Idempotency | null; queueLength: number; confirm(queries: Queries): Promise<void> },
): Promise<Creation> {
  return database.transaction().execute(async transaction => {
    if (idempotency) {
      const seen = await findIdempotent(transaction, idempotency)
      if (seen) return seen.bodyHash === idempotency.bodyHash ? { job: seen.job } : { refused: 'key-reused' }
    }
    const twin = job.type === 'sft' ? await findTwin(transaction, job) : null
    if (!twin && (await countUnfinished(transaction, job.entity)) >= queueLength) return { refused: 'queue-full' }
    if (!twin) await confirm(transaction)
    const row = twin ?? (await insertRow(transaction, job))
    if (idempotency) await rememberKey(transaction, idempotency, row.id)
    return { job: row }
  })
}

async function insertRow(queries: Queries, job: NewJob): Promise<TrainingJobRow> {
  const row: TrainingJobRow = {
    ...job,
    id: uuid(),
    status: 'QUEUED',
    attempt: 0,
    lease_owner: null,
    lease_until: null,
    lost_leases: 0,
    training_start: null,
    training_end: null,
    error_message: null,
    created_at: new Date().toISOString(),
  }
  await queries.insertInto('training_jobs').values(row).execute()
  return row
}

async function findTwin(queries: Queries, job: NewJob): Promise<TrainingJobRow | null> {
  const row = await queries
    .selectFrom('training_jobs')
    .selectAll()
    .where('model_id', '=', job.model_id)
    .where('input_version_id', '=', job.input_version_id)
    .where('config', '=', job.config)
    .where(UNFINISHED)
    .executeTakeFirst()
  return row ?? null
}

async function countUnfinished(queries: Queries, entity: string): Promise<number> {
  const { count } = await queries
    .selectFrom('training_jobs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('entity', '=', entity)
    .where(UNFINISHED)
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function findIdempotent(queries: Queries, { team, operation, key }: Idempotency) {
  const oldest = new Date(Date.now() - IDEMPOTENCY_HOURS * 3_600_000).toISOString()
  await queries.deleteFrom('idempotency_keys').where('team', '=', team).where('created_at', '<', oldest).execute()
  const row = await queries
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('team', '=', team)
    .where('operation', '=', operation)
    .where('key', '=', key)
    .executeTakeFirst()
  if (!row) return null
  const job = await queries
    .selectFrom('training_jobs')
    .selectAll()
    .where('id', '=', row.job_id)
    .executeTakeFirstOrThrow()
  return { bodyHash: row.body_hash, job }
}

async function rememberKey(
  queries: Queries,
  { team, operation, key, bodyHash }: Idempotency,
  jobId: string,
): Promise<void> {
  const row = { team, operation, key, body_hash: bodyHash, job_id: jobId, created_at: new Date().toISOString() }
  await queries.insertInto('idempotency_keys').values(row).execute()
}

export async function findJob(queries: Queries, id: string): Promise<TrainingJobRow | null> {
  return (
    (await queries.selectFrom('training_jobs').selectAll().where('id', '=', id.toLowerCase()).executeTakeFirst()) ??
    null
  )
}

export function listJobRows<Item extends { id: string }>(
  queries: Queries,
  teams: string[],
  filter: { model_id?: string; status?: JobStatus },
  page: PageQuery,
  toItem: (row: TrainingJobRow) => Item,
): Promise<Page<Item>> {
  let select = queries.selectFrom('training_jobs').selectAll().where('entity', 'in', teams)
  if (filter.model_id) select = select.where('model_id', '=', filter.model_id.toLowerCase())
  if (filter.status) select = select.where('status', '=', filter.status)
  return selectPage(select, 'id', page, toItem)
}

export function listEventRows<Item extends { id: string }>(
  queries: Queries,
  jobId: string,
  page: PageQuery,
  toItem: (row: TrainingEventRow) => Item,
): Promise<Page<Item>> {
  return selectPage(queries.selectFrom('training_events').selectAll().where('job_id', '=', jobId), 'id', page, toItem)
}

/** Cancels a job that has not ended; a worker that runs it has lost its lease by that and stops. Returns the job as it is then. */
export async function cancelJob(database: Database, id: string): Promise<TrainingJobRow> {
  return database.transaction().execute(async transaction => {
    const select = transaction.selectFrom('training_jobs').selectAll().where('id', '=', id)
    const job = await select.executeTakeFirstOrThrow()
    if (job.status !== 'QUEUED' && job.status !== 'RUNNING') return job
    await endJob(transaction, job, 'CANCELLED', { error_message: 'cancelled' })
    return select.executeTakeFirstOrThrow()
  })
}

/** Writes a job's end state and its terminal event; its input is not kept, so a spooled one's content wants freeing. Call inside a transaction, under the lease where there is one. */
export async function endJob(
  queries: Queries,
  job: Pick<TrainingJobRow, 'id'>,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
  data: { error_message?: string },
): Promise<void> {
  const training_end = new Date().toISOString()
  await queries
    .updateTable('training_jobs')
    .set({
      status,
      training_end,
      error_message: data.error_message ?? null,
      lease_owner: null,
      lease_until: null,
      input: null,
      input_sha256: null,
    })
    .where('id', '=', job.id)
    .execute()
  await appendEvent(queries, job.id, status === 'COMPLETED' ? 'training_ended' : 'training_failed', data)
}

/** Appends the next event of a job. */
export async function appendEvent(queries: Queries, jobId: string, type: EventType, data: object): Promise<void> {
  await insertEvent(queries, jobId, await countEvents(queries, jobId), type, data)
}

export async function insertEvent(
  queries: Queries,
  job_id: string,
  number: number,
  type: EventType,
  data: object,
): Promise<void> {
  const row = { id: uuid(), job_id, number, type, data: JSON.stringify(data), created_at: new Date().toISOString() }
  await queries.insertInto('training_events').values(row).execute()
}

export async function countEvents(queries: Queries, jobId: string): Promise<number> {
  const { count } = await queries
    .selectFrom('training_events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('job_id', '=', jobId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
