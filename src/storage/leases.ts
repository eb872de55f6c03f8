import { sql } from 'kysely'
import type { Database, Queries } from './database.ts'
import type { TrainingJobRow } from './tables.ts'
import { UNFINISHED } from './training-jobs.ts'

/** A claimed job: every write that follows names the attempt, so a worker that lost its lease cannot write (fencing). */
export interface Lease {
  jobId: string
  owner: string
  attempt: number
}

/** The lease was lost: another worker has the job now, so this one must stop and write nothing. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError' as const
}

/**
 * Claims the oldest job that is queued, or running under a lease that ran out; jobs of one model run one after the other.
 * Returns null when there is nothing to do.
 */
export async function claimJob(
  database: Database,
  owner: string,
  leaseMs: number,
): Promise<{ job: TrainingJobRow; lease: Lease } | null> {
  return database.transaction().execute(async transaction => {
    const now = Date.now()
    const claimable = await transaction
      .selectFrom('training_jobs')
      .selectAll()
      .where('id', 'in', ({ selectFrom, fn }) =>
        selectFrom('training_jobs').select(fn.min<string>('id').as('id')).where(UNFINISHED).groupBy('model_id'),
      )
      .where(({ eb, or, and }) =>
        or([eb('status', '=', 'QUEUED'), and([eb('status', '=', 'RUNNING'), eb('lease_until', '<', now)])]),
      )
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!claimable) return null
    const attempt = claimable.attempt + 1
    const job = await transaction
      .updateTable('training_jobs')
      .set({
        status: 'RUNNING',
        attempt,
        lost_leases: claimable.lost_leases + (claimable.lease_owner === null ? 0 : 1),
        lease_owner: owner,
        lease_until: now + leaseMs,
        training_start: claimable.training_start ?? new Date(now).toISOString(),
      })
      .where('id', '=', claimable.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    return { job, lease: { jobId: job.id, owner, attempt } }
  })
}

/** Extends a lease. Throws LeaseLostError when it is another's, or the job was cancelled or deleted. */
export async function heartbeat(database: Database, lease: Lease, leaseMs: number): Promise<void> {
  const row = await database
    .updateTable('training_jobs')
    .set({ lease_until: Date.now() + leaseMs })
    .where('id', '=', lease.jobId)
    .where('lease_owner', '=', lease.owner)
    .where('attempt', '=', lease.attempt)
    .returning('id')
    .executeTakeFirst()
  if (!row) throw new LeaseLostError(`The lease of job ${lease.jobId}, attempt ${lease.attempt}, was lost`)
}

/** Runs writes in one transaction that only a lease's holder may commit. Throws LeaseLostError, with nothing written, for anyone else. */
export async function underLease<Result>(
  database: Database,
  lease: Lease,
  write: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  return database.transaction().execute(async transaction => {
    const held = await transaction
      .selectFrom('training_jobs')
      .select(sql<number>`1`.as('held'))
      .where('id', '=', lease.jobId)
      .where('lease_owner', '=', lease.owner)
      .where('attempt', '=', lease.attempt)
      .executeTakeFirst()
    if (!held) throw new LeaseLostError(`The lease of job ${lease.jobId}, attempt ${lease.attempt}, was lost`)
    return write(transaction)
  })
}

/** Gives a job up for another worker to run, as at shutdown. Its status never goes back to QUEUED. */
export async function releaseJob(database: Database, lease: Lease): Promise<void> {
  await underLease(database, lease, queries =>
    queries
      .updateTable('training_jobs')
      .set({ lease_owner: null, lease_until: 0 })
      .where('id', '=', lease.jobId)
      .execute(),
  )
}
