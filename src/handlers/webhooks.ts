import { v7 as uuid } from 'uuid'
import type { components } from '../../generated/schema.d.ts'
import { requireMember, requireTeamAdmin } from '../auth.ts'
import { CredentialsError, readCredentials, type WebhookCredentials } from '../automations/credentials.ts'
import { checkPayload, type JsonValue, PayloadError, renderPayload, showPayload } from '../automations/payload.ts'
import { sampleVariables } from '../automations/sample-event.ts'
import { listSecretNames } from '../automations/variables.ts'
import type { Settings } from '../config.ts'
import type { Context } from '../context.ts'
import { ApiError, invalid, invalidValue, notFound } from '../errors.ts'
import { requirePaidPlan } from '../plan.ts'
import type { Handler } from '../spec/handler.ts'
import type { Queries } from '../storage/database.ts'
import {
  type DeliveryWithAttempts,
  findDelivery,
  listDeliveryRows,
  redeliver,
  withAttempts,
} from '../storage/deliveries.ts'
import { findSecret } from '../storage/secrets.ts'
import type { WebhookAttemptRow, WebhookRow } from '../storage/tables.ts'
import {
  deleteWebhookRow,
  findWebhook,
  findWebhookByName,
  insertWebhook,
  listWebhookRows,
  updateWebhookRow,
  type WebhookChanges,
} from '../storage/webhooks.ts'

type Webhook = components['schemas']['Webhook']
type WebhookDelivery = components['schemas']['WebhookDelivery']

const SECRETS = ['access_token_secret', 'signing_secret'] as const
type SecretNames = { [Field in (typeof SECRETS)[number]]?: string | null }

export const createWebhook: Handler<'createWebhook'> = async ({ path: { entity }, body }, context) => {
  await requireAdmin(context, entity)
  requireEndpoint(context, body.endpoint_url)
  const { name, endpoint_url, access_token_secret = null, signing_secret = null } = body
  const webhook = {
    entity,
    name,
    endpoint_url,
    access_token_secret,
    signing_secret,
    created_by: context.principal.user,
  }
  const row = await context.database.transaction().execute(async transaction => {
    await requireFreeName(transaction, { entity, name })
    await requireSecrets(transaction, entity, webhook)
    return insertWebhook(transaction, webhook)
  })
  return { status: 200, body: toWebhook(row) }
}

export const listWebhooks: Handler<'listWebhooks'> = async ({ path, query }, context) => {
  await requireReader(context, path.entity)
  return { status: 200, body: await listWebhookRows(context.database, path.entity, query, toWebhook) }
}

export const getWebhook: Handler<'getWebhook'> = async ({ path }, context) => {
  await requireReader(context, path.entity)
  return { status: 200, body: toWebhook(await requireWebhook(context.database, path)) }
}

export const updateWebhook: Handler<'updateWebhook'> = async ({ path, body }, context) => {
  const { entity } = path
  await requireAdmin(context, entity)
  if (body.endpoint_url !== undefined) requireEndpoint(context, body.endpoint_url)
  const row = await context.database.transaction().execute(async transaction => {
    const current = await requireWebhook(transaction, path)
    if (body.endpoint_url !== undefined && body.endpoint_url !== current.endpoint_url) requireSecretsNamed(body)
    if (body.name !== undefined && body.name !== current.name)
      await requireFreeName(transaction, { entity, name: body.name })
    await requireSecrets(transaction, entity, body)
    const { enabled, name, endpoint_url, access_token_secret, signing_secret } = body
    const given = { name, endpoint_url, access_token_secret, signing_secret }
    const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    return updateWebhookRow(transaction, current.id, {
      ...changes,
      ...toStateChanges(current, enabled, context.principal.user),
    })
  })
  return { status: 200, body: toWebhook(row) }
}

export const deleteWebhook: Handler<'deleteWebhook'> = async ({ path }, context) => {
  await requireAdmin(context, path.entity)
  const body = await context.database.transaction().execute(async transaction => {
    const { id, name } = await requireWebhook(transaction, path)
    const deleted_deliveries = await deleteWebhookRow(transaction, id)
    if (deleted_deliveries === null)
      throw new ApiError(400, 'webhook_in_use', `An automation calls the webhook ${name}`)
    return { webhook_id: id, deleted_deliveries }
  })
  return { status: 200, body }
}

export const testWebhook: Handler<'testWebhook'> = async ({ path, body }, context) => {
  await requireAdmin(context, path.entity)
  const { database, secrets, sender, principal, settings } = context
  const webhook = await requireWebhook(database, path)
  const template = (body?.payload ?? { event: 'TEST', webhook: webhook.name }) as JsonValue
  checkPayload(template, listSecretNames(webhook), ['body', 'payload'])
  const credentials = await readCredentials(database, secrets, webhook).catch(error => {
    if (error instanceof CredentialsError) return error
    throw error
  })
  if (credentials instanceof CredentialsError) {
    const nothing = { status: null, headers: null, body: null, duration_ms: 0 }
    return { status: 200, body: { ...nothing, error: credentials.message } }
  }
  const sent = render(template, sampleVariables(webhook.entity, principal.user), credentials, settings)
  const message = { id: uuid(), url: webhook.endpoint_url, body: Buffer.from(JSON.stringify(sent)) }
  const { status, headers, body: answer, durationMs, error } = await sender.send(message, credentials, context.signal)
  return { status: 200, body: { status, headers, body: answer, duration_ms: durationMs, error } }
}

