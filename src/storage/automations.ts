import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { AutomationExecutionRow, AutomationRow, WatchedScopeRow } from './tables.ts'

export type NewAutomation = Omit<AutomationRow, 'id' | 'created_at' | 'updated_at'>

/** A scope and the one type of event in it. */
type Place = Omit<WatchedScopeRow, 'stamp'>

export interface AutomationFilter {
  teams: string[]
  project?: string | undefined
  registry?: string | undefined
}

/** Call inside a transaction, as the other two that write. */
export async function insertAutomation(queries: Queries, automation: NewAutomation): Promise<AutomationRow> {
  const now = new Date().toISOString()
  const row = { id: uuid(), ...automation, created_at: now, updated_at: now }
  await queries.insertInto('automations').values(row).execute()
  await stampScope(queries, row)
  return row
}

export async function updateAutomationRow(
  queries: Queries,
  before: AutomationRow,
  changes: Partial<NewAutomation>,
): Promise<AutomationRow> {
  const row = { ...before, ...changes, updated_at: new Date().toISOString() }
  await queries.updateTable('automations').set(row).where('id', '=', before.id).execute()
  await stampScope(queries, before)
  await stampScope(queries, row)
  return row
}

export async function deleteAutomationRow(queries: Queries, automation: AutomationRow): Promise<void> {
  await queries.deleteFrom('automations').where('id', '=', automation.id).execute()
  await stampScope(queries, automation)
}

export async function findAutomation(queries: Queries, id: string): Promise<AutomationRow | null> {
  const row = await queries.selectFrom('automations').selectAll().where('id', '=', id.toLowerCase()).executeTakeFirst()
  return row ?? null
}

/** Teams whose plan has no automations show none. */
export function listAutomationRows<Item extends { id: string }>(
  queries: Queries,
  { teams, project, registry }: AutomationFilter,
  page: PageQuery,
  toItem: (row: AutomationRow) => Item,
): Promise<Page<Item>> {
  let select = queries
    .selectFrom('automations')
    .selectAll()
    .where('entity', 'in', from =>
      from.selectFrom('teams').select('name').where('name', 'in', teams).where('plan', '=', 'paid'),
    )
  if (project !== undefined) select = select.where('scope_type', '=', 'project').where('scope_name', '=', project)
  if (registry !== undefined) select = select.where('scope_type', '=', 'registry').where('scope_name', '=', registry)
  return selectPage(select, 'id', page, toItem)
}

/** An execution with what became of its delivery. */
export type ExecutionWithDelivery = AutomationExecutionRow & {
  delivery_id: string | null
  response_status: number | null
}

export function listExecutionRows<Item extends { id: string }>(
  queries: Queries,
  automationId: string,
  page: PageQuery,
  toItem: (row: ExecutionWithDelivery) => Item,
): Promise<Page<Item>> {
  const select = queries
    .selectFrom('automation_executions')
    .leftJoin('webhook_deliveries', 'webhook_deliveries.execution_id', 'automation_executions.id')
    .selectAll('automation_executions')
    .select(['webhook_deliveries.id as delivery_id', 'webhook_deliveries.response_status'])
    .where('automation_executions.automation_id', '=', automationId)
  return selectPage(select, 'automation_executions.id', page, toItem)
}

async function stampScope(queries: Queries, { entity, scope_type, scope_name, event_type }: Place): Promise<void> {
  const place = { entity, scope_type, scope_name, event_type }
  const one = await queries
    .selectFrom('automations')
    .select('id')
    .where(where => where.and(place))
    .where('enabled', '=', sql.lit(1))
    .limit(1)
    .executeTakeFirst()
  if (!one) {
    await queries
      .deleteFrom('watched_scopes')
      .where(where => where.and(place))
      .execute()
    return
  }
  const stamp = uuid()
  await queries
    .insertInto('watched_scopes')
    .values({ ...place, stamp })
    .onConflict(conflict =>
      conflict.columns(['entity', 'scope_type', 'scope_name', 'event_type']).doUpdateSet({ stamp }),
    )
    .execute()
}
