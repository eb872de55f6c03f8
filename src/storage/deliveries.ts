import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'
import type { AutomationEventType } from './tables.ts'

export interface NewDelivery {
  webhookId: string
  executionId: string | null
  eventType: AutomationEventType
  /** With its variables, as JSON values. */
  payload: unknown
  variables: Record<string, unknown>
}

/** Puts a delivery in the queue, to be sent at once. Returns its id. */
export async function addDelivery(
  queries: Queries,
  { webhookId, executionId, eventType, payload, variables }: NewDelivery,
): Promise<string> {
  const id = uuid()
  const now = Date.now()
  await queries
    .insertInto('webhook_deliveries')
    .values({
      id,
      webhook_id: webhookId,
      execution_id: executionId,
      event_type: eventType,
      payload: JSON.stringify(payload),
      variables: JSON.stringify(variables),
      status: 'Pending',
      round_attempts: 0,
      attempts: 0,
      next_attempt_at: now,
      created_at: new Date(now).toISOString(),
    })
    .execute()
  return id
}
