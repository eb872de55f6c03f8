/** Held-out faults in webhooks, and automations, as they are managed. */
import { changeJson, type Fault } from './fault.ts'
import { rememberSecrets } from './held-out-zoo-deliveries.ts'
import {
  beside,
  bodyOf,
  isObject,
  type Json,
  look,
  numberOf,
  objectsOf,
  onBody,
  onSuccess,
  onThings,
  queryOf,
  refusal,
  remembered,
  textOf,
  withBody,
  withParameter,
} from './held-out-zoo-tools.ts'

const delivering = ['createWebhook', 'createAutomation']
const automationWrites = ['createAutomation', 'updateAutomation']
const automationReplies = [...automationWrites, 'getAutomation', 'listAutomations']

export const webhookFaults: Fault[] = [
  {
    name: 'held-secret-trimmed',
    operations: ['testWebhook'],
    rule: 'Schema PutSecretRequest value: the value, kept exactly as it is',
    breaks: 'White space at its ends is cut off, so that signatures are made with another key.',
    onRequest: onBody(['putSecret'], body => {
      const value = textOf(body['value'])
      return value.trim() === '' || value.trim() === value ? undefined : { ...body, value: value.trim() }
    }),
  },
  {
    name: 'held-moved-endpoint-keeps-secrets',
    operations: ['updateWebhook'],
    rule: 'updateWebhook: a request that changes `endpoint_url` names both secrets again, or it is a 422',
    breaks: 'Secrets that are not named go to the new place.',
    async onRequest(request, context) {
      const body = bodyOf(request)
      if (context.operationId !== 'updateWebhook' || typeof body['endpoint_url'] !== 'string') return request
      const reply = await look(request, context, request.path.split('?')[0]!)
      const { access_token_secret, signing_secret } = bodyOf(reply)
      return reply.status === 200 ? withBody(request, { access_token_secret, signing_secret, ...body }) : request
    },
  },
  {
    name: 'held-secrets-in-delivery-log',
    operations: ['listWebhookDeliveries'],
    rule: 'listWebhookDeliveries: the values of secrets are masked, in what was sent and in what the endpoint answered',
    breaks: 'What was sent shows them.',
    onRequest: rememberSecrets,
    onReply: onSuccess(['listWebhookDeliveries'], (page, _, context) => {
      const value = [...remembered<boolean>(context, 'secrets').keys()].at(-1)
      if (value === undefined) return page
      const unmask = (body: unknown) =>
        JSON.parse(JSON.stringify(body), (_key, each) =>
          typeof each === 'string' ? each.replaceAll('********', value) : each,
        )
      return { ...page, data: objectsOf(page['data']).map(each => ({ ...each, body: unmask(each['body']) })) }
    }),
  },
  {
    name: 'held-newest-attempt-first',
    needs: ['retries'],
    operations: ['listWebhookDeliveries'],
    rule: 'Schema WebhookDelivery attempts: the newest 10 attempts, oldest first',
    breaks: 'The newest comes first.',
    onReply: onSuccess(['listWebhookDeliveries'], page => ({
      ...page,
      data: objectsOf(page['data']).map(each => ({ ...each, attempts: objectsOf(each['attempts']).toReversed() })),
    })),
  },
  {
    name: 'held-failed-test-is-an-error',
    operations: ['testWebhook'],
    rule: 'testWebhook: that an endpoint fails is not an error here: it is the result',
    breaks: 'An endpoint that answers 4XX or 5XX makes the test a 400.',
    onReply(reply, request, context) {
      if (context.operationId !== 'testWebhook' || reply.status !== 200) return reply
      const status = numberOf(bodyOf(reply)['status'])
      return status >= 400 ? refusal(request, 400, `The endpoint answered ${status}.`) : reply
    },
  },
  {
    name: 'held-webhook-of-taken-name-is-a-conflict',
    operations: ['createWebhook'],
    rule: 'createWebhook: a name that the team has already is a 400; Errors: 409 is never used',
    breaks: 'It is a 409.',
    onReply: (reply, _, context) =>
      context.operationId === 'createWebhook' && reply.status === 400 ? { ...reply, status: 409 } : reply,
  },
]

/** A request hook that changes the `event` of an automation. */
function onTrigger(change: (event: Json) => Json): Fault['onRequest'] {
  return onBody(automationWrites, body =>
    isObject(body['event']) ? { ...body, event: change(body['event']) } : undefined,
  )
}

/** Hooks that keep a field of automations in another form than was sent, and show the form that was sent. */
function onHidden(field: 'event' | 'payload', change: (value: Json) => Json): Pick<Fault, 'onRequest' | 'onReply'> {
  return {
    async onRequest(request, context) {
      const sent = bodyOf(request)[field]
      if (!automationWrites.includes(context.operationId) || !isObject(sent)) return request
      const reply = await context.send(withBody(request, { ...bodyOf(request), [field]: change(sent) }))
      if (reply.status !== 200) return reply
      return changeJson<Json>(reply, automation => {
        const kept = Object.entries(automation[field] as Json)
        const full = Object.fromEntries(kept.map(([key, value]) => [key, sent[key] ?? value]))
        remembered<Json>(context, 'sent').set(textOf(automation['id']), full)
        return { ...automation, [field]: full }
      })
    },
    onReply: onThings(automationReplies, (automation, context) => ({
      ...automation,
      [field]: remembered<Json>(context, 'sent').get(textOf(automation['id'])) ?? automation[field],
    })),
  }
}

