/** Rules of webhooks and secrets that hold in one place only, and ways of writing requests that count although they must not. */
import { gzipSync } from 'node:zlib'
import { type Json, replyJson } from './change-replies.ts'
import { requestJson, requestQuery, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { bodyOf, look, refusal, withBody } from './held-out-zoo-tools.ts'

const PUBLIC = 'https://hooks.example.com/deploy'
const CREATIONS = ['createModel', 'createApiKey', 'putSecret', 'putMember', 'createWebhook', 'logTrajectories']

/** A body that passes as one that the service takes. */
function takesUrls(pattern: RegExp): Pick<Fault, 'onRequest'> {
  const { onRequest } = requestJson('createWebhook updateWebhook', body => {
    if (pattern.test(String(body.endpoint_url))) body.endpoint_url = PUBLIC
  })
  return { onRequest: onRequest! }
}

/** A 422 that never comes: the record is given back as it is. */
const unjudged = (isMeant: (body: Record<string, unknown>) => boolean): Pick<Fault, 'onReply'> => ({
  async onReply(reply, request, context) {
    if (context.operationId !== 'updateWebhook' || reply.status !== 422 || !isMeant(bodyOf(request))) return reply
    const record = await look(request, context, request.path.split('?')[0]!)
    return record.status === 200 ? record : reply
  },
})

export const webhookRuleFaults: Fault[] = [
  {
    name: 'webhook-updates-unguarded',
    rule: 'updateWebhook endpoint_url: addresses that are not public are refused',
    breaks: 'An address is judged when a webhook is made, and not when it is changed.',
    ...unjudged(body => 'access_token_secret' in body && 'signing_secret' in body),
  },
  {
    name: 'numbers-are-host-names',
    rule: 'createWebhook, updateWebhook endpoint_url: a host written as an address must be a public one',
    breaks: 'An address that is written as one number is taken for a name.',
    ...takesUrls(/^http:\/\/(\d+|0x[0-9a-f]+)\//),
  },
  {
    name: 'mapped-addresses-are-public',
    rule: 'createWebhook, updateWebhook endpoint_url: translated addresses are refused',
    breaks: 'An IPv4 address within an IPv6 one is taken.',
    ...takesUrls(/::ffff:/),
  },
  {
    name: 'multicast-is-public',
    rule: 'createWebhook, updateWebhook endpoint_url: multicast addresses are refused',
    breaks: 'A multicast address is taken.',
    ...takesUrls(/\/\/224\./),
  },
  {
    name: 'fragments-are-dropped',
    rule: 'createWebhook, updateWebhook endpoint_url: no fragment',
    breaks: 'A fragment is cut off.',
    ...takesUrls(/#/),
  },
  {
    name: 'one-secret-named-is-enough',
    rule: 'updateWebhook: a request that changes `endpoint_url` names both secrets again',
    breaks: 'It is enough to name one of them.',
    ...unjudged(body => 'access_token_secret' in body !== 'signing_secret' in body),
  },
  {
    name: 'tokens-in-use-deletable',
    rule: 'deleteSecret: a secret that a webhook refers to is a 400',
    breaks: 'Only the signing secret counts as one that is referred to.',
    onReply: (reply, request, context) =>
      context.operationId === 'deleteSecret' && reply.status === 400 && request.path.includes('token')
        ? refusal(request, 404, 'There is no such secret.')
        : reply,
  },
  {
    name: 'secrets-of-updates-unknown',
    rule: 'updateWebhook, createWebhook: a secret that the team has not is a 400',
    breaks: 'An unknown access token is a 404.',
    onReply: (reply, request, context) =>
      context.operationId === 'createWebhook' && reply.status === 400 && 'access_token_secret' in bodyOf(request)
        ? refusal(request, 404, 'There is no such secret.')
        : reply,
  },
  {
    name: 'secret-bodies-of-any-size',
    rule: 'putSecret: a body of more than 64 KiB is a 413',
    breaks: 'White space around a secret does not count.',
    onRequest: (request, context) =>
      context.operationId === 'putSecret' && request.body.length > 65_536
        ? withBody(request, bodyOf(request))
        : request,
  },
  {
    name: 'content-type-to-the-letter',
    rule: 'createModel: a content type names no charset or utf-8',
    breaks: 'Only the very text application/json is taken.',
    onRequest: (request, context) =>
      context.operationId === 'createModel' && request.headers['content-type'] !== 'application/json'
        ? refusal(request, 415, 'The content type is not application/json.')
        : request,
  },
  {
    name: 'always-compressed',
    rule: 'listModels: a content coding is sent only to clients that accept it',
    breaks: 'A list is compressed for everybody.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'listModels' && reply.status === 200
        ? { ...reply, headers: { ...reply.headers, 'content-encoding': 'gzip' }, body: gzipSync(reply.body) }
        : reply,
  },
  {
    name: 'cursors-in-capitals-unknown',
    rule: 'listModels after: the letter case of UUIDs does not matter',
    breaks: 'A cursor in upper case is no cursor.',
    ...whereGood(
      requestQuery('listModels', query => {
        if (/[A-F]/.test(query.get('after') ?? '')) query.delete('after')
      }),
    ),
  },
  {
    name: 'unknown-keys-refused-by-creations',
    rule: `${CREATIONS.join(', ')}: keys that the contract does not name are ignored`,
    breaks: 'They are a 422.',
    onRequest: (request, context) =>
      CREATIONS.includes(context.operationId) && 'unknown_too' in bodyOf(request)
        ? refusal(request, 422, 'This key is not known.', ['body', 'unknown_too'])
        : request,
  },
  {
    name: 'ten-broken-rules-at-most',
    rule: 'createRlTrainingJob: the broken rules, at most 100 of them',
    breaks: 'At most ten are told.',
    onReply: replyJson('createRlTrainingJob', (body: Json) => ({ ...body, detail: body.detail.slice(0, 10) }), [422])
      .onReply!,
  },
  {
    name: 'error-of-the-last-rule',
    rule: 'createModel: error is the first entry of detail',
    breaks: 'It is the last one.',
    onReply: replyJson(
      'createModel',
      (body: Json) => {
        const { loc, msg } = body.detail.at(-1)
        const param = loc.slice(1).join('.')
        return { ...body, error: { ...body.error, param, message: `body.${param}: ${msg}` } }
      },
      [422],
    ).onReply!,
  },
]
