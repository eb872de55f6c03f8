/** Webhook calls, and the log of them. Left out while the contract has no webhooks to manage. */
import { deliveries, deliveryHeaders, deliveryText, SIGNATURE, secretsOf, withBody } from './change-deliveries.ts'
import { isOf, replyJson, toJsonReply } from './change-replies.ts'
import { jsonOf } from './change-requests.ts'
import type { Fault } from './fault.ts'

const MASK = '********'

const faults: Fault[] = [
  {
    name: 'hmac-wrong',
    rule: 'automationDelivery: the signature is the HMAC-SHA256 of the body',
    breaks: 'The signature is another one.',
    ...deliveryHeaders(headers =>
      headers[SIGNATURE] === undefined
        ? {}
        : { [SIGNATURE]: headers[SIGNATURE].replace(/^./, first => (first === '0' ? '1' : '0')) },
    ),
  },
  {
    name: 'hmac-missing',
    rule: 'automationDelivery: a webhook with a shared secret signs',
    breaks: 'No call is signed.',
    ...deliveryHeaders(() => ({ [SIGNATURE]: undefined })),
  },
  {
    name: 'hmac-base64',
    rule: 'automationDelivery: 64 lower-case hexadecimal digits',
    breaks: 'The signature is in base64.',
    ...deliveryHeaders(headers =>
      headers[SIGNATURE] === undefined
        ? {}
        : { [SIGNATURE]: Buffer.from(headers[SIGNATURE], 'hex').toString('base64') },
    ),
  },
  {
    name: 'hmac-upper-case',
    rule: 'automationDelivery: 64 lower-case hexadecimal digits',
    breaks: 'The signature is in capitals.',
    ...deliveryHeaders(headers => ({ [SIGNATURE]: headers[SIGNATURE]?.toUpperCase() })),
  },
  {
    name: 'hmac-prefix',
    rule: 'automationDelivery: 64 digits and nothing else',
    breaks: 'The signature begins with sha256=.',
    ...deliveryHeaders(headers =>
      headers[SIGNATURE] === undefined ? {} : { [SIGNATURE]: `sha256=${headers[SIGNATURE]}` },
    ),
  },
  {
    name: 'hmac-of-other-bytes',
    rule: 'automationDelivery: the signature is over the exact bytes of the body',
    breaks: 'The body is written anew after it was signed.',
    ...deliveries(call => [{ ...call, body: Buffer.from(JSON.stringify(jsonOf(call), null, 1)) }]),
  },
  {
    name: 'hook-bearer',
    rule: 'automationDelivery: Authorization with the access token',
    breaks: 'No call has an Authorization.',
    ...deliveryHeaders(() => ({ authorization: undefined })),
  },
  {
    name: 'hook-bearer-scheme',
    rule: 'automationDelivery: Authorization: Bearer <ACCESS_TOKEN>',
    breaks: 'Authorization is the bare token.',
    ...deliveryHeaders(({ authorization }) => ({ authorization: authorization?.replace(/^Bearer /, '') })),
  },
  {
    name: 'hook-content-type',
    rule: 'automationDelivery: Content-Type is application/json',
    breaks: 'Calls are sent as text/plain.',
    ...deliveryHeaders(() => ({ 'content-type': 'text/plain' })),
  },
  {
    name: 'hook-put',
    rule: 'automationDelivery: POST',
    breaks: 'Calls are sent with PUT.',
    ...deliveries(call => [{ ...call, method: 'PUT' }]),
  },
  {
    name: 'hook-never',
    rule: 'automationDelivery: an event is delivered at least once',
    breaks: 'No call ever comes.',
    ...deliveries(() => []),
  },
  {
    name: 'hook-twice',
    rule: 'listWebhookDeliveries: the attempts that were made',
    breaks: 'Every call comes twice, and the log knows of one.',
    ...deliveries(call => [call, call]),
  },
  {
    name: 'hook-not-retried',
    rule: 'automationDelivery: anything but a 2XX is tried again',
    breaks: 'A call that failed is not sent again.',
    needs: ['retries'],
    ...deliveries((call, { memory }) => {
      const key = `${call.path} ${call.body}`
      const isSeen = memory.has(key)
      memory.set(key, true)
      return isSeen ? [] : [call]
    }),
  },
  {
    name: 'hook-retry-other-bytes',
    rule: 'automationDelivery: tried again with the same bytes',
    breaks: 'A call that is sent again says so in its body.',
    needs: ['retries'],
    ...deliveries((call, context) => {
      const key = `${call.path} ${call.body}`
      const isSeen = context.memory.has(key)
      context.memory.set(key, true)
      return [isSeen ? withBody(call, JSON.stringify({ ...jsonOf(call), retry: 1 }), context) : call]
    }),
  },
  {
    name: 'hook-retry-other-id',
    rule: 'automationDelivery: webhook-id is the same for each attempt',
    breaks: 'Each attempt has a webhook-id of its own.',
    needs: ['retries'],
    ...deliveryHeaders(headers => (headers['webhook-id'] === undefined ? {} : { 'webhook-id': crypto.randomUUID() })),
  },
  {
    name: 'hook-failure-taken-for-success',
    rule: 'automationDelivery: any 2XX is success, anything else is not',
    breaks: 'A 4XX of the receiver counts as a success.',
    needs: ['retries'],
    onReceipt: receipt => (receipt.status >= 400 && receipt.status < 500 ? { ...receipt, status: 200 } : receipt),
  },
  {
    name: 'hook-redirect-followed',
    rule: 'automationDelivery: redirects are not followed',
    breaks: 'A redirect of the receiver is followed.',
    async onReceipt(receipt, call) {
      const location = [receipt.headers.location].flat()[0]
      if (receipt.status < 300 || receipt.status > 399 || location === undefined) return receipt
      const { host: _, 'content-length': __, ...headers } = call.headers
      const { status } = await fetch(location, { method: 'POST', headers, body: new Uint8Array(call.body) })
      return { status, headers: {}, body: Buffer.alloc(0) }
    },
  },
  {
    name: 'hook-202-taken-for-failure',
    rule: 'automationDelivery: any 2XX is success',
    breaks: 'Only 200 is a success.',
    needs: ['retries'],
    onReceipt: receipt => (receipt.status > 200 && receipt.status < 300 ? { ...receipt, status: 500 } : receipt),
  },
  {
    name: 'hook-410-tried-again',
    rule: 'automationDelivery: 410 ends it at once',
    breaks: 'After 410 a call is tried again.',
    needs: ['retries'],
    onReceipt: receipt => (receipt.status === 410 ? { ...receipt, status: 500 } : receipt),
  },
  {
    name: 'hook-variables-left',
    rule: 'automationDelivery: the payload with its variables substituted',
    breaks: 'The type of the event is not substituted.',
    ...deliveryText(text => text.replaceAll('ADD_ARTIFACT_ALIAS', '$' + '{event_type}')),
  },
  {
    name: 'hook-quotes-break-the-body',
    rule: 'automationDelivery: no value can break or extend the payload',
    breaks: 'Values are put into the text of the payload, so that quotes in them end its strings.',
    ...deliveryText(text => text.replaceAll('\\"', '"')),
  },
  {
    name: 'hook-backslash-lost',
    rule: 'automationDelivery: a value is substituted as it is',
    breaks: 'Backslashes and line feeds in values become spaces.',
    ...deliveryText(text => text.replace(/\\\\|\\n/g, ' ')),
  },
  {
    name: 'hook-version-as-text',
    rule: 'automationDelivery: artifact_version is an object',
    breaks: 'Objects are written as text into the payload.',
    ...deliveryText(text => {
      const body: Record<string, unknown> = JSON.parse(text)
      const entries = Object.entries(body).map(([key, value]) => [
        key,
        typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
      ])
      return JSON.stringify(Object.fromEntries(entries))
    }),
  },
  {
    name: 'hook-empty-as-null',
    rule: 'automationDelivery: a variable that does not apply is empty',
    breaks: 'Variables without a value are null.',
    ...deliveryText(text => text.replaceAll('""', 'null')),
  },
  {
    name: 'hook-wrapped',
    rule: 'automationDelivery: the body is the payload',
    breaks: 'The payload comes within an envelope.',
    ...deliveryText(text => `{"payload":${text}}`),
  },
  {
    name: 'hook-log-shows-secrets',
    rule: 'listWebhookDeliveries: the values of secrets are masked',
    breaks: 'The log shows the values of secrets.',
    operations: ['listWebhookDeliveries', 'putSecret'],
    ...deliveries(call => [call]),
    onReply: (reply, _, context) => {
      const [secret = MASK] = secretsOf(context)
      return isOf('listWebhookDeliveries testWebhook', context)
        ? { ...reply, body: Buffer.from(reply.body.toString('utf8').replaceAll(MASK, secret)) }
        : reply
    },
  },
  {
    name: 'hook-log-empty',
    rule: 'listWebhookDeliveries: the deliveries of a webhook',
    breaks: 'The log of deliveries is empty.',
    operations: ['listWebhookDeliveries'],
    ...replyJson('listWebhookDeliveries', body => ({ ...body, data: [], first_id: '', last_id: '', has_more: false })),
  },
  {
    name: 'hook-test-made-up',
    rule: 'testWebhook: shows what came back',
    breaks: 'The test of a webhook always succeeds.',
    operations: ['testWebhook'],
    ...replyJson('testWebhook', body => ({ ...body, status: 200, error: null })),
  },
  {
    name: 'hook-test-sends-nothing',
    rule: 'testWebhook: sends a payload to the endpoint',
    breaks: 'The test of a webhook sends nothing.',
    operations: ['testWebhook'],
    onRequest: (request, context) =>
      isOf('testWebhook', context)
        ? toJsonReply(200, { status: 200, headers: {}, body: '', duration_ms: 1, error: null })
        : request,
  },
]

export const webhookFaults: Fault[] = faults.map(fault => ({
  ...fault,
  needs: ['receiver', ...(fault.needs ?? [])],
  operations: ['createWebhook', 'createAutomation', ...(fault.operations ?? [])],
}))
