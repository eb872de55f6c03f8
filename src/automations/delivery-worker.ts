import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Settings } from '../config.ts'
import type { SecretBox } from '../secrets/secret-box.ts'
import type { Database, Queries } from '../storage/database.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  failDue,
  hasDue,
  listDueWebhooks,
  readContent,
  releaseClaim,
  renewClaim,
} from '../storage/delivery-queue.ts'
import type { WebhookRow } from '../storage/tables.ts'
import { getWebhookWithPlan } from '../storage/webhooks.ts'
import { CredentialsError, readCredentials, type WebhookCredentials } from './credentials.ts'
import { DeliveryLanes } from './delivery-lanes.ts'
import { type DeliveryResult, type Outcome, type Written, writeResults } from './delivery-results.ts'
import { type JsonValue, PayloadError, renderPayload } from './payload.ts'
import type { Attempt, Sender } from './send.ts'

/** How often the queue is looked at when nobody wakes the worker. */
const POLL_MS = 200
/** While there is much to do results are gathered for this long, or until there are so many, and written with one sync to disk. */
const GATHER_MS = 20
const GATHERED = 256
/** After a failure of the worker itself, such as a full disk. */
const BACK_OFF_MS = 2000
/** A worker that has not gone round its loop for this long is taken for dead. */
const SILENCE_MS = 30_000
/** A claim that was not renewed for this long belongs to a process that died. */
const LEASE_MS = 5000
const RENEW_MS = LEASE_MS / 3
/** Most deliveries ended at once for a webhook that nothing is sent to. */
const FAIL_BATCH = 500

export interface DeliveryWorkerOptions {
  database: Database
  log: Logger
  secrets: SecretBox
  sender: Sender
  settings: Pick<Settings, 'webhookConcurrency' | 'webhookRetrySchedule' | 'shutdownGraceMs' | 'artifactScheme'>
  onOutcome(outcome: Outcome): void
}

interface Claimed {
  delivery: ClaimedDelivery
  webhook: WebhookRow
  credentials: WebhookCredentials | CredentialsError
  isFailing: boolean
  /** When the claim wants renewing, in Unix milliseconds. */
  renewAt: number
}

/**
 * Sends what is due. In each turn one transaction writes the results that came in, renews the claims of what is still under way, and
 * claims as much as there is room for. A delivery is never sent before its claim is stored, and its result is stored or it is sent again.
 */
export class DeliveryWorker {
  #options: DeliveryWorkerOptions
  #claimant = { owner: randomUUID(), leaseMs: LEASE_MS }
  #lanes: DeliveryLanes<Claimed>
  /** All that is claimed. */
  #claims = new Set<Claimed>()
  #results: (DeliveryResult & { claimed: Claimed })[] = []
  /** The webhook that was claimed for last. */
  #last = ''
  #isStopping = false
  /** Aborted to cut off what is under way. */
  #cut = new AbortController()
  #pause: { isIdle: boolean; end(): void } | null = null
  /** Something came in since the turn began. */
  #isCalled = false
  #loop: Promise<void> | null = null
  #stopped: Promise<void> | null = null
  #lastTurn = Date.now()

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options
    this.#lanes = new DeliveryLanes(options.settings.webhookConcurrency)
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Looks at the queue soon. */
  wake(): void {
    this.#isCalled = true
    if (this.#pause?.isIdle) this.#pause.end()
  }

  /** Claims nothing more, lets what is under way finish within the grace time, and gives the rest back to the queue. */
  stop(): Promise<void> {
    this.#stopped ??= this.#close()
    return this.#stopped
  }

  /** Throws when the worker is not running or has been silent. */
  check(): void {
    if (!this.#loop || this.#isStopping) throw new Error('The delivery worker is not running')
    const silent = Date.now() - this.#lastTurn
    if (silent > SILENCE_MS) throw new Error(`The delivery worker has been silent for ${Math.round(silent / 1000)} s`)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#lastTurn = Date.now()
      this.#isCalled = false
      try {
        const isBusy = await this.#turn()
        if (isBusy || this.#isCalled) await this.#sleep(GATHER_MS)
        else await this.#sleep(POLL_MS, { isIdle: true })
      } catch (error) {
        this.#options.log.error({ error }, 'the delivery worker failed')
        await this.#sleep(BACK_OFF_MS)
      }
    }
  }

  /** Sleeps until there is reason to take a turn: an idle worker has it with any news, a busy one gathers some. */
  async #sleep(ms: number, { isIdle = false } = {}): Promise<void> {
    if (this.#isStopping && isIdle) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#pause = { isIdle, end }
    })
    this.#pause = null
  }

