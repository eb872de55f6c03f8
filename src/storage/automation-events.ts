/** What an event asks of the database: who watches, what happened to what, and what came of it. */
import { type Expression, sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { toChunks } from './statement-rows.ts'
import type { AutomationEventType, AutomationExecutionRow, AutomationRow, WatchedScopeRow } from './tables.ts'

/** A watched scope that an event falls into; `collection` is the one of the registry that holds the version. */
export interface ScopeOfEvent extends WatchedScopeRow {
  collection: string | null
}

/** Scopes that watch a version's aliases (its project, and the registries it is linked into) or its tags (these registries only). */
export async function selectScopesOfVersion(
  queries: Queries,
  versionId: string,
  eventType: 'ADD_ARTIFACT_ALIAS' | 'ADD_ARTIFACT_TAG',
): Promise<ScopeOfEvent[]> {
  const ofRegistries = watchedScopes(queries, eventType)
    .innerJoin('registry_links', join =>
      join
        .onRef('registry_links.entity', '=', 'watched_scopes.entity')
        .onRef('registry_links.registry', '=', 'watched_scopes.scope_name'),
    )
    .where('scope_type', '=', 'registry')
    .where('registry_links.version_id', '=', versionId)
    .select(({ ref }) => [
      nullable(ref('registry_links.id')).as('link_id'),
      nullable(ref('collection')).as('collection'),
    ])
  const ofProject = watchedScopes(queries, eventType)
    .innerJoin('collections', join =>
      join
        .onRef('collections.entity', '=', 'watched_scopes.entity')
        .onRef('collections.project', '=', 'watched_scopes.scope_name'),
    )
    .innerJoin('artifact_versions', 'artifact_versions.collection_id', 'collections.id')
    .where('scope_type', '=', 'project')
    .where('artifact_versions.id', '=', versionId)
    .select([nullable(sql.lit(null)).as('link_id'), nullable(sql.lit(null)).as('collection')])
  const rows = await ofRegistries.unionAll(ofProject).execute()
  // A version that a registry holds twice is one event for it; the first link names the collection.
  const byScope = new Map<string, ScopeOfEvent>()
  for (const { link_id: _, ...scope } of rows.sort((a, b) => ((a.link_id ?? '') < (b.link_id ?? '') ? -1 : 1))) {
    const key = JSON.stringify([scope.entity, scope.scope_type, scope.scope_name])
    if (!byScope.has(key)) byScope.set(key, scope)
  }
  return [...byScope.values()]
}

/** The watched scope of links into a registry. */
export async function selectScopeOfLink(
  queries: Queries,
  { entity, registry, collection }: { entity: string; registry: string; collection: string },
): Promise<ScopeOfEvent[]> {
  const rows = await watchedScopes(queries, 'LINK_ARTIFACT')
    .where('watched_scopes.entity', '=', entity)
    .where('scope_type', '=', 'registry')
    .where('scope_name', '=', registry)
    .execute()
  return rows.map(row => ({ ...row, collection }))
}

export interface RunOfEvent {
  id: string
  entity: string
  project: string
  name: string
  /** Who created it. */
  user: string
}

/** The watched scope of a run's metrics, with the run. */
export async function selectScopeOfRun(
  queries: Queries,
  runId: string,
): Promise<{ scope: ScopeOfEvent; run: RunOfEvent } | null> {
  const row = await watchedScopes(queries, 'RUN_METRIC')
    .innerJoin('models', join =>
      join
        .onRef('models.entity', '=', 'watched_scopes.entity')
        .onRef('models.project', '=', 'watched_scopes.scope_name'),
    )
    .where('scope_type', '=', 'project')
    .select(['models.project', 'models.name', 'models.created_by'])
    .where('models.run_id', '=', runId)
    .executeTakeFirst()
  if (!row) return null
  const { project, name, created_by, ...scope } = row
  return {
    scope: { ...scope, collection: null },
    run: { id: runId, entity: scope.entity, project, name, user: created_by },
  }
}

/** The enabled automations of a scope, with what they watch for. */
export function selectWatches(queries: Queries, { entity, scope_type, scope_name, event_type }: WatchedScopeRow) {
  return queries
    .selectFrom('automations')
    .select(['id', 'alias_regex', 'metric', 'operator', 'threshold', 'filter_user', 'filter_run_name_regex'])
    .where(where => where.and({ entity, scope_type, scope_name, event_type }))
    .where('enabled', '=', sql.lit(1))
    .execute()
}

export type FiringAutomation = Pick<AutomationRow, 'id' | 'webhook_id' | 'payload' | 'metric' | 'threshold'> & {
  disabled_at: string | null
  disabled_reason: string | null
}

/** Automations by id, oldest first, with the state of their webhooks. */
export async function selectFiring(queries: Queries, ids: readonly string[]): Promise<FiringAutomation[]> {
  const found: FiringAutomation[] = []
  for (const some of toChunks([...ids].sort())) {
    found.push(
      ...(await queries
        .selectFrom('automations')
        .innerJoin('webhooks', 'webhooks.id', 'automations.webhook_id')
        .select([
          'automations.id',
          'automations.webhook_id',
          'automations.payload',
          'automations.metric',
          'automations.threshold',
          'webhooks.disabled_at',
          'webhooks.disabled_reason',
        ])
        .where('automations.id', 'in', some)
        .orderBy('automations.id')
        .execute()),
    )
  }
  return found
}

/** Those of the automations that fired for the run since then. */
export async function selectFiredForRun(
  queries: Queries,
  ids: readonly string[],
  runId: string,
  since: string,
): Promise<Set<string>> {
  const fired = new Set<string>()
  for (const some of toChunks(ids)) {
    const rows = await queries
      .selectFrom('automation_executions')
      .select('automation_id')
      .distinct()
      .where('automation_id', 'in', some)
      .where('run_id', '=', runId)
      .where('created_at', '>', since)
      .execute()
    for (const { automation_id } of rows) fired.add(automation_id)
  }
  return fired
}

export async function insertExecution(
  queries: Queries,
  execution: Omit<AutomationExecutionRow, 'id' | 'created_at' | 'finished_at'>,
): Promise<string> {
  const id = uuid()
  const created_at = new Date().toISOString()
  const finished_at = execution.status === 'Pending' ? null : created_at
  await queries
    .insertInto('automation_executions')
    .values({ id, created_at, finished_at, ...execution })
    .execute()
  return id
}

/** Scopes with an enabled automation for this type of event, in teams whose plan has automations. */
function watchedScopes(queries: Queries, eventType: AutomationEventType) {
  return queries
    .selectFrom('watched_scopes')
    .innerJoin('teams', 'teams.name', 'watched_scopes.entity')
    .where('teams.plan', '=', 'paid')
    .where('event_type', '=', eventType)
    .selectAll('watched_scopes')
}

/** Both parts of a union must have columns of the same type. */
function nullable(value: Expression<string | null>) {
  return sql<string | null>`${value}`
}
