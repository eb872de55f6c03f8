/** Healthy deployments that differ from ours within the contract: the suite must find nothing. In the form of faults that break nothing. */
import { gzipSync } from 'node:zlib'
import type { Json } from './change-replies.ts'
import { eventText, isDone, toEvents } from './change-streams.ts'
import type { ZooContext, ZooReply, ZooRequest } from './fault.ts'
import { beside, remembered } from './held-out-zoo-tools.ts'
import type { Member } from './zoos.ts'

/** Of a slow deployment, for each reply and each event, in milliseconds. */
const REPLY_DELAY_MS = 15
const EVENT_DELAY_MS = 3
/** Bytes of each piece of a stream that is cut without regard to events and characters. */
const ODD_PIECE = 7

/** Requests of the suite between two things that another client does. */
const OTHERS_EVERY = 7

const ADVICE = ' (see the documentation for how to go on)'

const wait = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))

function isJson(reply: ZooReply): boolean {
  return String(reply.headers['content-type']).includes('json') && reply.body.length > 0
}

function rewritten(reply: ZooReply, write: (value: Json) => string): ZooReply {
  return isJson(reply) ? { ...reply, body: Buffer.from(write(JSON.parse(reply.body.toString('utf8')))) } : reply
}

function reordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, reordered(item)])
      .toReversed(),
  )
}

export const faults: readonly Member[] = [
  {
    name: 'verbose',
    rule: 'Errors, Ids, times and null',
    breaks: 'Indented JSON with a charset, more headers, and longer messages in errors.',
    onReply(reply) {
      const told = rewritten(reply, value => {
        if (value?.error?.message !== undefined) value.error.message += ADVICE
        // Both say the same.
        if (typeof value?.detail === 'string') value.detail += ADVICE
        return `${JSON.stringify(value, null, 2)}\n`
      })
      const type = reply.headers['content-type']
      return {
        ...told,
        headers: {
          ...told.headers,
          server: 'example/1.0',
          'cache-control': 'no-store',
          'x-powered-by': 'example',
          date: new Date().toUTCString(),
          ...(type === 'application/json' ? { 'content-type': 'application/json;charset=UTF-8' } : {}),
        },
      }
    },
  },
  {
    name: 'slow',
    rule: 'The contract gives no times',
    breaks: 'Every reply and every event comes some milliseconds later.',
    async onReply(reply) {
      await wait(REPLY_DELAY_MS)
      return reply
    },
    async *onEvents(pieces) {
      for await (const event of toEvents(pieces)) {
        await wait(EVENT_DELAY_MS)
        yield Buffer.from(event)
      }
    },
  },
  {
    name: 'other-key-order',
    rule: 'JSON objects have no order',
    breaks:
      'Keys come in the reverse order, in bodies and in events, and characters are escaped where they need not be.',
    onReply: reply => rewritten(reply, value => JSON.stringify(reordered(value)).replaceAll('/', '\\/')),
    ...eventText(event =>
      !event.startsWith('data: ') || isDone(event)
        ? event
        : `data: ${JSON.stringify(reordered(JSON.parse(event.slice('data: '.length))))}\n\n`,
    ),
  },
  {
    name: 'chunked-oddly',
    rule: 'createChatCompletion, the stream: server-sent events (HTML, section 9.2)',
    breaks: 'Streams have CRLF and comments, and come in pieces of seven bytes.',
    async *onEvents(pieces) {
      for await (const event of toEvents(pieces)) {
        const bytes = Buffer.from(`: still here\r\n\r\n${event.replaceAll('\n', '\r\n')}`)
        for (let start = 0; start < bytes.length; start += ODD_PIECE) {
          yield bytes.subarray(start, start + ODD_PIECE)
          await new Promise(resolve => setImmediate(resolve))
        }
      }
    },
  },
  {
    name: 'data-over-lines',
    rule: 'createChatCompletion, the stream: server-sent events (HTML, section 9.2)',
    breaks: 'The JSON of an event stands on two data lines, without a space behind the colon.',
    ...eventText(event => (!event.startsWith('data: {') ? event : `data:{\ndata:${event.slice('data: {'.length)}`)),
  },
  {
    name: 'compressed',
    rule: 'Content codings that the client accepts (RFC 9110, section 12.5.3)',
    breaks: 'JSON is sent with gzip to clients that accept it.',
    onReply: (reply, { headers, method }) =>
      isJson(reply) && method !== 'HEAD' && /\bgzip\b(?!\s*;\s*q=0)/.test(headers['accept-encoding'] ?? '')
        ? {
            ...reply,
            headers: { ...reply.headers, 'content-encoding': 'gzip', vary: 'accept-encoding' },
            body: gzipSync(reply.body),
          }
        : reply,
  },
  {
    name: 'used-by-others',
    rule: 'Lists are those of the team, and a team has more than one client',
    breaks: 'Another client of the team makes and deletes models, webhooks and keys, and chats, all the while.',
    async onRequest(request, context) {
      const count = ((context.memory.get('requests') as number | undefined) ?? 0) + 1
      context.memory.set('requests', count)
      if (count % OTHERS_EVERY === 0) await useAsOther(request, context, count)
      return request
    },
  },
]

/** Makes something, and deletes what it made the time before last. */
async function useAsOther(request: ZooRequest, context: ZooContext, count: number): Promise<void> {
  const headers = {
    authorization: `Bearer ${context.keys.first}`,
    'content-type': 'application/json',
    host: request.headers['host'] ?? '',
  }
  const send = async (method: string, path: string, body: object | null) => {
    const bytes = Buffer.from(body === null ? '' : JSON.stringify(body))
    const reply = await context.send({ method, path: beside(request, path), headers, body: bytes })
    return JSON.parse(reply.body.toString('utf8')) as Json
  }
  const kinds = [
    ['/v1/preview/models', { project: 'others', name: `other-${count}`, base_model: 'tiny-chat' }],
    ['/v1/preview/teams/default/webhooks', { name: `other-${count}`, endpoint_url: 'https://hooks.example.com/' }],
    ['/v1/preview/api-keys', { name: `other-${count}` }],
  ] as const
  const [path, body] = kinds[(count / OTHERS_EVERY) % kinds.length]!
  const made = remembered<string[]>(context, 'made')
  const places = made.get('places') ?? []
  made.set('places', places)
  const { id } = await send('POST', path, body)
  places.push(`${path}/${id}`)
  if (places.length > 2) await send('DELETE', places.shift()!, null)
  const chat = { model: 'tiny-chat', messages: [{ role: 'user', content: 'hi' }], max_completion_tokens: 1 }
  await send('POST', '/v1/chat/completions', chat)
}
