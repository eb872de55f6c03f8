/** Lists that break the laws of cursor pages. */
import { isOf, type Json, replyJson, toJsonReply } from './change-replies.ts'
import { requestQuery, whereGood } from './change-requests.ts'
import type { Fault, ZooReply } from './fault.ts'

const PAGED =
  'listArtifactVersions listScorers getUsage listCheckpoints listModels listTrainingJobs listTrainingJobEvents'

function hasQuery(path: string, name: string): boolean {
  return new URLSearchParams(path.split('?')[1] ?? '').has(name)
}

function toPage(body: Json, data: Json[]): Json {
  return { ...body, data, first_id: data.at(0)?.id ?? '', last_id: data.at(-1)?.id ?? '' }
}

function bodyOf(reply: ZooReply): Json {
  return JSON.parse(reply.body.toString('utf8'))
}

export const listFaults: Fault[] = [
  {
    name: 'page-repeat',
    rule: 'Lists: after is exclusive',
    breaks: 'A page of listArtifactVersions begins with the item that after names.',
    onReply(reply, request, context) {
      if (!isOf('listArtifactVersions', context) || reply.status !== 200) return reply
      const body = bodyOf(reply)
      for (const item of body.data) context.memory.set(item.id, item)
      const after = new URLSearchParams(request.path.split('?')[1]).get('after') ?? ''
      const before = context.memory.get(after)
      // Once only for each item, so that readers come to an end.
      if (before === undefined || context.memory.has(`repeated ${after}`)) return reply
      context.memory.set(`repeated ${after}`, true)
      return toJsonReply(200, toPage(body, [before, ...body.data]))
    },
  },
  {
    name: 'page-skip',
    rule: 'Lists: a page begins with the item behind after',
    breaks: 'listScorers leaves out the first item of each page but the first.',
    onReply: (reply, request, context) =>
      isOf('listScorers', context) && reply.status === 200 && hasQuery(request.path, 'after')
        ? toJsonReply(200, toPage(bodyOf(reply), bodyOf(reply).data.slice(1)))
        : reply,
  },
  {
    name: 'page-never-ends',
    rule: 'Lists: has_more tells whether another page follows',
    breaks: 'Behind the last item of listCheckpoints the list begins again.',
    async onReply(reply, request, context) {
      if (!isOf('listCheckpoints', context) || reply.status !== 200) return reply
      const body = bodyOf(reply)
      if (body.data.length > 0) return toJsonReply(200, { ...body, has_more: true })
      const [path, query = ''] = request.path.split('?') as [string, string | undefined]
      const first = new URLSearchParams(query)
      first.delete('after')
      const again = await context.send({ ...request, path: `${path}?${first}` })
      return again.status === 200 && bodyOf(again).data.length > 0
        ? toJsonReply(200, { ...bodyOf(again), has_more: true })
        : reply
    },
  },
  {
    name: 'limit-ignored',
    rule: 'Lists: limit',
    breaks: 'Pages hold up to 100 items whatever the limit.',
    ...whereGood(
      requestQuery(PAGED, query => {
        if (/^([1-9]\d?)$/.test(query.get('limit') ?? '')) query.set('limit', '100')
      }),
    ),
  },
  {
    name: 'limit-one-less',
    rule: 'Lists: a page before the last one is full',
    breaks: 'Pages of listScorers have one item less than asked for.',
    ...whereGood(
      requestQuery('listScorers', query => {
        const limit = Number(query.get('limit'))
        if (limit > 1 && limit <= 100) query.set('limit', String(limit - 1))
      }),
    ),
  },
  {
    name: 'order',
    rule: 'Lists: order',
    breaks: 'Lists are always in rising order.',
    ...whereGood(
      requestQuery(PAGED, query => {
        if (query.get('order') === 'desc') query.set('order', 'asc')
      }),
    ),
  },
  {
    name: 'order-default-desc',
    rule: 'Lists: asc is the default',
    breaks: 'Models come newest first unless order says otherwise.',
    onRequest: (request, { operationId }) =>
      /^list(Models|Scorers|ArtifactVersions)$/.test(operationId) && !hasQuery(request.path, 'order')
        ? { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}order=desc` }
        : request,
  },
  {
    name: 'after-ignored',
    rule: 'Lists: after',
    breaks: 'Every page of getUsage is the first one; has_more is false.',
    async onRequest(request, context) {
      if (!isOf('getUsage', context) || !hasQuery(request.path, 'after')) return request
      if ((await context.send(request)).status !== 200) return request
      const [path, query] = request.path.split('?') as [string, string]
      const first = new URLSearchParams(query)
      first.delete('after')
      const reply = await context.send({ ...request, path: `${path}?${first}` })
      return reply.status === 200 ? toJsonReply(200, { ...bodyOf(reply), has_more: false }) : reply
    },
  },
  {
    name: 'after-unknown-500',
    rule: 'Lists: after is the id of an item',
    breaks: 'An after that no item has is a 500.',
    onReply: (reply, request, context) =>
      isOf(PAGED, context) && hasQuery(request.path, 'after') && reply.status === 200 && bodyOf(reply).data.length === 0
        ? toJsonReply(500, { detail: 'x', error: { message: 'x', type: 'server_error', param: null, code: null } })
        : reply,
  },
  {
    name: 'first-id-wrong',
    rule: 'Lists: first_id',
    breaks: 'first_id is the id of the last item.',
    ...replyJson(PAGED, body => ({ ...body, first_id: body.last_id })),
  },
  {
    name: 'empty-page-null-ids',
    rule: 'Lists: "" for both ids of an empty page',
    breaks: 'The ids of an empty page are null.',
    ...replyJson(PAGED, body => (body.data.length === 0 ? { ...body, first_id: null, last_id: null } : body)),
  },
  {
    name: 'has-more-always-false',
    rule: 'Lists: has_more',
    breaks: 'has_more is always false.',
    ...replyJson(PAGED, body => ({ ...body, has_more: false })),
  },
  {
    name: 'has-more-on-full-page',
    rule: 'Lists: has_more tells whether another page follows',
    breaks: 'has_more is true whenever a page is full.',
    onReply: (reply, request, context) => {
      if (!isOf(PAGED, context) || reply.status !== 200) return reply
      const limit = Number(new URLSearchParams(request.path.split('?')[1]).get('limit') ?? 20)
      const body = bodyOf(reply)
      return toJsonReply(200, { ...body, has_more: body.data.length === limit })
    },
  },
  {
    name: 'object-other',
    rule: 'Lists: object is `list`',
    breaks: 'The object of listInferenceModels is `models`.',
    ...replyJson('listInferenceModels', body => ({ ...body, object: 'models' })),
  },
  {
    name: 'order-unstable',
    rule: 'Lists: the same order at each reading',
    breaks: 'The items of each page of listScorers are shuffled by their digests.',
    ...replyJson('listScorers', body =>
      toPage(
        body,
        body.data.toSorted((one: Json, other: Json) => one.digest.localeCompare(other.digest)),
      ),
    ),
  },
]
