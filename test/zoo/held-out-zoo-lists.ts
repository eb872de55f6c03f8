import { changeJson, type Fault } from './fault.ts'
import {
  beside,
  bodyOf,
  isList,
  type Json,
  look,
  objectsOf,
  onSuccess,
  queryOf,
  refusal,
  withItems,
  withParameter,
} from './held-out-zoo-tools.ts'

/** Of the lists that are pages. */
function isPaged(operationId: string): boolean {
  const whole = ['listInferenceModels', 'listRouterModels']
  return (operationId.startsWith('list') || operationId === 'getUsage') && !whole.includes(operationId)
}

export const listFaults: Fault[] = [
  {
    name: 'held-after-is-inclusive',
    rule: 'Lists after: id of the last item of the previous page; that item is not repeated',
    breaks: 'A page of models begins with the item that `after` names.',
    async onRequest(request, context) {
      const after = queryOf(request).get('after')
      if (context.operationId !== 'listModels' || !after) return request
      const reply = await context.send(request)
      const model = await look(request, context, beside(request, `/v1/preview/models/${encodeURIComponent(after)}`))
      if (reply.status !== 200 || model.status !== 200) return reply
      return changeJson<Json>(reply, page => {
        const limit = Number(queryOf(request).get('limit') ?? 20)
        const items = [bodyOf(model), ...objectsOf(page['data'])]
        return {
          ...withItems(page, items.slice(0, limit)),
          has_more: page['has_more'] === true || items.length > limit,
        }
      })
    },
  },
  {
    name: 'held-full-page-has-more',
    rule: 'Lists has_more: whether another page follows',
    breaks: 'It is true for every full page, also where nothing follows.',
    onReply: onSuccess([], (page, request) => {
      if (!isList(page)) return page
      const limit = Number(queryOf(request).get('limit') ?? 20)
      return { ...page, has_more: page['has_more'] === true || objectsOf(page['data']).length >= limit }
    }),
  },
  {
    name: 'held-limit-clamped',
    rule: 'Lists limit: most items to give in one page, 1 to 100; 422 for what breaks a rule',
    breaks: 'A limit above 100 is taken as 100.',
    onRequest(request, context) {
      const limit = queryOf(request).get('limit') ?? ''
      const isAbove = isPaged(context.operationId) && /^\d+$/.test(limit) && Number(limit) > 100
      return isAbove ? withParameter(request, 'limit', '100') : request
    },
  },
  {
    name: 'held-limit-hundred-refused',
    rule: 'Lists limit: 1 to 100',
    breaks: 'A limit of exactly 100 is refused for artifact versions.',
    onRequest: (request, context) =>
      context.operationId === 'listArtifactVersions' && queryOf(request).get('limit') === '100'
        ? withParameter(request, 'limit', '101')
        : request,
  },
  {
    name: 'held-default-limit-ten',
    rule: 'Lists limit: the default is 20',
    breaks: 'Without a limit a page has 10 items.',
    onRequest: (request, context) =>
      isPaged(context.operationId) && !queryOf(request).has('limit') ? withParameter(request, 'limit', '10') : request,
  },
  {
    name: 'held-ids-of-oldest-and-newest',
    rule: 'Lists first_id, last_id: ids of the first and the last item of the page',
    breaks: 'With `order=desc` they are those of the oldest and the newest item.',
    onReply: onSuccess([], (page, request) =>
      isList(page) && queryOf(request).get('order') === 'desc'
        ? { ...page, first_id: page['last_id'], last_id: page['first_id'] }
        : page,
    ),
  },
  {
    name: 'held-descending-cursor-goes-up',
    operations: ['listRuns'],
    rule: 'Lists after, order: the items after the last one of the previous page, in the order asked for',
    breaks: 'With `order=desc` the runs behind the cursor are those that are newer.',
    async onRequest(request, context) {
      const query = queryOf(request)
      if (context.operationId !== 'listRuns' || query.get('order') !== 'desc' || !query.has('after')) return request
      const reply = await context.send(withParameter(request, 'order', 'asc'))
      if (reply.status !== 200) return reply
      return changeJson<Json>(reply, page => withItems(page, objectsOf(page['data']).toReversed()))
    },
  },
  {
    name: 'held-cursor-must-exist',
    rule: 'Lists after: an id that names no item gives the items that would come after it',
    breaks: 'The models after a deleted one are a 404.',
    async onRequest(request, context) {
      const after = queryOf(request).get('after')
      if (context.operationId !== 'listModels' || !after) return request
      const model = await look(request, context, beside(request, `/v1/preview/models/${encodeURIComponent(after)}`))
      return model.status === 404 ? refusal(request, 404, 'There is no such item.', ['query', 'after']) : request
    },
  },
  {
    name: 'held-empty-page-ids-null',
    rule: 'Lists: `""` for both ids of an empty page',
    breaks: 'They are null.',
    onReply: onSuccess([], page =>
      isList(page) && page['first_id'] === '' ? { ...page, first_id: null, last_id: null } : page,
    ),
  },
]
