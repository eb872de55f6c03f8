import { getArtifactVersionById } from '../storage/artifacts.ts'
import {
  type FiringAutomation,
  insertExecution,
  selectFiredForRun,
  selectFiring,
  selectScopeOfLink,
  selectScopeOfRun,
  selectScopesOfVersion,
} from '../storage/automation-events.ts'
import type { Queries } from '../storage/database.ts'
import { addDelivery } from '../storage/deliveries.ts'
import { type Happening, type RunChange, toRunHappening, toVersionHappening, type VersionChange } from './happening.ts'
import { readMatcher } from './matchers.ts'
import { listNames } from './payload.ts'
import { pickVariables } from './variables.ts'

/** Something that happened to an artifact version or a run, as far as automations care. */
export type ChangeEvent = VersionChange | RunChange

/** An automation fires at most once for a run within this time. */
const ONCE_PER_RUN_MS = 24 * 60 * 60 * 1000

/**
 * Records what an event sets off: for each automation that watches for it, an execution and a delivery, to be sent soon.
 * Call it in the transaction of the change, after the change: nothing fires for what is rolled back, and nothing is lost.
 */
export async function recordEvent(queries: Queries, event: ChangeEvent): Promise<void> {
  if (event.type === 'RUN_METRIC') await recordRunEvent(queries, event)
  else await recordVersionEvent(queries, event)
}

async function recordVersionEvent(queries: Queries, event: VersionChange): Promise<void> {
  const scopes =
    event.type === 'LINK_ARTIFACT'
      ? await selectScopeOfLink(queries, event)
      : await selectScopesOfVersion(queries, event.versionId, event.type)
  for (const scope of scopes) {
    const ids = (await readMatcher(queries, scope)).match(event)
    if (ids.length === 0) continue
    const happening = toVersionHappening(event, await getArtifactVersionById(queries, event.versionId), scope)
    for (const automation of await selectFiring(queries, ids)) await fire(queries, automation, happening)
  }
}

async function recordRunEvent(queries: Queries, event: RunChange): Promise<void> {
  const found = await selectScopeOfRun(queries, event.runId)
  if (!found) return
  const { scope, run } = found
  const ids = (await readMatcher(queries, scope)).match({ ...event, run })
  if (ids.length === 0) return
  const since = new Date(Date.now() - ONCE_PER_RUN_MS).toISOString()
  const fired = await selectFiredForRun(queries, ids, run.id, since)
  const due = ids.filter(id => !fired.has(id))
  for (const automation of await selectFiring(queries, due)) {
    await fire(queries, automation, toRunHappening(event, run, automation), run.id)
  }
}

/** Where the webhook is disabled the execution has failed at once, so that the history tells why nothing came. */
async function fire(
  queries: Queries,
  automation: FiringAutomation,
  { event, variables, metadata }: Happening,
  runId: string | null = null,
): Promise<void> {
  const isDisabled = automation.disabled_at !== null
  const executionId = await insertExecution(queries, {
    automation_id: automation.id,
    event_type: event.type,
    event: JSON.stringify(event),
    run_id: runId,
    status: isDisabled ? 'Failed' : 'Pending',
    error: isDisabled ? toDisabled(automation) : null,
  })
  if (isDisabled) return
  const payload = JSON.parse(automation.payload)
  await addDelivery(queries, {
    webhookId: automation.webhook_id,
    executionId,
    eventType: event.type,
    payload,
    variables: pickVariables(listNames(payload), variables, metadata),
  })
}

function toDisabled({ disabled_reason }: FiringAutomation): string {
  return `The webhook is disabled${disabled_reason ? `: ${disabled_reason}` : ''}`
}
