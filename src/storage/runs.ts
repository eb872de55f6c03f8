import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { recordEvent } from '../automations/record-event.ts'
import type { Database, Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import { toChunks } from './statement-rows.ts'
import type { ModelRow } from './tables.ts'

/** A model's run: the model itself, as far as its metrics go. */
export type Run = Pick<ModelRow, 'run_id' | 'id'>

export interface RunFilter {
  teams: string[]
  project?: string | undefined
}

export function listRunRows<Item extends { id: string }>(
  queries: Queries,
  { teams, project }: RunFilter,
  page: PageQuery,
  toItem: (row: ModelRow) => Item,
): Promise<Page<Item>> {
  let select = queries.selectFrom('models').selectAll().where('entity', 'in', teams)
  if (project !== undefined) select = select.where('project', '=', project)
  return selectPage(select, 'run_id', page, toItem)
}

export async function findRun(queries: Queries, runId: string): Promise<ModelRow | null> {
  const row = await queries
    .selectFrom('models')
    .selectAll()
    .where('run_id', '=', runId.toLowerCase())
    .executeTakeFirst()
  return row ?? null
}

/**
 * Writes values of metrics at one step and records the event of it; numbers that JSON cannot hold are left out. Call inside the
 * transaction of what brought them.
 */
export async function addRunMetrics(
  queries: Queries,
  { run_id, id: model_id }: Run,
  { step, metrics, author }: { step: number; metrics: Record<string, number>; author: string },
): Promise<void> {
  const created_at = new Date().toISOString()
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value))
  if (finite.length === 0) return
  const rows = finite.map(([name, value]) => ({ id: uuid(), run_id, model_id, name, step, value, created_at }))
  for (const some of toChunks(rows)) await queries.insertInto('run_metrics').values(some).execute()
  await recordEvent(queries, { type: 'RUN_METRIC', author, runId: run_id, step, metrics: Object.fromEntries(finite) })
}

export interface MetricPoint {
  step: number
  value: number
  time: string
}

export interface MetricSeries {
  name: string
  /** Of all points, also of those that are left out. */
  count: number
  points: MetricPoint[]
}

export interface SeriesQuery {
  /** Only this one. */
  name?: string | undefined
  /** Only those whose names come after this one. */
  afterName?: string | undefined
  /** Most series to give. */
  limit: number
  /** Most points of one series: of more, the first, the newest, and evenly spaced ones between them. */
  points: number
}

/** Series of a run by name, in alphabetical order, and whether there are more. */
export async function readRunMetrics(
  database: Database,
  runId: string,
  { name, afterName, limit, points }: SeriesQuery,
): Promise<{ series: MetricSeries[]; hasMore: boolean }> {
  let select = database.selectFrom('run_metrics').where('run_id', '=', runId)
  if (name !== undefined) select = select.where('name', '=', name)
  if (afterName !== undefined) select = select.where('name', '>', afterName)
  const found = await select
    .select(({ fn }) => ['name' as const, fn.countAll<number>().as('count')])
    .groupBy('name')
    .orderBy('name')
    .limit(limit + 1)
    .execute()
  const series: MetricSeries[] = []
  for (const one of found.slice(0, limit)) {
    series.push({
      name: one.name,
      count: Number(one.count),
      points: await readPoints(database, runId, one.name, points),
    })
    // Thinning out reads the whole series: other requests get their turn in between.
    if (one.count > points) await nextTurn()
  }
  return { series, hasMore: found.length > limit }
}

async function readPoints(database: Database, runId: string, name: string, most: number): Promise<MetricPoint[]> {
  const kept = most - 1
  const { rows } = await sql<MetricPoint>`
    select step, value, created_at as time from run_metrics where id in (
      select id from (
        select id, row_number() over (order by id) as place, count(*) over () as total
        from run_metrics where run_id = ${runId} and name = ${name}
      ) as numbered
      where total <= ${most} or place = 1 or ((total - place) * ${kept}) % total < ${kept}
    ) order by id`.execute(database)
  return rows
}
