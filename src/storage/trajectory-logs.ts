import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { DEFAULT_LIMIT, type PageQuery } from './page.ts'
import type { TrajectoryLogRow } from './tables.ts'

/** Keeps one call's trajectories: its body as text, or a trajectory file in the artifact store. */
export async function addTrajectoryLog(
  queries: Queries,
  log: Omit<TrajectoryLogRow, 'id' | 'created_at'>,
): Promise<void> {
  await queries
    .insertInto('trajectory_logs')
    .values({ id: uuid(), created_at: new Date().toISOString(), ...log })
    .execute()
}

export type ListedLog = Omit<TrajectoryLogRow, 'input'>

/** Consecutive trajectories of one log, by their numbers from 0, both included. */
export interface LogPart {
  log: ListedLog
  first: number
  last: number
}

/**
 * A trajectory has no row: its id is that of its log, the last 8 digits of which give way to the trajectory's number. So ids are in the
 * order in which trajectories were logged, and a cursor tells where to go on. Those digits of a log's id are random and no part of what
 * makes it differ from the others.
 */
const NUMBER_DIGITS = 8
const LOG_DIGITS = 36 - NUMBER_DIGITS

export function toTrajectoryId(logId: string, number: number): string {
  return logId.slice(0, LOG_DIGITS) + number.toString(16).padStart(NUMBER_DIGITS, '0')
}

/** The logs that hold a page of a model's trajectories, with the parts of them that belong to it, and whether more follow. */
export async function listLogParts(
  queries: Queries,
  modelId: string,
  { after, limit = DEFAULT_LIMIT, order = 'asc', split }: PageQuery & { split?: string | undefined },
): Promise<{ parts: LogPart[]; hasMore: boolean }> {
  const forwards = order === 'asc'
  const cursor = after?.toLowerCase().padEnd(LOG_DIGITS + NUMBER_DIGITS, '0')
  let select = queries
    .selectFrom('trajectory_logs')
    .select(['id', 'model_id', 'split', 'step', 'num_trajectories', 'input_sha256', 'file_size', 'created_at'])
    .where('model_id', '=', modelId)
    .where('num_trajectories', '>', 0)
  if (split !== undefined) select = select.where('split', '=', split)
  if (cursor !== undefined) {
    const log = cursor.slice(0, LOG_DIGITS)
    // The log of the cursor itself is among them: it may hold more.
    select = forwards ? select.where('id', '>=', log) : select.where('id', '<', `${log}g`)
  }
  // Each holds at least one trajectory, but the cursor's, which may be done with.
  const logs = await select
    .orderBy('id', order)
    .limit(limit + 2)
    .execute()
  const parts: LogPart[] = []
  let left = limit
  for (const log of logs) {
    const part = toPart(log, cursor, forwards)
    const count = part.last - part.first + 1
    if (count <= 0) continue
    if (left === 0) return { parts, hasMore: true }
    const taken = Math.min(count, left)
    left -= taken
    if (forwards) parts.push({ ...part, last: part.first + taken - 1 })
    else parts.push({ ...part, first: part.last - taken + 1 })
    if (taken < count) return { parts, hasMore: true }
  }
  return { parts, hasMore: false }
}

/** All of a log's trajectories that come after the cursor. */
function toPart(log: ListedLog, cursor: string | undefined, forwards: boolean): LogPart {
  const all = { log, first: 0, last: log.num_trajectories - 1 }
  if (cursor?.slice(0, LOG_DIGITS) !== log.id.slice(0, LOG_DIGITS)) return all
  const number = Number.parseInt(cursor.slice(LOG_DIGITS), 16) || 0
  return forwards ? { ...all, first: number + 1 } : { ...all, last: Math.min(all.last, number - 1) }
}

/** The body of a log that was kept as text. */
export async function readLogInput(queries: Queries, id: string): Promise<string | null> {
  const row = await queries.selectFrom('trajectory_logs').select('input').where('id', '=', id).executeTakeFirst()
  return row?.input ?? null
}
