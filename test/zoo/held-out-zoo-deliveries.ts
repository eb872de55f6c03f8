/** Held-out faults in what the endpoints of webhooks get, and in what their answers mean. */
import { createHmac } from 'node:crypto'
import type { Fault, ZooContext, ZooRequest } from './fault.ts'
import { bodyOf, isObject, remembered, textOf } from './held-out-zoo-tools.ts'

/** What a fault needs that shows in what an endpoint gets. */
const delivering = ['createWebhook', 'createAutomation']
const automationWrites = ['createAutomation', 'updateAutomation']

/** Remembers the secrets that teams put, since only they know what a body is signed with. */
export const rememberSecrets: Fault['onRequest'] = (request, context) => {
  const value = bodyOf(request)['value']
  if (context.operationId === 'putSecret' && typeof value === 'string')
    remembered<boolean>(context, 'secrets').set(value, true)
  return request
}

/** Remembers what payloads looked like before their variables were substituted. */
const rememberPayloads: Fault['onRequest'] = (request, context) => {
  const payload = bodyOf(request)['payload']
  if ([...automationWrites, 'testWebhook'].includes(context.operationId) && isObject(payload))
    for (const [key, text] of Object.entries(payload))
      remembered<boolean>(context, 'slots').set(`${key}\n${text}`, true)
  return request
}

function signatureName(delivery: ZooRequest): string | undefined {
  return Object.keys(delivery.headers).find(name => /^x-.+-signature$/.test(name))
}

/** The delivery with another body, signed with the secret that the old one was signed with. */
function resigned(delivery: ZooRequest, body: Buffer, context: ZooContext, signed = body): ZooRequest {
  const name = signatureName(delivery)
  const sign = (secret: string, bytes: Buffer) => createHmac('sha256', secret).update(bytes).digest('hex')
  const secrets = [...remembered<boolean>(context, 'secrets').keys()]
  const secret = secrets.find(each => name && sign(each, delivery.body) === delivery.headers[name])
  const headers: Record<string, string> = { ...delivery.headers, 'content-length': String(body.length) }
  if (name && secret !== undefined) headers[name] = sign(secret, signed)
  return { ...delivery, headers, body }
}

/** A delivery hook that changes the top-level values which one variable alone was written for. */
function onVariable(variable: string, change: (value: unknown) => unknown): Fault['onDelivery'] {
  return (delivery, context) => {
    const slots = remembered<boolean>(context, 'slots')
    const isVariable = (key: string) => slots.has(`${key}\n\${${variable}}`) || slots.has(`${key}\n$${variable}`)
    const entries = Object.entries(bodyOf(delivery)).map(([key, value]) => [
      key,
      isVariable(key) ? change(value) : value,
    ])
    const body = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
    return [entries.length > 0 ? resigned(delivery, body, context) : delivery]
  }
}

const rememberBoth: Fault['onRequest'] = async (request, context) => {
  await rememberSecrets!(request, context)
  return rememberPayloads!(request, context)
}

