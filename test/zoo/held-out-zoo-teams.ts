/** Held-out faults in secrets, API keys, members and usage. */
import type { Fault, ZooReply, ZooRequest } from './fault.ts'
import { changeJson } from './fault.ts'
import {
  answer,
  asStatus,
  beside,
  bodyOf,
  chatOperations,
  isList,
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
  withItems,
  withParameter,
} from './held-out-zoo-tools.ts'

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
}

export const teamFaults: Fault[] = [
  {
    name: 'held-secret-in-validation-message',
    operations: ['putSecret'],
    rule: 'putSecret: the value is never given back',
    breaks: 'The message about a value that breaks a rule quotes the value.',
    onReply(reply, request, context) {
      const value = bodyOf(request)['value']
      if (context.operationId !== 'putSecret' || reply.status !== 422 || value === undefined) return reply
      return changeJson<Json>(reply, body => ({
        ...body,
        detail: objectsOf(body['detail']).map(each => ({
          ...each,
          msg: `${each['msg']}, got ${JSON.stringify(value)}`,
        })),
      }))
    },
  },
  {
    name: 'held-replaced-secret-gets-new-id',
    operations: ['putSecret'],
    rule: 'Schema Secret id: it stays when the value is replaced',
    breaks: 'The id changes with each value.',
    onRequest(request, context) {
      if (context.operationId !== 'putSecret' || typeof bodyOf(request)['value'] !== 'string') return request
      const puts = remembered<number>(context, 'puts')
      const name = `${context.path['entity']}/${context.path['name']}`
      puts.set(name, (puts.get(name) ?? -1) + 1)
      return request
    },
    onReply: onThings(['putSecret', 'listSecrets', 'deleteSecret'], (secret, context) => {
      const count = remembered<number>(context, 'puts').get(`${secret['entity']}/${secret['name']}`) ?? 0
      const id = textOf(secret['id'])
      const last = (Number.parseInt(id.slice(-1), 16) + count) % 16
      return { ...secret, id: id.slice(0, -1) + last.toString(16) }
    }),
  },
  {
    name: 'held-secret-never-updated',
    operations: ['putSecret'],
    rule: 'Schema Secret updated_at: when its value was last stored',
    breaks: '`updated_at` stays the time of the first value.',
    onReply: onThings(['putSecret', 'listSecrets'], secret => ({ ...secret, updated_at: secret['created_at'] })),
  },
  {
    name: 'held-revoked-key-works-a-while',
    operations: ['deleteApiKey'],
    rule: 'deleteApiKey: revokes a key, from the reply on',
    breaks: 'A revoked key works for some more seconds, as long as it stays in a cache.',
    onRequest(request, context) {
      const revoked = remembered<{ until: number; by: string }>(context, 'revoked')
      const cached = revoked.get(request.headers['authorization'] ?? '')
      if (!cached || Date.now() > cached.until) return request
      return { ...request, headers: { ...request.headers, authorization: cached.by } }
    },
    onReply: onSuccess(['createApiKey', 'deleteApiKey'], (key, request, context) => {
      const made = remembered<string>(context, 'made')
      if (context.operationId === 'createApiKey') made.set(textOf(key['id']), textOf(key['key']))
      const gone = context.operationId === 'deleteApiKey' ? `Bearer ${made.get(textOf(key['id']))}` : undefined
      const caller = request.headers['authorization'] ?? ''
      const by = caller === gone ? `Bearer ${context.keys.first}` : caller
      if (gone) remembered(context, 'revoked').set(gone, { until: Date.now() + 10_000, by })
      return key
    }),
  },
  {
    name: 'held-api-key-without-team-refused',
    operations: ['createApiKey'],
    rule: 'Schema CreateApiKeyRequest team: null or left out, the team of the key that asks',
    breaks: 'A team of null is refused.',
    onRequest: (request, context) =>
      context.operationId === 'createApiKey' && request.headers['authorization'] && bodyOf(request)['team'] === null
        ? refusal(request, 422, 'Input should be a string', ['body', 'team'])
        : request,
  },
  {
    name: 'held-api-key-names-unique',
    operations: ['createApiKey'],
    rule: 'Schema CreateApiKeyRequest name: several keys may have the same name',
    breaks: 'A second key of a name is a 400.',
    onRequest(request, context): ZooRequest | ZooReply {
      const name = `${request.headers['authorization']} ${bodyOf(request)['name']}`
      const isTaken = context.operationId === 'createApiKey' && remembered(context, 'names').has(name)
      return isTaken ? refusal(request, 400, 'There is a key of this name.', ['body', 'name']) : request
    },
    onReply: onSuccess(['createApiKey'], (key, request, context) => {
      remembered<boolean>(context, 'names').set(`${request.headers['authorization']} ${key['name']}`, true)
      return key
    }),
  },
  {
    name: 'held-member-roles-merged',
    operations: ['putMember'],
    rule: 'putMember: it replaces: roles that the body leaves out are gone afterwards',
    breaks: 'Roles that the body leaves out stay.',
    async onRequest(request, context) {
      const body = bodyOf(request)
      if (context.operationId !== 'putMember' || typeof body['role'] !== 'string') return request
      const entity = encodeURIComponent(context.path['entity'] ?? '')
      const page = await look(request, context, beside(request, `/v1/preview/teams/${entity}/members?limit=100`))
      const member = objectsOf(bodyOf(page)['data']).find(each => each['user'] === context.path['user'])
      const fill = { project_admin: member?.['project_admin'], registry_admin: member?.['registry_admin'] }
      return onBody(['putMember'], own => (member ? { ...fill, ...own } : undefined))!(request, context)
    },
  },
  {
    name: 'held-deleted-member-keys-uncounted',
    operations: ['deleteMember'],
    rule: "Schema DeletedMember deleted_api_keys: number of the user's API keys that were bound to the team",
    breaks: 'It is always 0.',
    onReply: onSuccess(['deleteMember'], deleted => ({ ...deleted, deleted_api_keys: 0 })),
  },
  {
    name: 'held-last-admin-forbidden',
    operations: ['deleteMember'],
    rule: "putMember, deleteMember: taking its role from the team's last admin is a 400",
    breaks: 'It is a 403.',
    onReply: (reply, _, context) =>
      ['putMember', 'deleteMember'].includes(context.operationId) && reply.status === 400
        ? asStatus(reply, 403, 'permission_error')
        : reply,
  },
  {
    name: 'held-absent-member-deleted',
    operations: ['deleteMember'],
    rule: 'deleteMember: a user who is not in the team is a 404',
    breaks: 'It is a success.',
    onReply(reply, request, context) {
      if (context.operationId !== 'deleteMember' || reply.status !== 404) return reply
      const { entity, user } = context.path
      return answer(request, { id: user, entity, user, deleted_api_keys: 0, deleted: true })
    },
  },
  {
    name: 'held-members-admins-first',
    operations: ['listMembers'],
    rule: 'listMembers: the members with their roles, ordered by name',
    breaks: 'Admins stand before members.',
    onReply: onSuccess(['listMembers'], page =>
      withItems(
        page,
        objectsOf(page['data']).toSorted((a, b) => textOf(a['role']).localeCompare(textOf(b['role']))),
      ),
    ),
  },
]

