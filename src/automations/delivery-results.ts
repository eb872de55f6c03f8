import type { Queries } from '../storage/database.ts'
import { type Claimant, type ClaimedDelivery, type Verdict, writeAttempt } from '../storage/delivery-queue.ts'
import { noteFailure, noteSuccess } from '../storage/webhooks.ts'
import type { Attempt } from './send.ts'

/** A webhook that fails for this long without a success in between is disabled. */
const PATIENCE_DAYS = 5
const PATIENCE_MS = PATIENCE_DAYS * 24 * 3_600_000
const DISABLED_REASON = `The endpoint failed for ${PATIENCE_DAYS} days without a success in between`
/** A wait is up to this share longer than the schedule says, so that what failed together is not tried again together. */
const JITTER = 0.2

/** What became of an attempt, for the metrics. */
export type Outcome = 'delivered' | 'retried' | 'failed'

export interface DeliveryResult {
  delivery: ClaimedDelivery
  attempt: Attempt
  sentAt: Date
}

/** What was written of results, to be told once it is stored. */
export interface Written {
  /** Null: the claim was lost, and nothing was written. */
  outcomes: { result: DeliveryResult; outcome: Outcome | null }[]
  failingWebhooks: string[]
  disabledWebhooks: string[]
}

/** Writes what came of attempts. Call inside a transaction. */
export async function writeResults(
  queries: Queries,
  claimant: Claimant,
  results: readonly DeliveryResult[],
  schedule: readonly number[],
): Promise<Written> {
  const written: Written = { outcomes: [], failingWebhooks: [], disabledWebhooks: [] }
  const failed = new Map<string, boolean>()
  for (const result of results) {
    const { delivery, attempt, sentAt } = result
    const verdict = toVerdict(delivery, attempt, schedule)
    const isWritten = await writeAttempt(queries, delivery, claimant, toRow(attempt, sentAt), verdict)
    written.outcomes.push({ result, outcome: isWritten ? OUTCOMES[verdict.status] : null })
    const { webhook_id: id } = delivery
    if (isWritten) failed.set(id, attempt.error !== null && failed.get(id) !== false)
  }
  for (const [id, hasFailed] of failed) {
    if (!hasFailed) {
      await noteSuccess(queries, id)
      continue
    }
    written.failingWebhooks.push(id)
    const isDisabled = await noteFailure(queries, id, {
      at: new Date(),
      patienceMs: PATIENCE_MS,
      reason: DISABLED_REASON,
    })
    if (isDisabled) written.disabledWebhooks.push(id)
  }
  return written
}

const OUTCOMES = { Finished: 'delivered', Pending: 'retried', Failed: 'failed' } as const

/** `round_attempts` counts this attempt too. */
function toVerdict(
  { round_attempts }: Pick<ClaimedDelivery, 'round_attempts'>,
  { error, isGone, retryAfterMs }: Pick<Attempt, 'error' | 'isGone' | 'retryAfterMs'>,
  schedule: readonly number[],
): Verdict {
  if (error === null) return { status: 'Finished' }
  const wait = schedule[round_attempts]
  if (isGone || wait === undefined) return { status: 'Failed' }
  const jittered = wait * (1 + Math.random() * JITTER)
  return { status: 'Pending', nextAttemptAt: Math.ceil(Date.now() + Math.max(jittered, retryAfterMs)) }
}

function toRow({ status, headers, body, durationMs, error }: Attempt, sentAt: Date) {
  return {
    duration_ms: Math.round(durationMs),
    response_status: status,
    response_headers: headers && JSON.stringify(headers),
    response_body: body,
    error,
    created_at: sentAt.toISOString(),
  }
}
