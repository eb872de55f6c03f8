/** Wrong answers to wrong requests: statuses, headers and bodies of errors. */
import { replyHeaders, replyJson, replyStatus, toError, toJsonReply } from './change-replies.ts'
import { jsonOf } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { findByPath } from './find-operation.ts'

export const errorFaults: Fault[] = [
  {
    name: 'err422-shape',
    rule: 'Errors: detail is an array on 422',
    breaks: 'The detail of a 422 is a string.',
    ...replyJson('*', body => ({ ...body, detail: 'Validation failed' }), [422]),
  },
  {
    name: 'err422-as-400',
    rule: 'Errors: whatever breaks a rule of the document is a 422',
    breaks: 'Every 422 is a 400.',
    ...replyStatus('*', 422, 400),
  },
  {
    name: 'err422-loc-empty',
    rule: 'schema ValidationDetail: loc is the place of the fault',
    breaks: 'The loc of a 422 is always `["body"]`.',
    ...replyJson(
      '*',
      body => {
        for (const detail of body.detail) detail.loc = ['body']
      },
      [422],
    ),
  },
  {
    name: 'validation-missing',
    rule: 'createModel 422: a body that breaks a rule',
    breaks: 'createModel takes any body and makes up what is missing.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'createModel' && reply.status === 422
        ? toJsonReply(200, {
            id: '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40',
            entity: 'default',
            project: 'any',
            name: 'any',
            base_model: 'tiny-chat',
            run_id: null,
            created_at: '2026-11-21T10:15:30.127Z',
          })
        : reply,
  },
  {
    name: 'bad-json-500',
    rule: 'Errors: text that is not JSON is a 422',
    breaks: 'Malformed JSON is a 500.',
    onReply: (reply, request) =>
      reply.status === 422 && request.body.length > 0 && jsonOf(request) === undefined
        ? toError(500, 'Unexpected token')
        : reply,
  },
  {
    name: 'media-type-ignored',
    rule: 'Errors: 415 where the content type is not the declared one',
    breaks: 'Any content type is taken for the declared one.',
    onRequest: (request, { operationId }) =>
      operationId === 'createArtifactVersion' || request.body.length === 0
        ? request
        : { ...request, headers: { ...request.headers, 'content-type': 'application/json' } },
  },
  {
    name: 'err404-html',
    rule: 'Errors: every error body has detail and error',
    breaks: 'Every 404 is a page of HTML.',
    onReply: reply =>
      reply.status === 404
        ? {
            ...reply,
            headers: { ...reply.headers, 'content-type': 'text/html' },
            body: Buffer.from('<h1>Not Found</h1>'),
          }
        : reply,
  },
  {
    name: 'unknown-path-html',
    rule: 'Errors: every error body has detail and error',
    breaks: 'An unknown path is answered by a page of HTML.',
    onReply: (reply, request, { operationId }) =>
      reply.status === 404 && operationId === '' && findByPath(request.path).length === 0
        ? { ...reply, headers: { ...reply.headers, 'content-type': 'text/html' }, body: Buffer.from('<h1>?</h1>') }
        : reply,
  },
  {
    name: '404-as-200',
    rule: 'Errors: 404 where there is no such thing',
    breaks: 'getModel answers 200 with an error body where there is no such model.',
    ...replyStatus('getModel', 404, 200),
  },
  {
    name: '404-as-empty-list',
    rule: 'listCheckpoints 404: no such model',
    breaks: 'listCheckpoints of an unknown model is an empty page.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'listCheckpoints' && reply.status === 404
        ? toJsonReply(200, { object: 'list', data: [], first_id: '', last_id: '', has_more: false })
        : reply,
  },
  {
    name: 'conflict-409',
    rule: 'Errors: 409 is never used',
    breaks: 'A duplicate name of a model is a 409.',
    ...replyStatus('createModel', 400, 409),
  },
  {
    name: 'error-detail-only',
    rule: 'Errors: every error body has detail and error',
    breaks: 'The body of a 404 has only `detail`.',
    ...replyJson('*', ({ detail }) => ({ detail }), [404]),
  },
  {
    name: 'method-200',
    rule: 'Errors: 405 where the path exists and the method does not',
    breaks: 'Methods that are not declared are answered 200.',
    ...replyStatus('*', 405, 200),
  },
  {
    name: 'method-404',
    rule: 'Errors: 405 where the path exists and the method does not',
    breaks: 'Methods that are not declared are a 404.',
    onReply: reply => (reply.status === 405 ? toError(404, 'Not found') : reply),
  },
  {
    name: 'allow-missing',
    rule: 'Errors: on 405 Allow lists the methods',
    breaks: 'A 405 has no Allow.',
    ...replyHeaders('*', () => ({ allow: undefined })),
  },
  {
    name: 'allow-all',
    rule: 'Errors: on 405 Allow lists the methods of the path',
    breaks: 'Allow lists methods that the path does not have.',
    ...replyHeaders('*', (_, status) => (status === 405 ? { allow: 'GET, POST, PUT, PATCH, DELETE' } : {})),
  },
  {
    name: 'no-request-id',
    rule: 'Safe repeats: every reply carries x-request-id',
    breaks: 'No reply has x-request-id.',
    ...replyHeaders('*', () => ({ 'x-request-id': undefined })),
  },
  {
    name: 'no-request-id-on-errors',
    rule: 'Safe repeats: every reply carries x-request-id',
    breaks: 'Replies of 401 have no x-request-id.',
    ...replyHeaders('*', (_, status) => (status === 401 ? { 'x-request-id': undefined } : {})),
  },
  {
    name: 'request-id-not-repeated',
    rule: "Safe repeats: x-request-id is the request's own one when it is sane",
    breaks: 'Every reply has a new x-request-id.',
    ...replyHeaders('*', () => ({ 'x-request-id': crypto.randomUUID() })),
  },
  {
    name: 'request-id-insane',
    rule: 'Safe repeats: a request id that is not sane is replaced',
    breaks: 'Any request id is repeated as it is.',
    onReply: (reply, { headers: { 'x-request-id': id } }) =>
      id === undefined ? reply : { ...reply, headers: { ...reply.headers, 'x-request-id': id } },
  },
  {
    name: 'request-ids-of-any-form',
    rule: "Safe repeats, getHealth: the request's own id when it is sane, else a new one",
    breaks: 'Whatever a request says its id is comes back.',
    onReply: (reply, { headers: { 'x-request-id': id } }) =>
      id === undefined ? reply : { ...reply, headers: { ...reply.headers, 'x-request-id': id } },
  },
  {
    name: 'request-id-constant',
    rule: 'Safe repeats: without one in the request, x-request-id is a new one',
    breaks: 'Every reply has the same x-request-id.',
    onReply: (reply, { headers: { 'x-request-id': id } }) =>
      id === undefined
        ? { ...reply, headers: { ...reply.headers, 'x-request-id': '01990c5e-0000-7000-8000-000000000001' } }
        : reply,
  },
]
