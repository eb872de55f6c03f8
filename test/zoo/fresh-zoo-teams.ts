/** Fresh faults in secrets, API keys and usage. */
import { changeJson, type Fault } from './fault.ts'
import {
  beside,
  bodyOf,
  chatOperations,
  type Json,
  look,
  numberOf,
  objectsOf,
  onSuccess,
  onThings,
  refusal,
  remembered,
  textOf,
  withBody,
  withItems,
} from './held-out-zoo-tools.ts'

const MOST_OF_A_SECRET = 4096

export const freshTeamFaults: Fault[] = [
  {
    name: 'fresh-secret-in-use-by-nobody-named',
    rule: 'deleteSecret: a secret that a webhook refers to is a 400 that names the webhook',
    breaks: 'The 400 does not say which webhook it is.',
    onReply(reply, _, context) {
      if (context.operationId !== 'deleteSecret' || reply.status !== 400) return reply
      const message = 'The secret is in use by a webhook.'
      return changeJson<Json>(reply, body => ({ detail: message, error: { ...(body['error'] as Json), message } }))
    },
  },
  {
    name: 'fresh-secret-length-in-bytes',
    rule: 'putSecret, Schema PutSecretRequest value: 1 to 4096 characters; lengths of texts count characters, not bytes',
    breaks: 'A value of fewer characters that takes more than 4096 bytes is a 422.',
    onRequest(request, context) {
      const value = textOf(bodyOf(request)['value'])
      const isLong = Buffer.byteLength(value) > MOST_OF_A_SECRET
      if (context.operationId !== 'putSecret' || !isLong || !request.headers['authorization']) return request
      return refusal(request, 422, 'String should have at most 4096 characters', ['body', 'value'])
    },
  },
  {
    name: 'fresh-key-of-the-first-team',
    rule: 'createApiKey, Schema CreateApiKeyRequest team: null or left out, the team of the key that asks',
    breaks: "It is the team of the user's first key.",
    async onRequest(request, context) {
      const body = bodyOf(request)
      if (context.operationId !== 'createApiKey' || (body['team'] ?? null) !== null || !('name' in body)) return request
      const keys = await look(request, context, beside(request, '/v1/preview/api-keys?limit=1'))
      const team = objectsOf(bodyOf(keys)['data'])[0]?.['team']
      return typeof team === 'string' ? withBody(request, { ...body, team }) : request
    },
  },
  {
    name: 'fresh-own-key-not-deletable',
    rule: 'deleteApiKey: revokes a key, be it the one that the request was made with',
    breaks: 'The key that the request is made with is a 400.',
    onRequest(request, context) {
      if (context.operationId !== 'deleteApiKey') return request
      const key = remembered<string>(context, 'keys').get((context.path['api_key_id'] ?? '').toLowerCase())
      const isOwn = key !== undefined && request.headers['authorization']?.endsWith(` ${key}`)
      return isOwn ? refusal(request, 400, 'A key cannot delete itself.', ['path', 'api_key_id']) : request
    },
    onReply: onSuccess(['createApiKey'], (made, _, context) => {
      remembered<string>(context, 'keys').set(textOf(made['id']), textOf(made['key']))
      return made
    }),
  },
  {
    name: 'fresh-key-name-tidied',
    rule: 'createApiKey name: what a request says of a record comes back in the reply with the same value',
    breaks: 'White space in names of keys is trimmed and runs of it become one blank.',
    onReply: onThings(['createApiKey', 'listApiKeys'], key => ({
      ...key,
      name: textOf(key['name']).trim().replaceAll(/\s+/g, ' '),
    })),
  },
]

export const freshUsageFaults: Fault[] = [
  {
    name: 'fresh-cached-prompts-uncounted',
    rule: 'getUsage, Schema UsageLine prompt_tokens: tokens of the prompts, cached ones included',
    breaks: 'Tokens that came out of the cache are not among them.',
    onReply: onThings(['getUsage'], line => ({
      ...line,
      prompt_tokens: Math.max(0, numberOf(line['prompt_tokens']) - numberOf(line['cached_tokens'])),
    })),
  },
  {
    name: 'fresh-usage-line-id-drifts',
    rule: 'getUsage, Schema UsageLine id: it stays the same while the line grows',
    breaks: 'Its last digits change with the number of requests.',
    onReply: onSuccess(['getUsage'], page =>
      withItems(
        page,
        objectsOf(page['data']).map(line => {
          const drift = (numberOf(line['requests']) % 0x1_0000).toString(16).padStart(4, '0')
          return { ...line, id: textOf(line['id']).slice(0, -4) + drift }
        }),
      ),
    ),
  },
  {
    name: 'fresh-streams-count-for-no-project',
    rule: 'getUsage: a request counts for the team and project of its project header; createChatCompletion with `stream`',
    breaks: 'The project header of a stream is checked, but it counts for the team of the key and no project.',
    async onRequest(request, context) {
      const names = Object.keys(request.headers).filter(name => /^(?!openai)\w+-project$/.test(name))
      names.push(...['openai-project'].filter(name => name in request.headers))
      const isStream = chatOperations.includes(context.operationId) && bodyOf(request)['stream'] === true
      if (!isStream || names.length === 0) return request
      const { 'content-length': _, 'content-type': __, ...headers } = request.headers
      // The same header on an operation that counts nothing, to learn whether the service takes it.
      const path = beside(request, '/v1/models')
      const probe = await context.send({ method: 'GET', path, headers, body: Buffer.alloc(0) })
      if (probe.status !== 200) return request
      const kept = Object.entries(request.headers).filter(([name]) => !names.includes(name))
      return { ...request, headers: Object.fromEntries(kept) }
    },
  },
]
