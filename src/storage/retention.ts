/** Deletes rows past their time, a batch in each transaction, so that nobody waits for long. Each gives how many it deleted: 0 at the end. */
import type { Database } from './database.ts'

/** Rows deleted in one transaction. */
const BATCH_ROWS = 500

/** Logs of trajectories, with the contents that they referred to. */
export async function deleteOldLogs(database: Database, before: Date): Promise<{ count: number; contents: string[] }> {
  const rows = await database
    .deleteFrom('trajectory_logs')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('trajectory_logs').select('id').where('id', '<', toFirstId(before)).orderBy('id').limit(BATCH_ROWS),
    )
    .returning('input_sha256')
    .execute()
  return { count: rows.length, contents: rows.flatMap(row => row.input_sha256 ?? []) }
}

/** Deliveries that ended, with their attempts. */
export function deleteOldDeliveries(database: Database, before: Date): Promise<number> {
  return deleteEnded(database, 'webhook_deliveries', before)
}

/** Executions of automations that ended. */
export function deleteOldExecutions(database: Database, before: Date): Promise<number> {
  return deleteEnded(database, 'automation_executions', before)
}

async function deleteEnded(
  database: Database,
  table: 'webhook_deliveries' | 'automation_executions',
  before: Date,
): Promise<number> {
  const rows = await database
    .deleteFrom(table)
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom(table)
        .select('id')
        .where('id', '<', toFirstId(before))
        .where('finished_at', '<', before.toISOString())
        .orderBy('id')
        .limit(BATCH_ROWS),
    )
    .returning('id')
    .execute()
  return rows.length
}

/** Events of training jobs that ended. */
export async function deleteOldEvents(database: Database, before: Date): Promise<number> {
  const rows = await database
    .deleteFrom('training_events')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('training_events')
        .innerJoin('training_jobs', 'training_jobs.id', 'training_events.job_id')
        .select('training_events.id')
        .where('training_events.id', '<', toFirstId(before))
        .where('training_jobs.status', 'in', ['COMPLETED', 'FAILED', 'CANCELLED'])
        .where('training_jobs.training_end', '<', before.toISOString())
        .orderBy('training_events.id')
        .limit(BATCH_ROWS),
    )
    .returning('id')
    .execute()
  return rows.length
}

/** Before every id that is made at that time or later: the first 48 bits of an id are the milliseconds at which it was made. */
function toFirstId(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
