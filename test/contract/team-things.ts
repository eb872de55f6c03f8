/** Webhooks and automations for checks about who may do what with them. Nothing is ever sent: the automations are disabled. */
import type { CallOptions, Success } from '../../src/contract/client.ts'
import { client, home, runId } from './setup.ts'

export const ENDPOINT = 'https://example.com/trainyard-contract'

export function createWebhook(name: string): Promise<Success<'createWebhook'>> {
  const body = { name: `${runId} ${name}`, endpoint_url: ENDPOINT }
  return client.ok('createWebhook', { path: { entity: home.entity }, body })
}

export function webhookAt({ entity, id }: Success<'createWebhook'>) {
  return { path: { entity, webhook_id: id } }
}

export function toProject(project: string, entity = home.entity) {
  return { type: 'project', entity, project }
}

export function toRegistry(registry: string) {
  return { type: 'registry', entity: home.entity, registry }
}

export function toAutomation(webhook: { id: string }, scope: object) {
  const event = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^production$' }
  return { name: `${runId}-automation`, enabled: false, scope, event, webhook_id: webhook.id }
}

/** `as`: who creates it. */
export function createAutomation(
  webhook: { id: string },
  scope: object,
  as: Pick<CallOptions, 'as'> = {},
): Promise<Success<'createAutomation'>> {
  return client.ok('createAutomation', { body: toAutomation(webhook, scope), ...as })
}

export function automationAt({ id }: { id: string }) {
  return { path: { automation_id: id } }
}
