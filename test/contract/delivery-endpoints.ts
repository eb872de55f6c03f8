/** Webhooks whose endpoint is this process, and the secrets that go with them. */
import { randomBytes } from 'node:crypto'
import type { Success } from '../../src/contract/client.ts'
import type { AnswerOf, Arrival, DeliveryReceiver, Inbox } from '../../src/contract/receiver.ts'
import { client, home, runId, secretName } from './setup.ts'

export interface Secret {
  /** As it is called in the team. */
  name: string
  value: string
}

export interface Secrets {
  token: Secret
  signing: Secret
  /** It has the form that Standard Webhooks decode. */
  encoded: Secret
}

export interface Endpoint {
  webhook: Success<'createWebhook'>
  path: { entity: string; webhook_id: string }
  inbox: Inbox
  token: Secret | null
  signing: Secret | null
}

export async function putSecrets(): Promise<Secrets> {
  const random = () => randomBytes(18).toString('base64url')
  const put = async (name: string, value: string): Promise<Secret> => {
    const path = { entity: home.entity, name: secretName(name) }
    await client.ok('putSecret', { path, body: { value } })
    return { name: path.name, value }
  }
  return {
    token: await put('delivery_token', `token-${random()}`),
    signing: await put('delivery_key', ` key "${random()}" ünï\n`),
    encoded: await put('delivery_encoded', `whsec_${randomBytes(24).toString('base64')}`),
  }
}

export async function openEndpoint(
  receiver: DeliveryReceiver,
  name: string,
  answer: AnswerOf | undefined,
  { token = null, signing = null }: { token?: Secret | null; signing?: Secret | null },
): Promise<Endpoint> {
  const inbox = receiver.open(answer)
  const path = { entity: home.entity }
  const secrets = { access_token_secret: token?.name ?? null, signing_secret: signing?.name ?? null }
  const body = { name: `${runId} delivery ${name}`, endpoint_url: inbox.url, ...secrets }
  const webhook = await client.ok('createWebhook', { path, body })
  return { webhook, path: { ...path, webhook_id: webhook.id }, inbox, token, signing }
}

/** The body as JSON; undefined where it is none, or no object. */
export function readArrival({ body }: Arrival): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** What arrived of the automation whose payload has this `rule`. */
export function arrivalsOf({ inbox }: Endpoint, rule: string): Arrival[] {
  return inbox.arrivals.filter(arrival => readArrival(arrival)?.rule === rule)
}
