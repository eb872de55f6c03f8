/** Deployments that are broken everywhere in one way: whatever a check demands, one of them does not do it. */
import { toError, toJsonReply } from './change-replies.ts'
import type { Fault, ZooReply } from './fault.ts'

const EVERYTHING: Pick<Fault, 'needs'> = { needs: ['training', 'retries', 'inside'] }

const isJson = ({ headers }: ZooReply) => String(headers['content-type']).includes('application/json')

export const broadFaults: Fault[] = [
  {
    name: 'every-success-fails',
    ...EVERYTHING,
    rule: 'Every operation: its success',
    breaks: 'Whatever would succeed is a 500.',
    onReply: reply => (reply.status < 300 ? toError(500, 'It cannot be done.') : reply),
  },
  {
    name: 'every-refusal-succeeds',
    ...EVERYTHING,
    rule: 'Errors: what cannot be done is refused',
    breaks: 'Whatever would be refused is a 200 with an empty object.',
    onReply: reply => (reply.status >= 400 ? toJsonReply(200, {}) : reply),
  },
  {
    name: 'every-object-is-empty',
    ...EVERYTHING,
    rule: 'Every operation: the body of its success',
    breaks: 'Every JSON body of a success is an empty object.',
    onReply: reply => (reply.status < 300 && isJson(reply) ? { ...reply, body: Buffer.from('{}') } : reply),
  },
  {
    name: 'every-list-is-empty',
    ...EVERYTHING,
    rule: 'Lists: what is there is listed',
    breaks: 'Every list is an empty page.',
    onReply(reply) {
      const isList = reply.status === 200 && isJson(reply) && reply.body.includes('"has_more"')
      const page = { object: 'list', data: [], first_id: '', last_id: '', has_more: false }
      return isList ? { ...reply, body: Buffer.from(JSON.stringify(page)) } : reply
    },
  },
  {
    name: 'every-error-is-bare',
    ...EVERYTHING,
    rule: 'Errors: the body and the headers of an error',
    breaks: 'Errors have a body of two bare texts and no header of their own.',
    onReply: reply =>
      reply.status >= 400
        ? {
            ...reply,
            headers: { 'content-type': 'application/json' },
            body: Buffer.from('{"detail":"no","error":"no"}'),
          }
        : reply,
  },
  {
    name: 'every-delivery-is-lost',
    ...EVERYTHING,
    rule: 'automationDelivery: at least once',
    breaks: 'No webhook call ever comes.',
    onDelivery: () => [],
  },
  {
    name: 'every-stream-ends-at-once',
    ...EVERYTHING,
    rule: 'createChatCompletion, the stream',
    breaks: 'A stream ends behind its first piece.',
    async *onEvents(pieces) {
      for await (const piece of pieces) {
        yield piece
        return
      }
    },
  },
]