  /** Returns whether there was something to do. */
  async #turn(): Promise<boolean> {
    const { database, settings } = this.#options
    const results = this.#results.splice(0)
    const stale = [...this.#claims].filter(({ renewAt }) => renewAt <= Date.now())
    const mayClaim = !this.#isStopping && !this.#lanes.isFull && (await hasDue(database))
    if (results.length === 0 && stale.length === 0 && !mayClaim) return false
    const back: Claimed[] = []
    try {
      const { written, claimed, ended } = await database.transaction().execute(async transaction => {
        const written = await writeResults(transaction, this.#claimant, results, settings.webhookRetrySchedule)
        // What waits for an endpoint that fails would take its places one after the other.
        for (const webhookId of written.failingWebhooks) back.push(...this.#lanes.takeWaiting(webhookId))
        for (const { delivery } of back) await releaseClaim(transaction, delivery, this.#claimant)
        for (const { delivery } of stale) await renewClaim(transaction, delivery, this.#claimant)
        return { written, ...(mayClaim ? await this.#claim(transaction) : { claimed: [], ended: 0 }) }
      })
      this.#tell(written)
      for (const { claimed } of results) this.#lanes.ended(claimed)
      for (const over of [...results.map(({ claimed }) => claimed), ...back]) this.#claims.delete(over)
      for (const one of stale) one.renewAt = Date.now() + RENEW_MS
      for (const one of claimed) {
        this.#claims.add(one)
        this.#lanes.add(one)
      }
      this.#launch()
      return results.length > 0 || ended > 0 || claimed.length > 0
    } catch (error) {
      // All is kept for the next turn; what cannot be kept in time is sent again, by whoever claims it then.
      this.#results.unshift(...results)
      for (const one of back) this.#lanes.add(one)
      throw error
    }
  }

  async #claim(queries: Queries): Promise<{ claimed: Claimed[]; ended: number }> {
    const { secrets, settings } = this.#options
    const firstWaitMs = settings.webhookRetrySchedule[0] ?? 0
    const claimed: Claimed[] = []
    let ended = 0
    for (const webhookId of startAfter(this.#last, await listDueWebhooks(queries))) {
      const { plan, ...webhook } = await getWebhookWithPlan(queries, webhookId)
      const refusal = toRefusal(webhook, plan)
      if (refusal) ended += await failDue(queries, webhookId, { error: refusal, limit: FAIL_BATCH })
      const isFailing = webhook.failing_since !== null
      const limit = refusal ? 0 : this.#lanes.roomOf(webhookId, isFailing, claimed)
      if (limit === 0) continue
      const deliveries = await claimDeliveries(queries, webhookId, this.#claimant, { limit, firstWaitMs })
      if (deliveries.length === 0) continue
      this.#last = webhookId
      const credentials = await readCredentials(queries, secrets, webhook).catch(toCredentialsError)
      const renewAt = Date.now() + RENEW_MS
      claimed.push(...deliveries.map(delivery => ({ delivery, webhook, credentials, isFailing, renewAt })))
    }
    return { claimed, ended }
  }

  #tell({ outcomes, disabledWebhooks }: Written): void {
    const { log, onOutcome } = this.#options
    for (const { result, outcome } of outcomes) {
      const { id: deliveryId, webhook_id: webhookId, attempts: number } = result.delivery
      const { status, error } = result.attempt
      log.info({ deliveryId, webhookId, number, status, outcome, error }, 'delivery attempted')
      if (outcome) onOutcome(outcome)
    }
    for (const webhookId of disabledWebhooks) log.warn({ webhookId }, 'a webhook was disabled: its endpoint fails')
  }

  #launch(): void {
    for (let one = this.#lanes.next(); one !== null; one = this.#lanes.next()) this.#send(one)
  }

  async #send(claimed: Claimed): Promise<void> {
    const sentAt = new Date()
    const attempt = await this.#attempt(claimed)
    // Cut off at shutdown: it is given back.
    if (this.#cut.signal.aborted) return
    this.#lanes.sent(claimed)
    this.#results.push({ claimed, delivery: claimed.delivery, attempt, sentAt })
    if (!this.#isStopping) this.#launch()
    const isAll = this.#results.length === this.#claims.size
    if (this.#pause?.isIdle || isAll || this.#results.length >= GATHERED) this.#pause?.end()
  }

  async #attempt({ delivery, webhook, credentials }: Claimed): Promise<Attempt> {
    if (credentials instanceof CredentialsError) return toUnsent(credentials.message)
    try {
      const content = await readContent(this.#options.database, delivery)
      if (!content) return toUnsent('The delivery was deleted')
      const payload = renderPayload(
        JSON.parse(content.payload) as JsonValue,
        JSON.parse(content.variables) as Record<string, JsonValue>,
        credentials.variables,
        this.#options.settings.artifactScheme,
      )
      const message = { id: delivery.id, url: webhook.endpoint_url, body: Buffer.from(JSON.stringify(payload)) }
      return await this.#options.sender.send(message, credentials, this.#cut.signal)
    } catch (error) {
      if (error instanceof PayloadError) return toUnsent(error.message)
      this.#options.log.error({ deliveryId: delivery.id, error }, 'a delivery could not be made')
      return toUnsent('The server could not make the request')
    }
  }

  async #close(): Promise<void> {
    const { settings, database, log, sender } = this.#options
    const end = Date.now() + settings.shutdownGraceMs
    this.#isStopping = true
    this.#pause?.end()
    await this.#loop
    const unsent = this.#lanes.takeWaiting()
    try {
      while (this.#claims.size > unsent.length && Date.now() < end) {
        await this.#turn()
        if (this.#claims.size > unsent.length) await this.#sleep(Math.min(POLL_MS, end - Date.now()))
      }
      this.#cut.abort()
      await this.#turn()
      await database.transaction().execute(async transaction => {
        for (const { delivery } of this.#claims) await releaseClaim(transaction, delivery, this.#claimant)
      })
    } catch (error) {
      // Their claims run out by themselves.
      log.error({ error }, 'deliveries under way could not be given back')
    }
    await sender.close()
  }
}

/** Those that come after the one served last first, so that each has its turn. */
function startAfter(last: string, webhookIds: string[]): string[] {
  return [...webhookIds.filter(id => id > last), ...webhookIds.filter(id => id <= last)]
}

function toRefusal({ disabled_at, disabled_reason }: WebhookRow, plan: string): string | null {
  if (disabled_at !== null) return `The webhook is disabled: ${disabled_reason}`
  return plan === 'free' ? 'The plan of the team does not include webhooks' : null
}

function toCredentialsError(error: unknown): CredentialsError {
  if (error instanceof CredentialsError) return error
  throw error
}

function toUnsent(error: string): Attempt {
  return { status: null, headers: null, body: null, durationMs: 0, error, retryAfterMs: 0, isGone: false }
}
