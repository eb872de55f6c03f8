/** Fresh faults in webhooks, what is sent to them, and automations. */
import { createHmac } from 'node:crypto'
import type { Fault, ZooRequest } from './fault.ts'
import { rememberSecrets } from './held-out-zoo-deliveries.ts'
import {
  beside,
  bodyOf,
  isObject,
  type Json,
  look,
  objectsOf,
  onBody,
  onSuccess,
  onThings,
  refusal,
  remembered,
  textOf,
  withBody,
  withoutKeys,
} from './held-out-zoo-tools.ts'

const delivering = ['createWebhook', 'createAutomation']
const ofAutomations = ['createAutomation', 'getAutomation', 'updateAutomation', 'listAutomations']
const ofWebhooks = ['createWebhook', 'getWebhook', 'updateWebhook', 'listWebhooks']
const KEPT_CHARACTERS = 1024

/** The value with all texts in it changed, at any depth. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(one => mapTexts(one, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change)]))
}

/** Signs in the way of Standard Webhooks. */
function standardSignature(secret: string, call: ZooRequest, id: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret
  const signed = createHmac('sha256', key).update(`${id}.${call.headers['webhook-timestamp']}.`).update(call.body)
  return `v1,${signed.digest('base64')}`
}

export const freshWebhookFaults: Fault[] = [
  {
    name: 'fresh-enabled-hook-keeps-its-reason',
    rule: 'updateWebhook `enabled: true`, Schema Webhook disabled_at and disabled_reason: when and why it is disabled',
    breaks: 'Both stay when it is enabled again.',
    onReply: onThings(ofWebhooks, (webhook, context) => {
      const disabled = remembered<Json>(context, 'disabled')
      const id = textOf(webhook['id'])
      const { disabled_at, disabled_reason } = webhook
      if (webhook['enabled'] === false) disabled.set(id, { disabled_at, disabled_reason })
      return { ...webhook, ...disabled.get(id) }
    }),
  },
  {
    name: 'fresh-same-url-counts-as-move',
    rule: 'updateWebhook: a request that changes `endpoint_url` names both secrets again',
    breaks: 'A request that only repeats the `endpoint_url` has to name them too.',
    onRequest(request, context) {
      const body = bodyOf(request)
      const names = ['access_token_secret', 'signing_secret']
      const lacking = names.find(name => !(name in body))
      const isOf = context.operationId === 'updateWebhook' && 'endpoint_url' in body
      if (!isOf || lacking === undefined || !request.headers['authorization']) return request
      return refusal(request, 422, 'Name the secrets again', ['body', lacking])
    },
  },
  {
    name: 'fresh-own-name-is-taken',
    rule: 'updateWebhook name: the new name, unique in the team; createWebhook: a name that the team has already is a 400',
    breaks: 'An update that names the webhook as it is named already is a 400.',
    async onRequest(request, context) {
      const { name } = bodyOf(request)
      if (context.operationId !== 'updateWebhook' || typeof name !== 'string') return request
      const current = bodyOf(await look(request, context, request.path))
      return current['name'] === name ? refusal(request, 400, `There is a webhook ${name}.`, ['body', 'name']) : request
    },
  },
  {
    name: 'fresh-null-takes-no-secret-away',
    rule: 'updateWebhook, Schema UpdateWebhookRequest signing_secret: name of the secret that signs the body, or null for none',
    breaks: 'Null is taken for left out where the endpoint stays, so that the webhook keeps the secret.',
    onRequest: onBody(['updateWebhook'], body => {
      const nulls = ['access_token_secret', 'signing_secret'].filter(name => body[name] === null)
      return nulls.length > 0 && !('endpoint_url' in body) ? withoutKeys(body, ...nulls) : undefined
    }),
  },
  {
    name: 'fresh-test-sends-variables-raw',
    rule: 'testWebhook: variables of the payload that stand for an event have the values of a made-up one',
    breaks: 'Nothing is substituted in a test.',
    onRequest: onBody(['testWebhook'], body =>
      isObject(body['payload'])
        ? { ...body, payload: mapTexts(body['payload'], text => text.replaceAll('$', '$$$$')) }
        : undefined,
    ),
  },
  {
    name: 'fresh-repeated-headers-last-only',
    rule: 'testWebhook, Schema WebhookTestResult headers: several of one name are joined with a comma',
    breaks: 'Only the last one of a name is shown.',
    onReply: onSuccess(['testWebhook'], result => {
      const headers = Object.entries(isObject(result['headers']) ? result['headers'] : {}).map(([name, value]) => [
        name,
        name.startsWith('x-') || name === 'set-cookie' ? textOf(value).split(', ').at(-1) : value,
      ])
      return { ...result, headers: result['headers'] === null ? null : Object.fromEntries(headers) }
    }),
  },
  {
    name: 'fresh-answers-cut-at-one-kib',
    rule: 'testWebhook, Schema WebhookTestResult body: the first 64 KiB of the body; listWebhookDeliveries response_body too',
    breaks: 'Only the first 1024 characters are kept.',
    onReply: onSuccess(['testWebhook', 'listWebhookDeliveries', 'redeliverWebhook'], (value, _, context) => {
      const cut = (text: unknown) => (typeof text === 'string' ? text.slice(0, KEPT_CHARACTERS) : text)
      if (context.operationId === 'testWebhook') return { ...value, body: cut(value['body']) }
      const short = (delivery: Json): Json => ({
        ...delivery,
        attempts: objectsOf(delivery['attempts']).map(one => ({ ...one, response_body: cut(one['response_body']) })),
      })
      return 'attempts' in value ? short(value) : { ...value, data: objectsOf(value['data']).map(short) }
    }),
  },
  {
    name: 'fresh-redelivery-has-its-own-message-id',
    operations: delivering,
    rule: 'redeliverWebhook: with the id that it had; automationDelivery webhook-id: the same when it is delivered again',
    breaks: 'A delivery that is sent again has another `webhook-id`, and is signed with it.',
    async onRequest(request, context) {
      if (context.operationId === 'redeliverWebhook')
        remembered<boolean>(context, 'again').set((context.path['delivery_id'] ?? '').toLowerCase(), true)
      return rememberSecrets!(request, context)
    },
    onDelivery(call, context) {
      const id = call.headers['webhook-id'] ?? ''
      if (!remembered<boolean>(context, 'again').has(id)) return [call]
      const other = id.slice(0, -1) + (id.endsWith('f') ? 'e' : 'f')
      const signature = call.headers['webhook-signature']
      const secrets = [...remembered<boolean>(context, 'secrets').keys()]
      const secret = secrets.find(each => standardSignature(each, call, id) === signature)
      const signed: Record<string, string> =
        secret === undefined ? {} : { 'webhook-signature': standardSignature(secret, call, other) }
      return [{ ...call, headers: { ...call.headers, 'webhook-id': other, ...signed } }]
    },
  },
  {
    name: 'fresh-redelivery-forgets-attempts',
    operations: delivering,
    rule: 'listWebhookDeliveries: each with its newest 10 attempts; redeliverWebhook is a new round of the same delivery',
    breaks: 'After a redelivery only the attempts of the new round are in the log.',
    onReply: onSuccess(['redeliverWebhook', 'listWebhookDeliveries'], (value, _, context) => {
      const known = remembered<number>(context, 'attempts')
      if (context.operationId === 'redeliverWebhook') {
        const attempts = objectsOf(value['attempts'])
        known.set(textOf(value['id']), Math.max(0, ...attempts.map(({ number }) => Number(number))))
        return { ...value, attempts: [] }
      }
      const deliveries = objectsOf(value['data']).map(delivery => {
        const before = known.get(textOf(delivery['id'])) ?? 0
        return { ...delivery, attempts: objectsOf(delivery['attempts']).filter(one => Number(one['number']) > before) }
      })
      return { ...value, data: deliveries }
    }),
  },
  {
    name: 'fresh-replaced-token-still-sent',
    operations: delivering,
    rule: 'putSecret: webhooks that refer to the name use the new value from their next request on',
    breaks: 'The first value of a secret is still sent as the access token after it was replaced.',
    onRequest(request, context) {
      const { value } = bodyOf(request)
      if (context.operationId !== 'putSecret' || typeof value !== 'string') return request
      const first = remembered<string>(context, 'first')
      const place = `${context.path['entity']}/${context.path['name']}`
      if (!first.has(place)) first.set(place, value)
      remembered<string>(context, 'values').set(value, first.get(place)!)
      return request
    },
    onDelivery(call, context) {
      const token = /^Bearer (.*)$/.exec(call.headers['authorization'] ?? '')?.[1] ?? ''
      const old = remembered<string>(context, 'values').get(token)
      if (old === undefined || old === token) return [call]
      return [{ ...call, headers: { ...call.headers, authorization: `Bearer ${old}` } }]
    },
  },
  {
    name: 'fresh-two-dollars-stay-two',
    operations: delivering,
    rule: 'automationDelivery, payload: `$$` stands for one `$`; createAutomation payload',
    breaks: 'Both are sent.',
    onRequest: onBody(['createAutomation', 'updateAutomation'], body =>
      isObject(body['payload'])
        ? { ...body, payload: mapTexts(body['payload'], text => text.replaceAll('$$', '$$$$$$$$')) }
        : undefined,
    ),
    onReply: onThings(ofAutomations, automation => ({
      ...automation,
      payload: mapTexts(automation['payload'], text => text.replaceAll('$$$$', '$$$$')),
    })),
  },
  {
    name: 'fresh-alias-again-fires-again',
    operations: delivering,
    rule: 'Schema AutomationEventType: an alias is put on a version that did not bear it; addArtifactAlias: twice changes nothing',
    breaks: 'An alias that the version bears already, put on it again, fires automations again.',
    async onRequest(request, context) {
      if (context.operationId !== 'addArtifactAlias') return request
      const [path] = request.path.split('?')
      const version = bodyOf(await look(request, context, path!.replace(/\/aliases\/[^/]*$/, '')))
      const aliases: unknown[] = Array.isArray(version['aliases']) ? version['aliases'] : []
      if (aliases.includes(context.path['alias']))
        await context.send({ ...request, method: 'DELETE', body: Buffer.alloc(0) })
      return request
    },
  },
  {
    name: 'fresh-payload-merged',
    rule: 'updateAutomation: `scope`, `event`, `filter` and `payload` are replaced as a whole',
    breaks: 'Keys of the payload that an update leaves out stay.',
    async onRequest(request, context) {
      const body = bodyOf(request)
      if (context.operationId !== 'updateAutomation' || !isObject(body['payload'])) return request
      const current = bodyOf(
        await look(request, context, beside(request, `/v1/preview/automations/${context.path['automation_id']}`)),
      )
      if (!isObject(current['payload'])) return request
      return withBody(request, { ...body, payload: { ...current['payload'], ...body['payload'] } })
    },
  },
]