export const deliveryFaults: Fault[] = [
  {
    name: 'held-signature-of-other-spacing',
    operations: delivering,
    rule: "automationDelivery, signature: the HMAC-SHA256 of the body's exact bytes",
    breaks: 'The signature is that of the payload written with spaces after commas and colons.',
    onRequest: rememberSecrets,
    onDelivery(delivery, context) {
      const spaced = JSON.stringify(bodyOf(delivery), null, 1).replaceAll(/\n */g, ' ')
      return [resigned(delivery, delivery.body, context, Buffer.from(spaced))]
    },
  },
  {
    name: 'held-signature-with-algorithm',
    operations: delivering,
    rule: 'automationDelivery, signature: 64 lower-case hexadecimal digits and nothing else',
    breaks: '`sha256=` stands before them.',
    onDelivery(delivery) {
      const name = signatureName(delivery)
      if (!name) return [delivery]
      return [{ ...delivery, headers: { ...delivery.headers, [name]: `sha256=${delivery.headers[name]}` } }]
    },
  },
  {
    name: 'held-access-token-bare',
    operations: delivering,
    rule: 'Interface, webhook delivery: `Bearer <ACCESS_TOKEN>` when the webhook has an access token',
    breaks: 'The header holds the token alone.',
    onDelivery(delivery) {
      const { authorization, ...headers } = delivery.headers
      if (!authorization) return [delivery]
      return [{ ...delivery, headers: { ...headers, authorization: authorization.replace(/^Bearer /, '') } }]
    },
  },
  {
    name: 'held-delivery-type-with-charset',
    operations: delivering,
    rule: 'Interface, webhook delivery: Content-Type `application/json`',
    breaks: 'The type has a charset.',
    onDelivery: delivery => [
      { ...delivery, headers: { ...delivery.headers, 'content-type': 'application/json; charset=utf-8' } },
    ],
  },
  {
    name: 'held-absent-alias-is-null',
    operations: delivering,
    rule: 'Interface, payload variables: alias: otherwise empty',
    breaks: 'It is null.',
    onRequest: rememberBoth,
    onDelivery: onVariable('alias', value => (value === '' ? null : value)),
  },
  {
    name: 'held-version-object-as-text',
    operations: delivering,
    rule: 'Interface, payload variables: artifact_version: object representation of the artifact version',
    breaks: 'It is JSON in a text.',
    onRequest: rememberBoth,
    onDelivery: onVariable('artifact_version', value => (isObject(value) ? JSON.stringify(value) : value)),
  },
  {
    name: 'held-version-string-with-scheme',
    operations: delivering,
    rule: 'Interface, payload variables: artifact_version_string: form `<entity>/<project>/<name>:<alias>`',
    breaks: 'It has the scheme of an artifact URI before it.',
    onRequest: rememberBoth,
    onDelivery: onVariable('artifact_version_string', value => (value ? `artifact:///${textOf(value)}` : value)),
  },
  {
    name: 'held-event-type-in-lower-case',
    operations: delivering,
    rule: 'Interface, payload variables: event_type, for example `LINK_ARTIFACT`, `ADD_ARTIFACT_ALIAS`',
    breaks: 'It is written in lower case.',
    onRequest: rememberBoth,
    onDelivery: onVariable('event_type', value => textOf(value).toLowerCase()),
  },
  {
    name: 'held-retry-body-changes',
    needs: ['retries'],
    operations: delivering,
    rule: 'automationDelivery, retries: each attempt has the same body',
    breaks: 'A later attempt has a key that counts it, and is signed anew.',
    onRequest: rememberSecrets,
    onDelivery(delivery, context) {
      const seen = remembered<number>(context, 'seen')
      const key = delivery.path + delivery.body.toString('utf8')
      const attempt = (seen.get(key) ?? 0) + 1
      seen.set(key, attempt)
      if (attempt === 1) return [delivery]
      return [resigned(delivery, Buffer.from(JSON.stringify({ ...bodyOf(delivery), attempt })), context)]
    },
  },
  {
    name: 'held-only-200-is-success',
    operations: delivering,
    rule: 'automationDelivery, success: any 2XX is success',
    breaks: 'An endpoint that answers 201, 202 or 204 has failed.',
    onReceipt: receipt => (receipt.status > 200 && receipt.status < 300 ? { ...receipt, status: 500 } : receipt),
  },
  {
    name: 'held-redirect-followed',
    operations: delivering,
    rule: 'automationDelivery, retries: redirects are not followed',
    breaks: 'The address of a redirect is fetched, and its answer counts.',
    async onReceipt(receipt) {
      const location = receipt.headers['location']
      if (receipt.status < 300 || receipt.status > 399 || typeof location !== 'string') return receipt
      const reply = await fetch(location, { redirect: 'manual' })
      const type = reply.headers.get('content-type') ?? 'text/plain'
      const body = Buffer.from(await reply.arrayBuffer())
      return { status: reply.status, headers: { 'content-type': type }, body }
    },
  },
  {
    name: 'held-gone-tried-again',
    needs: ['retries'],
    operations: delivering,
    rule: 'automationDelivery, retries: 410 ends the delivery at once',
    breaks: 'It is tried again like any other status.',
    onReceipt: receipt => (receipt.status === 410 ? { ...receipt, status: 400 } : receipt),
  },
  {
    name: 'held-receiver-retry-after-unread',
    needs: ['retries'],
    operations: delivering,
    rule: 'automationDelivery, retries: not before the time that `Retry-After` gives',
    breaks: 'The header is not looked at.',
    onReceipt: receipt => ({ ...receipt, headers: { ...receipt.headers, 'retry-after': undefined } }),
  },
]
