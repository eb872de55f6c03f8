import type { components } from '../../generated/schema.d.ts'
import { requireMember, requireOwn } from '../auth.ts'
import type { Handler } from '../spec/handler.ts'
import { findRun, listRunRows, readRunMetrics } from '../storage/runs.ts'
import type { ModelRow } from '../storage/tables.ts'

/** Most series in one reply; `last_name` leads on to the others. */
const MAX_SERIES = 100
/** Points of each series unless the query says how many. */
const DEFAULT_POINTS = 500

export const listRuns: Handler<'listRuns'> = async ({ query }, { database, principal }) => {
  const { entity, project } = query
  if (entity !== undefined) requireMember(principal, entity)
  const teams = entity === undefined ? [...principal.teams.keys()] : [entity]
  return { status: 200, body: await listRunRows(database, { teams, project }, query, toRun) }
}

export const getRunMetrics: Handler<'getRunMetrics'> = async ({ path, query }, { database, principal }) => {
  const run = requireOwn(principal, await findRun(database, path.run_id), `The run ${path.run_id}`)
  const { name, after_name: afterName, points = DEFAULT_POINTS } = query
  const read = await readRunMetrics(database, run.run_id, { name, afterName, limit: MAX_SERIES, points })
  return {
    status: 200,
    body: {
      run_id: run.run_id,
      metrics: Object.fromEntries(read.series.map(series => [series.name, series.points])),
      num_points: Object.fromEntries(read.series.map(series => [series.name, series.count])),
      last_name: read.series.at(-1)?.name ?? '',
      has_more: read.hasMore,
    },
  }
}

function toRun(row: ModelRow): components['schemas']['Run'] {
  const { run_id, entity, project, name, created_by, id: model_id, created_at } = row
  return { id: run_id, entity, project, name, user: created_by, model_id, created_at }
}