export const usageFaults: Fault[] = [
  {
    name: 'held-usage-without-last-day',
    rule: 'getUsage to: the last day to give, in UTC; all of it is included',
    breaks: 'The last day is left out.',
    async onRequest(request, context) {
      const query = queryOf(request)
      const to = query.get('to') ?? ''
      if (context.operationId !== 'getUsage' || Number.isNaN(Date.parse(to))) return request
      const before = dayBefore(to)
      if ((query.get('from') ?? '') <= before) return withParameter(request, 'to', before)
      const reply = await context.send(request)
      return changeJson<Json>(reply, page => (isList(page) ? { ...withItems(page, []), has_more: false } : page))
    },
  },
  {
    name: 'held-prompt-counts-for-each-choice',
    rule: 'getUsage: prompt tokens count once whatever `n` is',
    breaks: 'They count for each choice.',
    onReply: onSuccess([...chatOperations, 'getUsage'], (value, request, context) => {
      const extra = remembered<number>(context, 'extra')
      if (context.operationId === 'getUsage') {
        const count = (line: Json) => numberOf(line['prompt_tokens']) + (extra.get(textOf(line['model'])) ?? 0)
        return { ...value, data: objectsOf(value['data']).map(line => ({ ...line, prompt_tokens: count(line) })) }
      }
      const more = numberOf(bodyOf(request)['n']) - 1
      const usage = isObject(value['usage']) ? value['usage'] : {}
      const model = textOf(value['model'])
      if (more > 0) extra.set(model, (extra.get(model) ?? 0) + more * numberOf(usage['prompt_tokens']))
      return value
    }),
  },
  {
    name: 'held-usage-model-with-version-unknown',
    rule: 'getUsage model: by any form of its URI; the version in a URI is not looked at',
    breaks: 'A URI with a version finds nothing.',
    onReply: onSuccess(['getUsage'], (page, request) =>
      /\/[^/]+:[^/:]+$/.test(queryOf(request).get('model') ?? '') ? { ...withItems(page, []), has_more: false } : page,
    ),
  },
  {
    name: 'held-openai-project-wins',
    rule: 'Vendor-Project: when `OpenAI-Project` is sent too, this one counts',
    breaks: '`OpenAI-Project` counts.',
    onRequest(request, context) {
      const own = Object.keys(request.headers).find(name => name.endsWith('-project') && name !== 'openai-project')
      if (!chatOperations.includes(context.operationId) || !own || !request.headers['openai-project']) return request
      const { [own]: _, ...headers } = request.headers
      return { ...request, headers }
    },
  },
  {
    name: 'held-openai-project-id-refused',
    rule: 'OpenAI-Project: a value that is not `<team>/<project>` attributes nothing and is no error',
    breaks: 'It is refused.',
    onRequest: (request, context) =>
      chatOperations.includes(context.operationId) &&
      request.headers['authorization'] &&
      /^[^/]+$/.test(request.headers['openai-project'] ?? '')
        ? refusal(request, 422, 'Not a project.', ['header', 'OpenAI-Project'])
        : request,
  },
]
