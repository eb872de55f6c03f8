import type { components } from '../../generated/schema.d.ts'
import { requireMember, requireOwn, requireScopeAdmin } from '../auth.ts'
import { checkPayload } from '../automations/payload.ts'
import { toScope, toWatch } from '../automations/rules.ts'
import { listSecretNames } from '../automations/variables.ts'
import { notFound } from '../errors.ts'
import { requirePaidPlan } from '../plan.ts'
import type { Handler } from '../spec/handler.ts'
import {
  deleteAutomationRow,
  type ExecutionWithDelivery,
  findAutomation,
  insertAutomation,
  listAutomationRows,
  listExecutionRows,
  type NewAutomation,
  updateAutomationRow,
} from '../storage/automations.ts'
import type { Queries } from '../storage/database.ts'
import type { Principal } from '../storage/keys.ts'
import type { AutomationRow } from '../storage/tables.ts'
import { findWebhook } from '../storage/webhooks.ts'

type Scope = Pick<AutomationRow, 'entity' | 'scope_type' | 'scope_name'>

export const createAutomation: Handler<'createAutomation'> = async ({ body }, { database, principal }) => {
  const scope = toScope(body.scope)
  const row = await database.transaction().execute(async transaction => {
    await requireAutomationAdmin(transaction, principal, scope)
    const watch = toWatch(scope.scope_type, body.event, body.filter)
    const { payload = {} } = body
    await requireSendable(transaction, scope.entity, body.webhook_id, payload)
    return insertAutomation(transaction, {
      ...scope,
      ...watch,
      name: body.name,
      description: body.description ?? null,
      enabled: body.enabled ? 1 : 0,
      webhook_id: body.webhook_id.toLowerCase(),
      payload: JSON.stringify(payload),
      created_by: principal.user,
    })
  })
  return { status: 200, body: toAutomation(row) }
}

export const listAutomations: Handler<'listAutomations'> = async ({ query }, { database, principal }) => {
  const { entity, project, registry, ...page } = query
  if (entity !== undefined) {
    requireMember(principal, entity)
    await requirePaidPlan(database, entity)
  }
  const teams = entity === undefined ? [...principal.teams.keys()] : [entity]
  return { status: 200, body: await listAutomationRows(database, { teams, project, registry }, page, toAutomation) }
}

export const getAutomation: Handler<'getAutomation'> = async ({ path }, { database, principal }) => ({
  status: 200,
  body: toAutomation(await requireAutomation(database, principal, path.automation_id)),
})

export const updateAutomation: Handler<'updateAutomation'> = async ({ path, body }, { database, principal }) => {
  const row = await database.transaction().execute(async transaction => {
    const before = await requireAutomation(transaction, principal, path.automation_id)
    await requireAutomationAdmin(transaction, principal, before)
    const changes = toChanges(before, body)
    const after = { ...before, ...changes }
    if (body.scope) await requireAutomationAdmin(transaction, principal, after)
    // What a webhook's owner took away since must not keep an automation from being renamed or disabled.
    if (body.scope || body.webhook_id || body.payload)
      await requireSendable(transaction, after.entity, after.webhook_id, JSON.parse(after.payload))
    return updateAutomationRow(transaction, before, changes)
  })
  return { status: 200, body: toAutomation(row) }
}

export const deleteAutomation: Handler<'deleteAutomation'> = async ({ path }, { database, principal }) => {
  const { id } = await database.transaction().execute(async transaction => {
    const row = await requireAutomation(transaction, principal, path.automation_id)
    await requireAutomationAdmin(transaction, principal, row)
    await deleteAutomationRow(transaction, row)
    return row
  })
  return { status: 200, body: { id, deleted: true } }
}

export const listAutomationExecutions: Handler<'listAutomationExecutions'> = async (
  { path, query },
  { database, principal },
) => {
  const { id } = await requireAutomation(database, principal, path.automation_id)
  return { status: 200, body: await listExecutionRows(database, id, query, toExecution) }
}

/** 404 unless it exists in a team of the caller, 403 where that team's plan has no automations. */
async function requireAutomation(queries: Queries, principal: Principal, id: string): Promise<AutomationRow> {
  const row = requireOwn(principal, await findAutomation(queries, id), `The automation ${id}`)
  await requirePaidPlan(queries, row.entity)
  return row
}

async function requireAutomationAdmin(queries: Queries, principal: Principal, scope: Scope): Promise<void> {
  requireScopeAdmin(principal, { kind: scope.scope_type, entity: scope.entity, name: scope.scope_name })
  await requirePaidPlan(queries, scope.entity)
}

/** 404 unless the webhook is one of the team, 422 unless the payload is one that it can send. */
async function requireSendable(queries: Queries, entity: string, webhookId: string, payload: unknown): Promise<void> {
  const webhook = await findWebhook(queries, { entity, id: webhookId })
  if (!webhook) throw notFound(`The webhook ${webhookId}`, 'not_found', 'webhook_id')
  checkPayload(payload, listSecretNames(webhook))
}

function toChanges(
  before: AutomationRow,
  body: components['schemas']['UpdateAutomationRequest'],
): Partial<NewAutomation> {
  const { name, description, enabled, webhook_id, payload } = body
  const scope = body.scope ? toScope(body.scope) : null
  const { event, filter } = toAutomation(before)
  const isWatchChanged = body.scope || body.event || body.filter !== undefined
  const watch = isWatchChanged
    ? toWatch(
        scope?.scope_type ?? before.scope_type,
        body.event ?? event,
        body.filter === undefined ? filter : body.filter,
      )
    : null
  return {
    ...scope,
    ...watch,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
    ...(webhook_id === undefined ? {} : { webhook_id: webhook_id.toLowerCase() }),
    ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
  }
}

function toAutomation(row: AutomationRow): components['schemas']['Automation'] {
  const {
    id,
    name,
    description,
    entity,
    scope_type: type,
    scope_name,
    webhook_id,
    created_by,
    created_at,
    updated_at,
  } = row
  const { filter_user: user, filter_run_name_regex: run_name_regex } = row
  const { event_type, alias_regex, metric, operator, threshold } = row
  return {
    id,
    name,
    description,
    enabled: row.enabled === 1,
    scope: {
      type,
      entity,
      project: type === 'project' ? scope_name : null,
      registry: type === 'registry' ? scope_name : null,
    },
    event: { type: event_type, alias_regex, metric, operator, threshold },
    filter: user === null && run_name_regex === null ? null : { user, run_name_regex },
    webhook_id,
    payload: JSON.parse(row.payload),
    created_by,
    created_at,
    updated_at,
  }
}

function toExecution(row: ExecutionWithDelivery): components['schemas']['AutomationExecution'] {
  const { id, automation_id, status, event, delivery_id, response_status, error, created_at, finished_at } = row
  return {
    id,
    automation_id,
    status,
    event: JSON.parse(event),
    delivery_id,
    response_status,
    error,
    created_at,
    finished_at,
  }
}
