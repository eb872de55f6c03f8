/** Held-out faults in errors, headers and authentication. */
import { randomUUID } from 'node:crypto'
import { changeJson, type Fault, type ZooReply } from './fault.ts'
import {
  asStatus,
  beside,
  bodyOf,
  chatOperations,
  isObject,
  type Json,
  look,
  objectsOf,
  refusal,
  remembered,
  textOf,
} from './held-out-zoo-tools.ts'

function onErrors(status: number, change: (body: Json) => Json): Fault['onReply'] {
  return reply =>
    reply.status === status ? changeJson<Json>(reply, body => (isObject(body) ? change(body) : body)) : reply
}

export const errorFaults: Fault[] = [
  {
    name: 'held-request-id-lost-on-errors',
    rule: "x-request-id: the request's own when that is sane",
    breaks: 'A validation failure has a new one.',
    onReply: reply =>
      reply.status === 422 ? { ...reply, headers: { ...reply.headers, 'x-request-id': randomUUID() } } : reply,
  },
  {
    name: 'held-any-request-id-echoed',
    rule: 'x-request-id: 1 to 128 letters, digits and `._-`, else a new UUID',
    breaks: 'Whatever the request sent comes back.',
    onReply(reply, request) {
      const own = request.headers['x-request-id']
      return own ? { ...reply, headers: { ...reply.headers, 'x-request-id': own } } : reply
    },
  },
  {
    name: 'held-loc-without-index',
    rule: 'Schema ValidationDetail loc: array indexes are written as strings',
    breaks: 'The index of the element at fault is missing.',
    onReply: onErrors(422, body => ({
      ...body,
      detail: objectsOf(body['detail']).map(each => ({
        ...each,
        loc: Array.isArray(each['loc']) ? each['loc'].filter(part => !/^\d+$/.test(String(part))) : each['loc'],
      })),
    })),
  },
  {
    name: 'held-query-errors-as-text',
    rule: 'Interface, errors: `detail` is an array of objects for a request validation failure',
    breaks: 'It is a text where the query is at fault.',
    onReply: onErrors(422, body => {
      const [first] = objectsOf(body['detail'])
      return Array.isArray(first?.['loc']) && first['loc'][0] === 'query' ? { ...body, detail: first['msg'] } : body
    }),
  },
  {
    name: 'held-first-broken-rule-only',
    rule: 'Schema ValidationErrorBody detail: the broken rules, at most 100 of them',
    breaks: 'Only the first one is told.',
    onReply: onErrors(422, body => ({ ...body, detail: objectsOf(body['detail']).slice(0, 1) })),
  },
  {
    name: 'held-short-detail',
    rule: 'Schema ErrorBody detail: the same text as `error.message`',
    breaks: 'The detail of a 404 is `Not Found`.',
    onReply: onErrors(404, body => ({ ...body, detail: 'Not Found' })),
  },
  {
    name: 'held-not-found-is-invalid-request',
    rule: 'Schema ErrorDetail type: 404 `not_found_error`',
    breaks: 'An unknown model of a chat completion has the type `invalid_request_error`.',
    onReply: (reply, _, context) =>
      reply.status === 404 && chatOperations.includes(context.operationId)
        ? asStatus(reply, 404, 'invalid_request_error')
        : reply,
  },
  {
    name: 'held-method-not-allowed-without-allow',
    rule: 'Errors 405: the path exists, the method does not; `Allow` lists the methods',
    breaks: 'The header is missing.',
    onReply: reply => (reply.status === 405 ? { ...reply, headers: { ...reply.headers, allow: undefined } } : reply),
  },
  {
    name: 'held-any-content-type',
    rule: "Errors 415: the body's content type is not the declared one",
    breaks: 'JSON is taken whatever its content type says.',
    onRequest: request =>
      Object.keys(bodyOf(request)).length > 0
        ? { ...request, headers: { ...request.headers, 'content-type': 'application/json' } }
        : request,
  },
  {
    name: 'held-unavailable-without-retry-after',
    needs: ['inside'],
    rule: 'Errors 503: `Retry-After` gives seconds',
    breaks: 'The header is missing.',
    onReply: reply =>
      reply.status === 503 ? { ...reply, headers: { ...reply.headers, 'retry-after': undefined } } : reply,
  },
  {
    name: 'held-unknown-keys-refused',
    rule: 'Ids, times and null: requests may hold keys that this document does not name: they are accepted and ignored',
    breaks: 'createModel refuses them.',
    onRequest(request, context) {
      if (context.operationId !== 'createModel' || !request.headers['authorization']) return request
      const known = ['entity', 'project', 'name', 'base_model', 'return_existing']
      const other = Object.keys(bodyOf(request)).find(key => !known.includes(key))
      return other ? refusal(request, 422, 'Extra inputs are not permitted', ['body', other]) : request
    },
  },
  {
    name: 'held-unknown-model-is-bad-request',
    rule: 'Schema ChatCompletionRequest model: an unknown one is a 404',
    breaks: 'It is a 400.',
    onReply: (reply, _, context) =>
      reply.status === 404 && chatOperations.includes(context.operationId)
        ? asStatus(reply, 400, 'invalid_request_error')
        : reply,
  },
]

