/** Credentials that are not asked for, or told to others, and what another team sees. */
import { isOf, replyHeaders, replyItems, replyJson, replyStatus, toError } from './change-replies.ts'
import { requestHeaders } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { isOfKey, seenByOthers, withFirstKey } from './second-key.ts'

const READING_MODELS = 'getModel deleteModel listCheckpoints deleteCheckpoints logTrajectories'
const JOBS = 'getTrainingJob listTrainingJobEvents cancelTrainingJob'
const ARTIFACTS =
  'listArtifactVersions getArtifactVersion getArtifactFile deleteArtifactVersion addArtifactAlias deleteArtifactAlias createArtifactVersion'

export const authFaults: Fault[] = [
  {
    name: 'www-auth-missing',
    rule: 'Errors: on 401 WWW-Authenticate names the scheme',
    breaks: 'A 401 has no WWW-Authenticate.',
    ...replyHeaders('*', () => ({ 'www-authenticate': undefined })),
  },
  {
    name: 'www-auth-wrong',
    rule: 'Errors: on 401 WWW-Authenticate names the scheme',
    breaks: 'Operations with Basic authentication ask for Bearer only.',
    ...replyHeaders('*', (_, status) => (status === 401 ? { 'www-authenticate': 'Bearer' } : {})),
  },
  {
    name: 'auth-none',
    rule: 'Authentication: everything under /v1 takes a Bearer key',
    breaks: 'listModels needs no credentials.',
    ...requestHeaders('listModels', ({ authorization }, { keys }) => ({
      authorization: authorization ?? `Bearer ${keys.first}`,
    })),
  },
  {
    name: 'auth-any',
    rule: 'Authentication: an API key',
    breaks: 'Any Bearer token is taken for a key.',
    ...requestHeaders('*', ({ authorization = '' }, { keys }) =>
      authorization.startsWith('Bearer ') && !authorization.endsWith(keys.second)
        ? { authorization: `Bearer ${keys.first}` }
        : {},
    ),
  },
  {
    name: 'auth-scheme-ignored',
    rule: 'Authentication: Authorization: Bearer <API key>',
    breaks: 'The key is taken under any scheme, and without one.',
    ...requestHeaders('*', ({ authorization = '' }, { keys }) =>
      authorization.endsWith(keys.first) ? { authorization: `Bearer ${keys.first}` } : {},
    ),
  },
  {
    name: 'auth-basic-everywhere',
    rule: 'Authentication: everything under /v1 takes Bearer',
    breaks: 'Basic credentials open operations under /v1 too.',
    ...requestHeaders('listModels createModel getUsage', ({ authorization = '' }, { keys }) =>
      authorization.startsWith('Basic ') && isOfKey(authorization, keys.first)
        ? { authorization: `Bearer ${keys.first}` }
        : {},
    ),
  },
  {
    name: 'basic-missing',
    rule: 'Authentication: everything under /v2 takes Basic',
    breaks: 'Basic credentials are refused.',
    onRequest: request =>
      /^basic /i.test(request.headers.authorization ?? '') ? toError(401, 'Only Bearer is taken') : request,
  },
  {
    name: 'bearer-refused-under-v2',
    rule: 'Authentication: everything under /v2 takes Bearer as well',
    breaks: 'Bearer keys are refused under /v2.',
    ...requestHeaders('listScorers createScorer getScorer deleteScorer', ({ authorization = '' }) =>
      /^bearer /i.test(authorization) ? { authorization: undefined } : {},
    ),
  },
  {
    name: 'basic-user-checked',
    rule: 'Authentication: the username of Basic authentication is not checked',
    breaks: 'The username has to be `api`.',
    onRequest(request) {
      const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ')
      const isOther = scheme === 'Basic' && !Buffer.from(value, 'base64').toString().startsWith('api:')
      return isOther ? { ...request, headers: { ...request.headers, authorization: 'Basic Og==' } } : request
    },
  },
  {
    name: 'auth-403',
    rule: 'Errors: 401 where credentials are missing or wrong',
    breaks: 'Missing and wrong credentials are a 403.',
    ...replyStatus('*', 401, 403),
  },
  {
    name: 'auth-after-body',
    rule: 'Authentication: credentials are checked before a body is read',
    breaks: 'A body that is not JSON is told to callers without credentials.',
    async onRequest(request, context) {
      const isUnnamed = request.headers.authorization === undefined && request.body.length > 0
      if (!isUnnamed) return request
      const reply = await context.send(withFirstKey({ ...request, body: Buffer.from('{') }, context))
      return request.body.toString() === '{' ? reply : request
    },
  },
  {
    name: 'scheme-case',
    rule: 'Authentication: the name of the scheme has no case (RFC 9110, section 11.1)',
    breaks: 'Only `Bearer` with a capital B is understood.',
    ...requestHeaders('*', ({ authorization = '' }) =>
      /^bearer /i.test(authorization) && !authorization.startsWith('Bearer ') ? { authorization: undefined } : {},
    ),
  },
  {
    name: '401-leak',
    rule: 'Authentication: no reply holds a key',
    breaks: 'The message of a 401 quotes the Authorization header.',
    onReply(reply, request) {
      if (reply.status !== 401) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      body.error.message += `: ${request.headers.authorization ?? 'none'}`
      return { ...reply, body: Buffer.from(JSON.stringify(body)) }
    },
  },
  {
    name: 'key-in-header',
    rule: 'Authentication: no reply holds a key',
    breaks: 'Every reply tells in a header with which key it was asked.',
    onReply: (reply, { headers: { authorization = 'none' } }) => ({
      ...reply,
      headers: { ...reply.headers, 'x-key': authorization },
    }),
  },
  {
    name: 'health-needs-a-key',
    rule: 'Authentication: health needs none',
    breaks: 'Health without credentials is a 401.',
    onRequest: (request, { operationId }) =>
      operationId === 'getHealth' && request.headers.authorization === undefined
        ? toError(401, 'No credentials')
        : request,
  },
  {
    name: 'health-judges-keys',
    rule: 'Authentication: health needs none',
    breaks: 'Health with a wrong key is a 401.',
    onRequest: (request, { operationId, keys }) =>
      operationId === 'getHealth' && ![undefined, `Bearer ${keys.first}`].includes(request.headers.authorization)
        ? toError(401, 'Wrong credentials')
        : request,
  },
  {
    name: 'system-check-needs-a-key',
    rule: 'Authentication: the system check needs none',
    breaks: 'The system check without credentials is a 401.',
    onRequest: (request, context) =>
      isOf('getSystemCheck', context) && request.headers.authorization === undefined
        ? toError(401, 'No credentials')
        : request,
  },
  {
    name: 'router-needs-a-key',
    rule: 'Authentication: the router model list needs none',
    breaks: 'The router model list without credentials is a 401.',
    onRequest: (request, context) =>
      isOf('listRouterModels', context) && request.headers.authorization === undefined
        ? toError(401, 'No credentials')
        : request,
  },
  {
    name: 'models-of-other-teams',
    rule: 'Errors: 404 for what belongs to a team that the caller is not in',
    breaks: 'Models are open to every team that knows their id.',
    ...seenByOthers(READING_MODELS),
  },
  {
    name: 'listed-models-of-other-teams',
    rule: 'listModels: the models of every team that the caller is in',
    breaks: 'listModels gives the models of all teams.',
    ...seenByOthers('listModels'),
  },
  {
    name: 'jobs-of-other-teams',
    rule: 'Errors: 404 for what belongs to a team that the caller is not in',
    breaks: 'Training jobs are open to every team that knows their id.',
    needs: ['training'],
    ...seenByOthers(JOBS),
  },
  {
    name: 'artifacts-of-other-teams',
    rule: 'Errors: 403 where the request names a team that the caller is not in',
    breaks: 'Artifacts are open to every team.',
    ...seenByOthers(ARTIFACTS),
  },
  {
    name: 'chat-with-models-of-other-teams',
    rule: 'createChatCompletion 404: a model of another team is not found',
    breaks: 'Trained models answer every team.',
    ...seenByOthers('createChatCompletion'),
  },
  {
    name: 'inference-models-of-other-teams',
    rule: "listInferenceModels: each checkpoint of the caller's teams",
    breaks: 'The model list shows the checkpoints of all teams.',
    ...seenByOthers('listInferenceModels'),
  },
  {
    name: 'usage-of-other-teams',
    rule: 'getUsage: without entity the lines of all teams of the caller',
    breaks: 'getUsage shows every team.',
    ...seenByOthers('getUsage'),
  },
  {
    name: 'foreign-team-404',
    rule: 'Errors: 403 where the request names a team that the caller is not in, whether or not it exists',
    breaks: 'A team that the caller is not in is a 404.',
    onReply: reply => (reply.status === 403 ? { ...toError(404, 'No such team'), headers: reply.headers } : reply),
  },
  {
    name: 'router-shows-trained-models',
    rule: 'listRouterModels: base models only, never a checkpoint',
    breaks: 'The public router list has trained models too.',
    async onReply(reply, request, context) {
      if (context.operationId === 'createModel' && reply.status === 200)
        context.memory.set('name', JSON.parse(reply.body.toString('utf8')).name)
      if (context.operationId !== 'listRouterModels' || !context.memory.has('name')) return reply
      const body = JSON.parse(reply.body.toString('utf8'))
      body.data.push({
        ...body.data[0],
        id: `artifact:///default/any/${context.memory.get('name')}`,
        name: request.path,
      })
      return { ...reply, body: Buffer.from(JSON.stringify(body)) }
    },
  },
  {
    name: 'router-without-base-model',
    rule: 'listRouterModels: shows base models',
    breaks: 'The router list has another id for the base model.',
    ...replyItems('listRouterModels', item => ({ ...item, id: `${item.id}-latest` })),
  },
  {
    name: 'router-empty',
    rule: 'listRouterModels: shows base models',
    breaks: 'The router list is empty.',
    ...replyJson('listRouterModels', body => ({ ...body, data: [] })),
  },
]
