/** Automations, secrets, keys, members and registries. Left out while the contract lacks their operations. */
import { isOf, replyItems, replyJson, toError, toJsonReply } from './change-replies.ts'
import { jsonOf, requestJson } from './change-requests.ts'
import type { Fault } from './fault.ts'

export const teamFaults: Fault[] = [
  {
    name: 'automation-alias-regex-ignored',
    rule: 'createAutomation: alias_regex',
    breaks: 'An automation fires for every alias.',
    operations: ['createAutomation'],
    needs: ['receiver'],
    ...requestJson('createAutomation', body => {
      if (typeof body.event?.alias_regex === 'string' && !body.event.alias_regex.includes('(('))
        body.event.alias_regex = '.*'
    }),
  },
  {
    name: 'automation-fires-disabled',
    rule: 'createAutomation: enabled',
    breaks: 'An automation fires although it is disabled.',
    operations: ['createAutomation'],
    needs: ['receiver'],
    ...requestJson('createAutomation updateAutomation', body => {
      if (body.enabled === false) body.enabled = true
    }),
  },
  {
    name: 'automation-filter-ignored',
    rule: 'createAutomation: filter',
    breaks: 'The filter by user and run name has no effect.',
    operations: ['createAutomation'],
    needs: ['receiver', 'training'],
    ...requestJson('createAutomation', body => {
      if (typeof body.filter === 'object') delete body.filter
    }),
  },
  {
    name: 'automation-update-replaces',
    rule: 'updateAutomation: changes what is named and leaves the rest',
    breaks: 'An update without a description removes it.',
    operations: ['updateAutomation'],
    ...requestJson('updateAutomation', body => {
      if (!('description' in body)) body.description = ''
    }),
  },
  {
    name: 'automation-executions-empty',
    rule: 'listAutomationExecutions: the executions of an automation',
    breaks: 'The list of executions is empty.',
    operations: ['listAutomationExecutions'],
    ...replyJson('listAutomationExecutions', body => ({
      ...body,
      data: [],
      first_id: '',
      last_id: '',
      has_more: false,
    })),
  },
  {
    name: 'secret-value-shown',
    rule: 'listSecrets: values go in, never come out',
    breaks: 'The list of secrets has the value of one.',
    operations: ['listSecrets', 'putSecret'],
    onRequest(request, { operationId, memory }) {
      if (operationId === 'putSecret') memory.set('value', jsonOf(request)?.value)
      return request
    },
    ...replyItems('listSecrets', item => item),
    onReply(reply, _, context) {
      if (!isOf('listSecrets', context) || reply.status !== 200) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      if (body.data[0]) body.data[0].name = context.memory.get('value') ?? body.data[0].name
      return toJsonReply(200, body)
    },
  },
  {
    name: 'secret-in-error',
    rule: 'putSecret 422: values go in, never come out',
    breaks: 'A refused secret is quoted in the message.',
    operations: ['putSecret'],
    onReply: (reply, request, context) =>
      isOf('putSecret', context) && reply.status >= 400
        ? toError(reply.status, `Bad value ${jsonOf(request)?.value}`)
        : reply,
  },
  {
    name: 'secret-kept',
    rule: 'deleteSecret: deletes the secret',
    breaks: 'Deleting a secret does nothing.',
    operations: ['deleteSecret', 'listSecrets'],
    onReply(reply, _, { operationId, memory }) {
      if (operationId === 'listSecrets' && reply.status === 200) {
        const kept = memory.get('kept') as typeof reply | undefined
        if (kept && JSON.parse(reply.body.toString('utf8')).data.length === 0) return kept
        memory.set('kept', reply)
      }
      return reply
    },
  },
  {
    name: 'key-shown-again',
    rule: 'listApiKeys: the secret is shown once',
    breaks: 'The list of keys shows the key with which it was asked.',
    operations: ['listApiKeys'],
    onReply(reply, request, context) {
      if (!isOf('listApiKeys', context) || reply.status !== 200) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      if (body.data[0]) body.data[0].name = request.headers.authorization
      return toJsonReply(200, body)
    },
  },
  {
    name: 'key-works-after-deletion',
    rule: 'deleteApiKey: the key is refused from then on',
    breaks: 'A deleted key still works.',
    operations: ['deleteApiKey', 'createApiKey'],
    onRequest(request, { operationId, keys, memory }) {
      const made = memory.get('made') as Set<string> | undefined
      const value = request.headers.authorization?.replace(/^Bearer /, '')
      return operationId !== 'deleteApiKey' && value !== undefined && made?.has(value)
        ? { ...request, headers: { ...request.headers, authorization: `Bearer ${keys.first}` } }
        : request
    },
    onReply(reply, _, { operationId, memory }) {
      if (operationId === 'createApiKey' && reply.status === 200) {
        const made = (memory.get('made') as Set<string> | undefined) ?? new Set<string>()
        for (const value of Object.values(JSON.parse(reply.body.toString('utf8'))))
          if (typeof value === 'string' && value.length >= 32) made.add(value)
        memory.set('made', made)
      }
      return reply
    },
  },
  {
    name: 'member-role-ignored',
    rule: 'putMember: role',
    breaks: 'Everyone becomes an admin.',
    operations: ['putMember'],
    ...requestJson('putMember', body => {
      if (body.role === 'member') body.role = 'admin'
    }),
  },
  {
    name: 'member-not-removed',
    rule: 'deleteMember: removes the member',
    breaks: 'listMembers still has a member that was removed.',
    operations: ['deleteMember', 'listMembers'],
    onReply(reply, _, { operationId, memory }) {
      if (operationId !== 'listMembers' || reply.status !== 200) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      const most = (memory.get('most') as unknown[] | undefined) ?? []
      if (body.data.length >= most.length) memory.set('most', body.data)
      return body.data.length < most.length ? toJsonReply(200, { ...body, data: most }) : reply
    },
  },
  {
    name: 'registry-link-lost',
    rule: 'listRegistryLinks: the links of a collection',
    breaks: 'The list of links is empty.',
    operations: ['listRegistryLinks'],
    ...replyJson('listRegistryLinks', body => ({ ...body, data: [], first_id: '', last_id: '', has_more: false })),
  },
  {
    name: 'tag-lost',
    rule: 'addArtifactTag: puts the tag on the version',
    breaks: 'Adding a tag changes nothing.',
    operations: ['addArtifactTag'],
    ...replyJson('addArtifactTag', body => ({ ...body, tags: [] })),
  },
  {
    name: 'run-metrics-empty',
    rule: 'getRunMetrics: series of values',
    breaks: 'A run has no metrics.',
    operations: ['getRunMetrics'],
    needs: ['training'],
    ...replyJson('getRunMetrics', body => ({ ...body, data: [] })),
  },
]
