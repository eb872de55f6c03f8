import { v7 as uuid } from 'uuid'
import type { JsonValue } from '../../src/automations/payload.ts'
import type { Service } from '../../src/context.ts'
import { insertExecution } from '../../src/storage/automation-events.ts'
import { insertAutomation } from '../../src/storage/automations.ts'
import { addDelivery } from '../../src/storage/deliveries.ts'
import { type Reply, startTestServer, type TestServer, type TestServerOptions, until } from '../server/start.ts'

export const WEBHOOKS = '/v1/preview/teams/default/webhooks'

/** A server that may call this machine; retries come at once unless a schedule in milliseconds is given. */
export function startHookServer({
  schedule = [0, 0, 0],
  environment,
  change,
  ...options
}: TestServerOptions & { schedule?: number[] } = {}): Promise<TestServer> {
  return startTestServer({
    ...options,
    environment: { WEBHOOK_ALLOW: '127.0.0.0/8', SHUTDOWN_GRACE_MS: '500', ...environment },
    change(service) {
      service.settings.webhookRetrySchedule = schedule
      change?.(service)
    },
  })
}

/** `key`: of an admin of the team. */
export async function putSecret(
  server: TestServer,
  name: string,
  value: string,
  { entity = 'default', ...by }: { entity?: string; key?: string } = {},
): Promise<Reply> {
  const reply = await server.call(`/v1/preview/teams/${entity}/secrets/${name}`, {
    ...{ method: 'PUT', json: { value } },
    ...by,
  })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply
}

export async function createWebhook(server: TestServer, endpoint_url: string, more: object = {}): Promise<string> {
  const reply = await server.call(WEBHOOKS, { json: { name: `hook ${uuid()}`, endpoint_url, ...more } })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body.id
}

/** What an automation that fired leaves behind: its execution and a delivery. */
export async function fire(
  { database }: Service,
  webhookId: string,
  payload: JsonValue = { text: 'hello' },
  variables: Record<string, JsonValue> = {},
): Promise<{ deliveryId: string; executionId: string }> {
  return database.transaction().execute(async transaction => {
    const event_type = 'ADD_ARTIFACT_ALIAS'
    const { id: automation_id } = await insertAutomation(transaction, {
      ...{ entity: 'default', name: 'a', description: null, enabled: 1, created_by: 'admin' },
      ...{ scope_type: 'project', scope_name: 'p', event_type, alias_regex: '^never$' },
      ...{ metric: null, operator: null, threshold: null, filter_user: null, filter_run_name_regex: null },
      ...{ webhook_id: webhookId, payload: JSON.stringify(payload) },
    })
    const executionId = await insertExecution(transaction, {
      ...{ automation_id, event_type, event: '{}', run_id: null },
      ...{ status: 'Pending', error: null },
    })
    const event = { eventType: event_type, payload, variables } as const
    const deliveryId = await addDelivery(transaction, { webhookId, executionId, ...event })
    return { deliveryId, executionId }
  })
}

// biome-ignore lint/suspicious/noExplicitAny: what a test expects of a delivery is what types it
export async function listDeliveries(server: TestServer, webhookId: string): Promise<any[]> {
  const reply = await server.call(`${WEBHOOKS}/${webhookId}/deliveries?limit=100`)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body.data
}

/** Waits until all deliveries of a webhook have ended, and gives them. */
export function ended(server: TestServer, webhookId: string, ms?: number) {
  const isOver = ({ status }: { status: string }) => status !== 'Pending'
  return until(
    () => listDeliveries(server, webhookId),
    found => found.every(isOver),
    ms,
  )
}

export function findExecution({ database }: Service, id: string) {
  return database.selectFrom('automation_executions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}