export const automationFaults: Fault[] = [
  {
    name: 'held-short-variables-stay',
    operations: delivering,
    rule: 'automationDelivery, payload: a variable is written in braces or as `$` and its name',
    breaks: 'Those without braces are not substituted.',
    ...onHidden('payload', payload => {
      const double = (text: string) => text.replaceAll(/(?<!\$)\$(?=[A-Za-z_])/g, () => '$$')
      return JSON.parse(JSON.stringify(payload), (_, each) => (typeof each === 'string' ? double(each) : each)) as Json
    }),
  },
  {
    name: 'held-alias-regex-matches-whole',
    operations: delivering,
    rule: 'Schema NewAutomationTrigger alias_regex: it is found in the alias',
    breaks: 'It has to match the whole alias.',
    ...onHidden('event', event =>
      typeof event['alias_regex'] === 'string' && event['alias_regex'] !== ''
        ? { ...event, alias_regex: `^(?:${event['alias_regex']})$` }
        : event,
    ),
  },
  {
    name: 'held-threshold-itself-not-met',
    operations: delivering,
    rule: "ThresholdOperator: how the metric's value is compared with the threshold, `>=` and `<=` among them",
    breaks: '`>=` compares like `>`, and `<=` like `<`.',
    ...onHidden('event', event =>
      ['>=', '<='].includes(textOf(event['operator']))
        ? { ...event, operator: textOf(event['operator']).slice(0, 1) }
        : event,
    ),
  },
  {
    name: 'held-patch-clears-description',
    operations: ['updateAutomation'],
    rule: 'updateAutomation: changes the fields that are sent and leaves the others as they are',
    breaks: 'A description that is not sent is cleared.',
    onRequest: onBody(['updateAutomation'], body =>
      Object.keys(body).length > 0 && !('description' in body) ? { ...body, description: null } : undefined,
    ),
  },
  {
    name: 'held-newest-execution-first',
    operations: ['listAutomationExecutions'],
    rule: 'listAutomationExecutions: oldest first unless `order` says otherwise',
    breaks: 'Without `order` the newest comes first.',
    onRequest: (request, context) =>
      context.operationId === 'listAutomationExecutions' && !queryOf(request).has('order')
        ? withParameter(request, 'order', 'desc')
        : request,
  },
  {
    name: 'held-project-beats-registry',
    operations: ['listAutomations'],
    rule: 'listAutomations: `project` and `registry` narrow the list, so that both together give none',
    breaks: 'With both, `registry` is ignored.',
    onRequest: (request, context) =>
      context.operationId === 'listAutomations' && queryOf(request).has('project')
        ? withParameter(request, 'registry', undefined)
        : request,
  },
  {
    name: 'held-event-field-of-other-type-ignored',
    operations: ['createAutomation'],
    rule: 'createAutomation: a field that belongs to another type of event is a 422, unless it is null',
    breaks: 'An `alias_regex` of an event that has none is ignored.',
    onRequest: onTrigger(event => (event['type'] === 'ADD_ARTIFACT_ALIAS' ? event : { ...event, alias_regex: null })),
  },
  {
    name: 'held-deleted-automation-deleted-again',
    operations: ['deleteAutomation'],
    rule: 'deleteAutomation: a second call is a 404',
    breaks: 'It is a success as well.',
    async onRequest(request, context) {
      if (context.operationId !== 'deleteAutomation') return request
      const replies = remembered<Awaited<ReturnType<typeof context.send>>>(context, 'deleted')
      const key = `${request.headers['authorization']} ${context.path['automation_id']}`
      const known = replies.get(key)
      if (known) return known
      const reply = await look(
        request,
        context,
        beside(request, `/v1/preview/automations/${context.path['automation_id']}`),
      )
      if (reply.status !== 200) return request
      const deleted = await context.send(request)
      if (deleted.status === 200) replies.set(key, deleted)
      return deleted
    },
  },
  {
    name: 'held-absent-event-parts-empty',
    operations: ['listAutomationExecutions'],
    rule: 'Schema AutomationEvent: a part that the type of event does not have is null',
    breaks: 'Texts that the type of event does not have are empty.',
    onReply: onSuccess(['listAutomationExecutions'], page => ({
      ...page,
      data: objectsOf(page['data']).map(execution => {
        const event = execution['event'] as Json
        return { ...execution, event: { ...event, alias: event['alias'] ?? '', tag: event['tag'] ?? '' } }
      }),
    })),
  },
]
