import { createHmac } from 'node:crypto'

/** Before a shared secret that is base64, in Standard Webhooks. */
const ENCODED_PREFIX = 'whsec_'

/** `X-<Vendor>-Signature`: HMAC-SHA256 of the exact bytes, as lower-case hex. */
export function signBody(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** `webhook-signature` of Standard Webhooks 1.0: `v1,` and base64 of the HMAC-SHA256 of `<id>.<timestamp>.<body>`. */
export function signStandard(secret: string, id: string, timestamp: string, body: Buffer): string {
  const key = secret.startsWith(ENCODED_PREFIX) ? Buffer.from(secret.slice(ENCODED_PREFIX.length), 'base64') : secret
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}
