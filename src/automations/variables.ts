import type { WebhookRow } from '../storage/tables.ts'

/** A secret under this name is the webhook's access token, whatever that is called in the team. */
const ACCESS_TOKEN = 'ACCESS_TOKEN'

/** The names under which a payload may have the secrets of its webhook. */
export function listSecretNames(webhook: Pick<WebhookRow, 'access_token_secret' | 'signing_secret'>): string[] {
  const { access_token_secret, signing_secret } = webhook
  return [
    ...(access_token_secret === null ? [] : [ACCESS_TOKEN, access_token_secret]),
    ...(signing_secret === null ? [] : [signing_secret]),
  ]
}
