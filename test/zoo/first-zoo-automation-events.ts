/** Automations that fire when they should not, or do not when they should: told from what their history shows. */
import { replyItems } from './change-replies.ts'
import { requestJson, requestQuery, whereGood } from './change-requests.ts'
import type { Fault, ZooContext } from './fault.ts'
import {
  bodyOf,
  isList,
  type Json,
  look,
  objectsOf,
  onSuccess,
  remembered,
  textOf,
  withBody,
  withItems,
} from './held-out-zoo-tools.ts'

const HISTORY = ['listAutomationExecutions']
const RECORDS = ['createAutomation', 'getAutomation', 'updateAutomation']

const eventOf = (execution: Json) => (execution['event'] ?? {}) as Json
const aliasOf = (execution: Json) => textOf(eventOf(execution)['alias'])

/** A history that lacks some executions. */
function without(isLost: (execution: Json, before: readonly Json[]) => boolean): Pick<Fault, 'onReply'> {
  const onReply = onSuccess(HISTORY, page => {
    const all = objectsOf(page['data'])
    const kept = all.filter((execution, place) => !isLost(execution, all.slice(0, place)))
    return isList(page) && kept.length < all.length ? withItems(page, kept) : page
  })
  return { onReply: onReply! }
}

/** The expression is another one than the record shows. */
function withExpression(change: (expression: string) => string): Pick<Fault, 'onRequest' | 'onReply'> {
  return {
    ...requestJson('createAutomation', body => {
      if (typeof body.event?.alias_regex === 'string') body.event.alias_regex = change(body.event.alias_regex)
    }),
    onReply: onSuccess(RECORDS, (record, request, context) => {
      const known = remembered<Json>(context, 'events')
      if (context.operationId === 'createAutomation') {
        const sent = (bodyOf(request)['event'] ?? {}) as Json
        const expression = textOf(sent['alias_regex'])
        if (expression) known.set(textOf(record['id']), { alias_regex: originalOf(expression, change) })
      }
      const shown = known.get(textOf(record['id']))
      return shown ? { ...record, event: { ...(record['event'] as Json), ...shown } } : record
    })!,
  }
}

/** The proxy keeps the request as it was sent on; what was added stands at its ends. */
function originalOf(expression: string, change: (expression: string) => string): string {
  const [before, behind] = change('\0').split('\0') as [string, string]
  return expression.slice(before.length, expression.length - behind.length)
}

const idOf = (context: ZooContext) => context.path['automation_id'] ?? ''

export const automationEventFaults: Fault[] = [
  {
    name: 'latest-fires-nothing',
    rule: 'createArtifactVersion, createAutomation: `latest` fires ADD_ARTIFACT_ALIAS',
    breaks: 'The alias latest fires nothing.',
    ...without(execution => aliasOf(execution) === 'latest'),
  },
  {
    name: 'aliases-at-upload-fire-nothing',
    rule: 'createArtifactVersion, createAutomation: an alias is put on a version',
    breaks: 'Aliases that come with an upload fire nothing.',
    ...without(execution => aliasOf(execution) === 'chosen' || aliasOf(execution) === 'step0'),
  },
  {
    name: 'moved-alias-fires-nothing',
    rule: 'addArtifactAlias, createAutomation: an alias is put on a version that did not bear it',
    breaks: 'An alias fires only the first time that an artifact gets it.',
    ...without(
      (execution, before) => aliasOf(execution) !== '' && before.some(one => aliasOf(one) === aliasOf(execution)),
    ),
  },
  {
    name: 'threshold-fires-again',
    rule: 'createAutomation: an automation fires at most once for a run within 24 hours',
    breaks: 'Every value beyond the threshold fires.',
    onReply: onSuccess(HISTORY, page => {
      const again = objectsOf(page['data']).flatMap(one =>
        eventOf(one)['type'] === 'RUN_METRIC'
          ? [one, { ...one, id: textOf(one['id']).replace(/.$/, digit => (digit === '0' ? '1' : '0')) }]
          : [one],
      )
      return isList(page) ? withItems(page, again) : page
    })!,
  },
  {
    name: 'threshold-once-for-all-runs',
    rule: 'createAutomation: an automation fires at most once for a run',
    breaks: 'A threshold fires once, whichever run reaches it.',
    ...without((execution, before) => eventOf(execution)['type'] === 'RUN_METRIC' && before.length > 0),
  },
  {
    name: 'automation-rules-cached',
    rule: 'updateAutomation: the automation as it will be; it applies at once',
    breaks: 'A changed automation goes on as it was, though its record shows the change.',
    onRequest(request, context) {
      if (context.operationId !== 'updateAutomation') return request
      const sent = bodyOf(request)
      const { name, description, webhook_id, payload, filter, ...kept } = sent
      if (!('event' in kept || 'scope' in kept || 'enabled' in kept) || filter !== undefined) return request
      remembered<Json>(context, 'changes').set(idOf(context), {
        ...remembered<Json>(context, 'changes').get(idOf(context)),
        ...kept,
      })
      return withBody(request, { name, description, webhook_id, payload })
    },
    onReply: onSuccess(['updateAutomation', 'getAutomation'], (record, _, context) => {
      const { event, scope, ...rest } = remembered<Json>(context, 'changes').get(idOf(context)) ?? {}
      const merged = (name: string, value: unknown) =>
        value ? { [name]: { ...(record[name] as Json), ...(value as Json) } } : {}
      return { ...record, ...rest, ...merged('event', event), ...merged('scope', scope) }
    })!,
  },
  {
    name: 'expression-matches-the-whole-alias',
    rule: 'createAutomation: the expression is searched for anywhere in the text',
    breaks: 'It has to match the whole alias.',
    ...withExpression(expression => `^(?:${expression})$`),
  },
  {
    name: 'expression-ignores-case',
    rule: 'createAutomation: upper and lower case differ',
    breaks: 'Upper and lower case are the same in an expression.',
    ...withExpression(expression => `(?i)${expression}`),
  },
  {
    name: 'updates-of-automations-unjudged',
    rule: 'updateAutomation: the rules are those of createAutomation',
    breaks: 'An update that breaks a rule is a 200 that changes nothing.',
    async onReply(reply, request, context) {
      if (context.operationId !== 'updateAutomation' || reply.status !== 422) return reply
      const [path] = request.path.split('?')
      const record = await look(request, context, path!)
      return record.status === 200 ? record : reply
    },
  },
  {
    name: 'nulls-of-other-event-types-refused',
    rule: 'createAutomation: a field that belongs to another type is a 422, unless it is null',
    breaks: 'Null is a 422 too.',
    ...requestJson('createAutomation updateAutomation', body => {
      for (const name of ['metric', 'operator', 'threshold'])
        if (body.event?.alias_regex && body.event[name] === null) body.event[name] = name === 'threshold' ? 1 : '>'
    }),
  },
  {
    name: 'registry-filter-of-automations-ignored',
    rule: 'listAutomations: `registry` narrows the list',
    breaks: 'The registry filter has no effect.',
    ...whereGood(requestQuery('listAutomations', query => query.delete('registry'))),
  },
  {
    name: 'project-filter-of-automations-ignored',
    rule: 'listAutomations: `project` narrows the list',
    breaks: 'The project filter has no effect.',
    ...whereGood(requestQuery('listAutomations', query => query.delete('project'))),
  },
  {
    name: 'execution-of-another-automation',
    rule: 'listAutomationExecutions: the automation of each',
    breaks: 'The automation_id of an execution is that of its delivery.',
    ...replyItems('listAutomationExecutions', item => ({ ...item, automation_id: item.delivery_id ?? item.id })),
  },
]