export const listWebhookDeliveries: Handler<'listWebhookDeliveries'> = async ({ path, query }, context) => {
  await requireReader(context, path.entity)
  const webhook = await requireWebhook(context.database, path)
  const toItem = (row: DeliveryWithAttempts) => toDelivery(row, context)
  return { status: 200, body: await listDeliveryRows(context.database, webhook.id, query, query, toItem) }
}

export const redeliverWebhook: Handler<'redeliverWebhook'> = async ({ path }, context) => {
  await requireAdmin(context, path.entity)
  const body = await context.database.transaction().execute(async transaction => {
    const webhook = await requireWebhook(transaction, path)
    const place = { webhookId: webhook.id, id: path.delivery_id }
    const { id } = await requireDelivery(transaction, place)
    if (webhook.disabled_at !== null)
      throw new ApiError(400, 'webhook_disabled', `The webhook ${webhook.name} is disabled: ${webhook.disabled_reason}`)
    await redeliver(transaction, id)
    return toDelivery(await withAttempts(transaction, await requireDelivery(transaction, place)), context)
  })
  context.deliveries.wake()
  return { status: 200, body }
}

async function requireReader({ principal, database }: Context, entity: string): Promise<void> {
  requireMember(principal, entity)
  await requirePaidPlan(database, entity)
}

async function requireAdmin({ principal, database }: Context, entity: string): Promise<void> {
  requireTeamAdmin(principal, entity)
  await requirePaidPlan(database, entity)
}

/** 404 for the id of another team's webhook too. */
async function requireWebhook(
  queries: Queries,
  { entity, webhook_id }: { entity: string; webhook_id: string },
): Promise<WebhookRow> {
  const webhook = await findWebhook(queries, { entity, id: webhook_id })
  if (!webhook) throw notFound(`The webhook ${webhook_id}`)
  return webhook
}

async function requireDelivery(queries: Queries, place: { webhookId: string; id: string }) {
  const delivery = await findDelivery(queries, place)
  if (!delivery) throw notFound(`The delivery ${place.id}`)
  return delivery
}

async function requireFreeName(queries: Queries, place: { entity: string; name: string }): Promise<void> {
  if (!(await findWebhookByName(queries, place))) return
  throw new ApiError(400, 'webhook_exists', `The team has a webhook ${place.name}`, { param: 'name' })
}

async function requireSecrets(queries: Queries, entity: string, names: SecretNames): Promise<void> {
  for (const field of SECRETS) {
    const name = names[field]
    if (typeof name === 'string' && !(await findSecret(queries, { entity, name })))
      throw new ApiError(400, 'secret_not_found', `The team has no secret ${name}`, { param: field })
  }
}

/** 422 where credentials would follow to a new endpoint unsaid. */
function requireSecretsNamed(names: SecretNames): void {
  const left = SECRETS.filter(field => names[field] === undefined)
  if (left.length === 0) return
  const msg = 'Field required, since endpoint_url changes: name the secret again, or null for none'
  throw invalid(left.map(field => ({ loc: ['body', field], msg, type: 'missing' })))
}

function requireEndpoint({ endpointGuard }: Context, text: string): void {
  const refuse = (msg: string) => invalidValue(['body', 'endpoint_url'], msg, 'endpoint_url')
  const url = URL.parse(text)
  if (!url) throw refuse('Must be an http or https URL')
  if (url.username || url.password) throw refuse('Must not hold a user name or password')
  if (endpointGuard.isForbidden(url)) throw refuse('Must not lead to an address that is not public')
}

/** 422 where the payload cannot be sent as it is. */
function render(
  template: JsonValue,
  variables: Record<string, JsonValue>,
  credentials: WebhookCredentials,
  { artifactScheme }: Settings,
): JsonValue {
  try {
    return renderPayload(template, variables, credentials.variables, artifactScheme)
  } catch (error) {
    if (error instanceof PayloadError) throw invalidValue(['body', 'payload'], error.message)
    throw error
  }
}

function toStateChanges({ disabled_at }: WebhookRow, enabled: boolean | undefined, user: string): WebhookChanges {
  if (enabled === true) return { failing_since: null, disabled_at: null, disabled_reason: null }
  if (enabled === undefined || disabled_at !== null) return {}
  return { disabled_at: new Date().toISOString(), disabled_reason: `${user} disabled it` }
}

function toWebhook(row: WebhookRow): Webhook {
  const { id, entity, name, endpoint_url, access_token_secret, signing_secret } = row
  const { disabled_at, disabled_reason, created_by, created_at, updated_at } = row
  const settings = { id, entity, name, endpoint_url, access_token_secret, signing_secret }
  return {
    ...settings,
    enabled: disabled_at === null,
    disabled_at,
    disabled_reason,
    created_by,
    created_at,
    updated_at,
  }
}

function toDelivery(row: DeliveryWithAttempts, { settings }: Context): WebhookDelivery {
  const { id, webhook_id, automation_id, execution_id, event_type, status, error, created_at, finished_at } = row
  const body = showPayload(JSON.parse(row.payload), JSON.parse(row.variables), settings.artifactScheme)
  return {
    ...{ id, webhook_id, automation_id, execution_id, event_type, status, error, created_at, finished_at },
    body: body as WebhookDelivery['body'],
    attempts: row.tries.map(toAttempt),
    next_attempt_at: row.next_attempt_at === null ? null : new Date(row.next_attempt_at).toISOString(),
  }
}

function toAttempt(row: WebhookAttemptRow): components['schemas']['WebhookAttempt'] {
  const { number, created_at, duration_ms, response_status, response_body, error } = row
  const response_headers = row.response_headers === null ? null : JSON.parse(row.response_headers)
  return { number, created_at, duration_ms, response_status, response_headers, response_body, error }
}
