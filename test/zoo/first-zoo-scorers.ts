/** Scorers and usage. */
import { isOf, type Json, replyItems, replyJson, toError, toJsonReply } from './change-replies.ts'
import { jsonOf, requestPath, requestQuery, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const SCORER = 'createScorer getScorer listScorers'

export const scorerFaults: Fault[] = [
  {
    name: 'delete-count',
    rule: 'deleteScorer 200: num_deleted is the number of versions deleted',
    breaks: 'num_deleted is one too many.',
    ...replyJson('deleteScorer', body => ({ num_deleted: body.num_deleted + 1 })),
  },
  {
    name: 'delete-count-of-digests-sent',
    rule: 'deleteScorer: the same digest twice counts once',
    breaks: 'num_deleted is the number of digests sent.',
    onReply: (reply, request, context) => {
      const sent = new URLSearchParams(request.path.split('?')[1]).getAll('digests').length
      return isOf('deleteScorer', context) && reply.status === 200 && sent > 1
        ? toJsonReply(200, { num_deleted: sent })
        : reply
    },
  },
  {
    name: 'delete-digests-ignored',
    rule: 'deleteScorer: the versions with the given digests',
    breaks: 'deleteScorer deletes all versions whatever is asked.',
    ...whereGood(requestPath('deleteScorer', path => path.split('?')[0]!)),
  },
  {
    name: 'delete-digests-by-comma-unknown',
    rule: 'parameter digests: repeated or joined with commas',
    breaks: 'Digests joined with commas are taken for one.',
    onRequest: (request, context) =>
      isOf('deleteScorer', context) && /digests=[^&]*(%2C|,)/.test(request.path) ? toError(404, 'No digest') : request,
  },
  {
    name: 'delete-digests-body-ignored',
    rule: 'deleteScorer: digests in the body',
    breaks: 'Digests in the body are ignored.',
    onRequest(request, context) {
      if (!isOf('deleteScorer', context) || !Array.isArray(jsonOf(request)) || jsonOf(request).length > 100)
        return request
      const { 'content-type': _, ...headers } = request.headers
      return { ...request, headers, body: Buffer.alloc(0) }
    },
  },
  {
    name: 'delete-partial',
    rule: 'deleteScorer: all or nothing',
    breaks: 'Digests that are there are deleted, others passed over.',
    async onReply(reply, request, context) {
      if (!isOf('deleteScorer', context) || reply.status !== 404 || !request.path.includes('digests')) return reply
      const [path, query] = request.path.split('?') as [string, string]
      let deleted = 0
      for (const digest of new URLSearchParams(query).getAll('digests')) {
        const one = await context.send({ ...request, path: `${path}?digests=${encodeURIComponent(digest)}` })
        if (one.status === 200) deleted++
      }
      return toJsonReply(200, { num_deleted: deleted })
    },
  },
  {
    name: 'delete-all-missing-200',
    rule: 'deleteScorer: a scorer that has no version is a 404',
    breaks: 'Deleting what is not there deletes 0.',
    onReply: (reply, _, context) =>
      isOf('deleteScorer', context) && reply.status === 404 ? toJsonReply(200, { num_deleted: 0 }) : reply,
  },
  {
    name: 'delete-many-digests',
    rule: 'deleteScorer: more than 100 digests are a 422',
    breaks: 'More than 100 digests are taken.',
    onReply: (reply, _, context) =>
      isOf('deleteScorer', context) && reply.status === 422 ? toError(404, 'No such digest') : reply,
  },
  {
    name: 'scorer-new-version-each-time',
    rule: 'createScorer: the same content gives the version that is there',
    breaks: 'The version_index rises with each call.',
    ...replyJson('createScorer', (body, { memory }) => {
      const count = Number(memory.get(body.object_id) ?? 0)
      memory.set(body.object_id, count + 1)
      return { ...body, version_index: count }
    }),
  },
  {
    name: 'scorer-order-of-keys-matters',
    rule: 'createScorer: its digest comes from its whole content',
    breaks: 'The order of keys makes another version.',
    ...replyJson('createScorer', (body, { memory }) => {
      const { id: _, digest: __, ...rest } = body
      const text = JSON.stringify(Object.keys(rest))
      const known = memory.get(body.digest)
      memory.set(body.digest, known ?? text)
      return known === undefined ? body : { ...body, digest: `${body.digest.slice(0, -1)}0` }
    }),
  },
  {
    name: 'scorer-keys-dropped',
    rule: 'createScorer: stores the whole content',
    breaks: 'Keys that the schema does not name are dropped.',
    ...replyItems(SCORER, item => {
      const { id, object_id, digest, version_index, created_at, name, description } = item
      return { id, object_id, digest, version_index, created_at, name, description }
    }),
  },
  {
    name: 'scorer-digest-of-the-caller',
    rule: 'createScorer: its digest comes from its content',
    breaks: 'A digest in the body is taken for the digest.',
    onReply: (reply, request, context) => {
      const digest = isOf('createScorer', context) ? jsonOf(request)?.digest : undefined
      return reply.status === 200 && typeof digest === 'string'
        ? toJsonReply(200, { ...JSON.parse(reply.body.toString('utf8')), digest })
        : reply
    },
  },
  {
    name: 'scorer-revived',
    rule: 'createScorer: the content of a deleted version becomes a new version',
    breaks: 'The content of a deleted version has the version_index that it had.',
    ...replyJson('createScorer', (body, { memory }) => {
      const key = `${body.object_id} ${body.digest}`
      const first = memory.get(key) ?? body
      memory.set(key, first)
      return first
    }),
  },
  {
    name: 'scorer-deleted-readable',
    rule: 'getScorer: a deleted one is a 404',
    breaks: 'A deleted version can still be read.',
    onReply(reply, _, { operationId, memory, path }) {
      if (operationId === 'createScorer' && reply.status === 200)
        memory.set(JSON.parse(reply.body.toString('utf8')).digest, reply)
      return operationId === 'getScorer' && reply.status === 404 && memory.has(path.digest!)
        ? (memory.get(path.digest!) as typeof reply)
        : reply
    },
  },
  {
    name: 'scorer-listed-in-other-projects',
    rule: 'listScorers: all scorers of a project',
    breaks: 'listScorers has a scorer of another project.',
    ...replyJson('listScorers', (body, { memory }) => {
      const foreign = memory.get('item') as Json
      memory.set('item', body.data[0] ?? foreign)
      return body.data.length > 0 || !foreign
        ? body
        : { ...body, data: [foreign], first_id: foreign.id, last_id: foreign.id }
    }),
  },
]

export const usageFaults: Fault[] = [
  {
    name: 'usage-streams-uncounted',
    rule: 'getUsage: adds up to the usage of the replies',
    breaks: 'Streams are not counted.',
    onRequest: (request, context) =>
      isOf('createChatCompletion', context) && jsonOf(request)?.stream === true
        ? {
            ...request,
            headers: { ...request.headers, 'vendor-project': elsewhere(request.headers['vendor-project']) },
          }
        : request,
  },
  {
    name: 'usage-tokens-once',
    rule: 'getUsage: completion tokens for all choices',
    breaks: 'Completion tokens are half of what they were.',
    ...replyItems('getUsage', item => ({ ...item, completion_tokens: Math.floor(item.completion_tokens / 2) })),
  },
  {
    name: 'usage-prompt-per-choice',
    rule: 'getUsage: prompt tokens count once whatever n is',
    breaks: 'Prompt tokens are counted once more for every line.',
    ...replyItems('getUsage', item => ({ ...item, prompt_tokens: item.prompt_tokens * 2 })),
  },
  {
    name: 'usage-requests-twice',
    rule: 'getUsage: the requests',
    breaks: 'Every request counts twice.',
    ...replyItems('getUsage', item => ({ ...item, requests: item.requests * 2 })),
  },
  {
    name: 'usage-counts-refused',
    rule: 'getUsage: one that was refused counts nothing',
    breaks: 'A refused request is counted as one without tokens.',
    async onReply(reply, request, context) {
      const isRefused = isOf('createChatCompletion', context) && reply.status === 422
      const project = request.headers['vendor-project']
      if (!isRefused || project === undefined) return reply
      const body = { messages: [{ role: 'user', content: 'x' }], model: 'tiny-chat', max_completion_tokens: 1 }
      await context.send({ ...request, body: Buffer.from(JSON.stringify(body)) })
      return reply
    },
  },
  {
    name: 'usage-one-model',
    rule: 'getUsage: one line for each model',
    breaks: 'All models are counted as the base model.',
    ...replyItems('getUsage', item => ({ ...item, model: 'tiny-chat' })),
  },
  {
    name: 'usage-model-forms-apart',
    rule: "getUsage: any form of a model's name",
    breaks: 'The filter by model knows the plain URI only.',
    onRequest: (request, context) =>
      isOf('getUsage', context) && /model=[^&]*(%3Alatest|:latest)/.test(request.path)
        ? toJsonReply(200, { object: 'list', data: [], first_id: '', last_id: '', has_more: false })
        : request,
  },
  {
    name: 'usage-project-ignored',
    rule: 'getUsage: narrowed by project',
    breaks: 'project narrows nothing.',
    ...whereGood(requestQuery('getUsage', query => query.delete('project'))),
  },
  {
    name: 'usage-days-ignored',
    rule: 'getUsage: narrowed by days',
    breaks: 'from and to are not looked at.',
    ...whereGood(
      requestQuery('getUsage', query => {
        query.delete('from')
        query.delete('to')
      }),
    ),
  },
  {
    name: 'usage-to-excluded',
    rule: 'getUsage: both days are included',
    breaks: 'The day of `to` is left out.',
    ...whereGood(
      requestQuery('getUsage', query => {
        const to = query.get('to')
        if (to && /^\d{4}-\d\d-\d\d$/.test(to) && !Number.isNaN(Date.parse(to)) && !query.has('after')) {
          const before = new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, 10)
          if (query.get('from') !== to) query.set('to', before)
          else query.set('project', 'none-of-these')
        }
      }),
    ),
  },
  {
    name: 'usage-backwards-days',
    rule: 'getUsage: from after to is a 422',
    breaks: 'A period that ends before it begins is empty.',
    onReply: (reply, request, context) =>
      isOf('getUsage', context) &&
      reply.status === 422 &&
      request.path.includes('from=') &&
      request.path.includes('to=')
        ? toJsonReply(200, { object: 'list', data: [], first_id: '', last_id: '', has_more: false })
        : reply,
  },
  {
    name: 'usage-day-any-form',
    rule: 'parameter from: a day of the calendar',
    breaks: 'A day that no calendar has is taken.',
    onReply: (reply, request, context) =>
      isOf('getUsage', context) && reply.status === 422 && /(from|to)=2026-02-30/.test(request.path)
        ? toJsonReply(200, { object: 'list', data: [], first_id: '', last_id: '', has_more: false })
        : reply,
  },
  {
    name: 'usage-of-those-who-left-lost',
    rule: 'getUsage: one whose client leaves counts the tokens on their way',
    breaks: 'A stream that its client left is not counted.',
    onRequest: (request, context) =>
      isOf('createChatCompletion', context) && jsonOf(request)?.max_completion_tokens === 500
        ? {
            ...request,
            headers: { ...request.headers, 'vendor-project': elsewhere(request.headers['vendor-project']) },
          }
        : request,
  },
  {
    name: 'usage-key-differs',
    rule: 'getUsage: one line for each API key',
    breaks: 'The api_key_id of each line is another one.',
    ...replyItems('getUsage', item => ({ ...item, api_key_id: item.id })),
  },
]

/** Another project of the same team, or none. */
function elsewhere(header: string | undefined): string {
  return header === undefined ? 'default/uncounted' : `${header}-uncounted`
}
