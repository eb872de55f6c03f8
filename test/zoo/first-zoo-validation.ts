/** Requests that are judged by other rules than the contract's, and trouble that is told in another way. */
import { replyHeaders, replyJson, replyStatus, replyText, toError } from './change-replies.ts'
import { jsonOf, requestJson, requestPath, requestQuery } from './change-requests.ts'
import type { Fault } from './fault.ts'

const UUID_WITH_CAPITALS = /\/(?=[^/]*[A-F])[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}(\/|$|\?)/

export const validationFaults: Fault[] = [
  {
    name: 'optional-required',
    rule: 'schema CreateModelRequest: return_existing is optional',
    breaks: 'createModel without return_existing is a 422.',
    onRequest: (request, { operationId }) => {
      const body = operationId === 'createModel' ? jsonOf(request) : undefined
      return typeof body === 'object' && body !== null && body.return_existing === undefined
        ? toError(422, 'return_existing is missing')
        : request
    },
  },
  {
    name: 'extra-refused',
    rule: 'Ids, times and null: unknown keys of requests are ignored',
    breaks: 'createScorer and createModel refuse keys that they do not know.',
    onRequest: (request, { operationId }) => {
      const known = ['entity', 'project', 'name', 'base_model', 'return_existing']
      const body = operationId === 'createModel' ? jsonOf(request) : undefined
      return typeof body === 'object' && Object.keys(body ?? {}).some(key => !known.includes(key))
        ? toError(422, 'Extra inputs are not permitted')
        : request
    },
  },
  {
    name: 'uuid-upper-refused',
    rule: 'getModel: a UUID is the same in capitals (RFC 9562, section 4)',
    breaks: 'Ids in capitals are not found.',
    onRequest: request => (UUID_WITH_CAPITALS.test(request.path) ? toError(404, 'Not found') : request),
  },
  {
    name: 'uuid-urn-accepted',
    rule: 'parameter model_id: a UUID in its plain form',
    breaks: 'Ids may be written with urn:uuid: before them.',
    ...requestPath('*', path => path.replace(/urn(%3A|:)uuid(%3A|:)/i, '')),
  },
  {
    name: 'limit-101',
    rule: 'Lists: limit is 1 to 100',
    breaks: 'A limit above 100 is taken for 100.',
    ...requestQuery('*', query => {
      if (Number(query.get('limit')) > 100) query.set('limit', '100')
    }),
  },
  {
    name: 'limit-100-refused',
    rule: 'Lists: limit is 1 to 100',
    breaks: 'listModels refuses a limit of 100.',
    onRequest: (request, { operationId }) =>
      operationId === 'listModels' && /limit=100\b/.test(request.path) ? toError(422, 'limit is below 100') : request,
  },
  {
    name: 'limit-0',
    rule: 'Lists: limit is 1 to 100',
    breaks: 'A limit of 0 is taken for the default.',
    ...requestQuery('*', query => {
      if (query.get('limit') === '0') query.delete('limit')
    }),
  },
  {
    name: 'order-any',
    rule: 'Lists: order is asc or desc',
    breaks: 'Any order that is not desc is asc.',
    ...requestQuery('*', query => {
      if (query.has('order') && query.get('order') !== 'desc') query.set('order', 'asc')
    }),
  },
  {
    name: 'slow-down-without-time',
    rule: 'Errors: 429 and 503 come with Retry-After',
    breaks: 'No reply has Retry-After.',
    needs: ['inside'],
    ...replyHeaders('*', () => ({ 'retry-after': undefined })),
  },
  {
    name: 'retry-after-text',
    rule: 'Errors: Retry-After gives seconds',
    breaks: 'Retry-After is `soon`.',
    needs: ['inside'],
    ...replyHeaders('*', headers => (headers['retry-after'] === undefined ? {} : { 'retry-after': 'soon' })),
  },
  {
    name: '500-tells-the-cause',
    rule: 'Errors: 500 is a fault of the service, and its cause stays inside',
    breaks: 'A 500 quotes the error that was thrown.',
    needs: ['inside'],
    ...replyJson('*', body => ({ ...body, detail: 'Error: the secret inner detail at handler.ts:12' }), [500]),
  },
  {
    name: '413-as-422',
    rule: 'Errors: 413 where the body is larger than the deployment allows',
    breaks: 'A body that is too large is a 422.',
    needs: ['inside'],
    onReply: reply => (reply.status === 413 ? toError(422, 'too large') : reply),
  },
  {
    name: '429-as-503',
    rule: 'Errors: 429 for too many requests',
    breaks: 'Too many requests are a 503.',
    needs: ['inside'],
    ...replyStatus('*', 429, 503),
  },
  {
    name: '503-as-500',
    rule: 'Errors: 503 where the service cannot do it now',
    breaks: 'A full disk and a shutdown are a 500.',
    needs: ['inside'],
    ...replyStatus('*', 503, 500),
  },
  {
    name: 'system-check-always-200',
    rule: 'getSystemCheck: answers 503 when a part fails',
    breaks: 'The system check answers 200 also when a part fails.',
    needs: ['inside'],
    ...replyStatus('getSystemCheck', 503, 200),
  },
  {
    name: 'default-not-applied',
    rule: 'Lists: limit is 20 by default',
    breaks: 'Pages have one item unless a limit is given.',
    onRequest: (request, { operationId }) =>
      request.method === 'GET' && /^list(Artifact|Scorers|Checkpoints)/.test(operationId) && !request.path.includes('?')
        ? { ...request, path: `${request.path}?limit=1` }
        : request,
  },
  {
    name: 'null-refused',
    rule: 'schema CreateModelRequest: entity may be left out or null',
    breaks: 'createChatCompletion refuses null for a temperature.',
    onRequest: (request, { operationId }) =>
      operationId === 'createChatCompletion' && jsonOf(request)?.temperature === null
        ? toError(422, 'temperature is null')
        : request,
  },
  {
    name: 'number-as-string-accepted',
    rule: 'schema ChatCompletionRequest: numbers are numbers',
    breaks: 'A boolean of a chat request may be written as 0 or 1, or as a string.',
    ...requestJson('createChatCompletion', body => {
      for (const key of ['stream', 'logprobs', 'echo']) {
        if (typeof body[key] !== 'boolean' && body[key] !== null && key in body) body[key] = Boolean(body[key])
      }
    }),
  },
  {
    name: 'long-name-cut',
    rule: 'schema ResourceName: a name is at most 128 characters long',
    breaks: 'A name that is too long is cut.',
    ...requestJson('createModel createScorer', body => {
      for (const key of ['name', 'project', 'object_id'])
        if (typeof body[key] === 'string') body[key] = body[key].slice(0, 128)
    }),
  },
  {
    name: 'error-text-echoes-html',
    rule: 'Errors: the body of an error is JSON',
    breaks: 'A 422 is sent as text/html, with its JSON body.',
    ...replyHeaders('*', (_, status) => (status === 422 ? { 'content-type': 'text/html' } : {})),
  },
  {
    name: 'error-param-missing',
    rule: 'schema ErrorDetail: param is always there',
    breaks: 'The error of a 400 has no param.',
    ...replyJson(
      '*',
      body => {
        delete body.error.param
      },
      [400],
    ),
  },
  {
    name: 'error-code-number',
    rule: 'schema ErrorDetail: code is a string or null',
    breaks: 'The code of an error is its status.',
    ...replyText('*', text => text.replace(/"code":(null|"[^"]*")/, '"code":404'), [404]),
  },
]
