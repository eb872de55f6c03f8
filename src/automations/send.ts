import { Agent } from 'undici'
import type { Settings } from '../config.ts'
import type { WebhookCredentials } from './credentials.ts'
import type { EndpointGuard } from './endpoint-guard.ts'
import type { Mask } from './mask.ts'
import { type Answer, post } from './post.ts'
import { signBody, signStandard } from './sign.ts'

/** What is kept of an answer's body. */
const KEPT_BODY_BYTES = 64 * 1024
/** Connections are kept for bursts only: soon after, an endpoint may close one just as the next request goes out. */
const KEEP_ALIVE_MS = 1000
/** The longest wait that an endpoint may ask for. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000
const GONE = 410

export interface Message {
  /** Of the delivery. */
  id: string
  url: string
  body: Buffer
}

/** One attempt as it is kept, without the values of secrets. */
export interface Attempt {
  status: number | null
  headers: Record<string, string> | null
  body: string | null
  durationMs: number
  /** Null: the endpoint took it. */
  error: string | null
  /** How long the endpoint asks to be left alone. */
  retryAfterMs: number
  /** The endpoint wants no more of it. */
  isGone: boolean
}

type SendSettings = Pick<Settings, 'vendor' | 'webhookTimeoutMs' | 'webhookStandardHeaders'>

/** Sends deliveries: the headers of the contract, the guard's connections, nothing from the environment, and no redirects. */
export class Sender {
  #settings: SendSettings
  #agent: Agent

  constructor(settings: SendSettings, guard: EndpointGuard) {
    this.#settings = settings
    this.#agent = new Agent({
      connect: guard.createConnector(settings.webhookTimeoutMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    })
  }

  /** Never throws: whatever goes wrong is the attempt's error. */
  async send(message: Message, credentials: WebhookCredentials, signal: AbortSignal): Promise<Attempt> {
    const { mask } = credentials
    const answer = await post(
      this.#agent,
      { url: message.url, headers: this.#toHeaders(message, credentials), body: message.body },
      { timeoutMs: this.#settings.webhookTimeoutMs, keepBytes: KEPT_BODY_BYTES + mask.longestBytes, signal },
    )
    return toAttempt(answer, mask)
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #toHeaders({ id, body }: Message, { accessToken, signingSecret }: WebhookCredentials): Record<string, string> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' }
    if (accessToken !== null) headers['Authorization'] = `Bearer ${accessToken}`
    if (signingSecret !== null) headers[`X-${this.#settings.vendor}-Signature`] = signBody(signingSecret, body)
    if (!this.#settings.webhookStandardHeaders) return headers
    const timestamp = String(Math.floor(Date.now() / 1000))
    headers['webhook-id'] = id
    headers['webhook-timestamp'] = timestamp
    if (signingSecret !== null) headers['webhook-signature'] = signStandard(signingSecret, id, timestamp, body)
    return headers
  }
}

function toAttempt({ status, headers, body, failure, durationMs }: Answer, mask: Mask): Attempt {
  const masked = Object.entries(headers ?? {}).map(([name, value]) => [mask.apply(name), mask.apply(value)])
  return {
    status,
    headers: headers && Object.fromEntries(masked),
    body: body && mask.applyToStart(body, KEPT_BODY_BYTES),
    durationMs,
    error: status === null ? mask.apply(failure ?? '') : toError(status),
    retryAfterMs: toRetryAfter(headers?.['retry-after']),
    isGone: status === GONE,
  }
}

function toError(status: number): string | null {
  if (status < 300) return null
  return `The endpoint answered ${status}${status < 400 ? ', and redirects are not followed' : ''}`
}

/** RFC 9110, 10.2.3: whole seconds, or a date. Anything else asks for nothing. */
function toRetryAfter(value: string | undefined): number {
  const wait = /^\d{1,9}$/.test(value ?? '') ? Number(value) * 1000 : Date.parse(value ?? '') - Date.now()
  return Math.min(Math.max(wait, 0) || 0, MAX_RETRY_AFTER_MS)
}