export const authFaults: Fault[] = [
  {
    name: 'held-body-judged-before-credentials',
    rule: 'Errors 401: missing or wrong credentials, before the body is read',
    breaks: 'Without credentials a body that is no JSON is a 422.',
    onRequest(request) {
      const isJson = request.headers['content-type']?.startsWith('application/json')
      if (!isJson || request.headers['authorization'] || request.body.length === 0) return request
      try {
        JSON.parse(request.body.toString('utf8'))
        return request
      } catch {
        return refusal(request, 422, 'Not JSON.')
      }
    },
  },
  {
    name: 'held-key-without-scheme',
    rule: 'Authentication: `Authorization: Bearer <API key>`',
    breaks: 'The bare key is taken too.',
    onRequest(request) {
      const own = request.headers['authorization'] ?? ''
      if (!/^[^ ]+$/.test(own)) return request
      return { ...request, headers: { ...request.headers, authorization: `Bearer ${own}` } }
    },
  },
  {
    name: 'held-basic-everywhere',
    rule: 'Authentication: everything under `/v1` takes `Authorization: Bearer <API key>`',
    breaks: 'Basic credentials are taken there too.',
    onRequest(request, context) {
      const [scheme, value = ''] = (request.headers['authorization'] ?? '').split(' ')
      const isElsewhere = context.operationId.includes('Scorer')
      if (scheme?.toLowerCase() !== 'basic' || isElsewhere) return request
      const password = Buffer.from(value, 'base64').toString('utf8').split(':').slice(1).join(':')
      return { ...request, headers: { ...request.headers, authorization: `Bearer ${password}` } }
    },
  },
  {
    name: 'held-basic-user-checked',
    rule: 'Authentication: the username of Basic authentication is not checked',
    breaks: 'Any other than `api` is a 401.',
    onRequest(request, context) {
      const [scheme, value = ''] = (request.headers['authorization'] ?? '').split(' ')
      if (scheme?.toLowerCase() !== 'basic' || !context.operationId.includes('Scorer')) return request
      if (Buffer.from(value, 'base64').toString('utf8').startsWith('api:')) return request
      const reply = refusal(request, 401, 'The credentials are wrong.')
      return { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Basic realm="trainyard"' } }
    },
  },
  {
    name: 'held-router-list-needs-key',
    rule: 'Interface, authentication: none for the health check and the public router model list',
    breaks: 'The router list without a key is a 401.',
    onRequest: (request, context) =>
      context.operationId === 'listRouterModels' && !request.headers['authorization']
        ? refusal(request, 401, 'Credentials are missing.')
        : request,
  },
  {
    name: 'held-wrong-key-unchallenged',
    rule: 'Errors 401: credentials are missing or wrong; `WWW-Authenticate` names the scheme',
    breaks: 'The header is only there where credentials are missing.',
    onReply: (reply, request) =>
      reply.status === 401 && request.headers['authorization']
        ? { ...reply, headers: { ...reply.headers, 'www-authenticate': undefined } }
        : reply,
  },
  {
    name: 'held-unknown-team-not-found',
    rule: 'Errors 403: the request names a team that the caller is not in, whether or not it exists',
    breaks: 'A team that has never been heard of is a 404.',
    onReply(reply, _, context): ZooReply {
      const teams = remembered<boolean>(context, 'teams')
      const entity = context.path['entity']
      if (entity === undefined) return reply
      if (reply.status === 200) teams.set(entity, true)
      return reply.status === 403 && !teams.has(entity) ? asStatus(reply, 404, 'not_found_error') : reply
    },
  },
  {
    name: 'held-model-of-other-team-forbidden',
    rule: 'getModel: a model of a team that the caller is not in is a 404',
    breaks: 'It is a 403.',
    onReply(reply, request, context): ZooReply {
      const makers = remembered<string | undefined>(context, 'makers')
      const caller = request.headers['authorization']
      if (context.operationId === 'createModel' && reply.status === 200) makers.set(textOf(bodyOf(reply)['id']), caller)
      const maker = makers.get(context.path['model_id'] ?? '')
      const isOther = reply.status === 404 && maker !== undefined && maker !== caller
      return isOther ? asStatus(reply, 403, 'permission_error') : reply
    },
  },
  {
    name: 'held-link-of-other-team-forbidden',
    operations: ['createRegistryLink'],
    rule: 'createRegistryLink: a URI of a team that the caller is not in is a 404',
    breaks: 'It is a 403.',
    onReply: (reply, _, context) =>
      reply.status === 404 && context.operationId === 'createRegistryLink'
        ? asStatus(reply, 403, 'permission_error')
        : reply,
  },
  {
    name: 'held-foreign-project-header-ignored',
    rule: 'Vendor-Project: a team that the caller is not in is a 403',
    breaks: 'The header is ignored then, and the completion comes.',
    async onRequest(request, context) {
      const own = Object.keys(request.headers).find(name => name.endsWith('-project') && name !== 'openai-project')
      if (!chatOperations.includes(context.operationId) || !own) return request
      const { [own]: value, ...headers } = request.headers
      const asked = await look(request, context, beside(request, '/v1/models'))
      const entity = encodeURIComponent(value?.split('/')[0] ?? '')
      const team = await look(request, context, beside(request, `/v1/preview/usage?entity=${entity}`))
      return asked.status === 200 && team.status === 403 ? { ...request, headers } : request
    },
  },
]
