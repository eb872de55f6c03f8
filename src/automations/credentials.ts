import type { SecretBox } from '../secrets/secret-box.ts'
import type { Queries } from '../storage/database.ts'
import { readSecret } from '../storage/secrets.ts'
import type { WebhookRow } from '../storage/tables.ts'
import { Mask } from './mask.ts'
import { listSecretNames } from './variables.ts'

type SecretNames = Pick<WebhookRow, 'entity' | 'access_token_secret' | 'signing_secret'>

/** The values of a webhook's secrets, for the moment of sending. */
export interface WebhookCredentials {
  accessToken: string | null
  signingSecret: string | null
  /** By the names that a payload may use. */
  variables: Record<string, string>
  /** Of the values, which must be seen nowhere. */
  mask: Mask
}

/** A webhook's secret is not there, or cannot be opened: nothing can be sent. */
export class CredentialsError extends Error {
  override name = 'CredentialsError' as const
}

/** Throws CredentialsError. */
export async function readCredentials(
  queries: Queries,
  box: SecretBox,
  webhook: SecretNames,
): Promise<WebhookCredentials> {
  const read = async (name: string | null) => {
    if (name === null) return null
    const value = await readSecret(queries, box, { entity: webhook.entity, name }).catch(() => {
      throw new CredentialsError(`The secret ${name} cannot be opened with the master keys of the server`)
    })
    if (value === null) throw new CredentialsError(`The secret ${name} does not exist any more`)
    return value
  }
  const accessToken = await read(webhook.access_token_secret)
  const signingSecret = await read(webhook.signing_secret)
  return {
    accessToken,
    signingSecret,
    variables: Object.fromEntries(
      listSecretNames(webhook).map(name => [name, (name === webhook.signing_secret ? signingSecret : accessToken)!]),
    ),
    mask: new Mask([accessToken, signingSecret].filter(value => value !== null)),
  }
}
