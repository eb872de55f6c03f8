/** Fresh faults in scorers. */
import type { Fault } from './fault.ts'
import {
  isObject,
  type Json,
  numberOf,
  objectsOf,
  onSuccess,
  onThings,
  queryOf,
  refusal,
  remembered,
  textOf,
  withQuery,
} from './held-out-zoo-tools.ts'

const DIGESTS = ['digests', 'digests[]']

function digestsIn(body: Buffer): unknown[] {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

export const freshScorerFaults: Fault[] = [
  {
    name: 'fresh-digests-of-body-replace-query',
    rule: 'deleteScorer body: digests to delete; they are added to those of the query',
    breaks: 'Where both are sent, those of the query are not looked at.',
    onRequest(request, context) {
      const query = queryOf(request)
      const isBoth = DIGESTS.some(name => query.has(name)) && digestsIn(request.body).length > 0
      if (context.operationId !== 'deleteScorer' || !isBoth) return request
      for (const name of DIGESTS) query.delete(name)
      return withQuery(request, query)
    },
  },
  {
    name: 'fresh-empty-digests-refused',
    rule: 'deleteScorer digests: left out or empty, all versions are deleted',
    breaks: 'An empty `digests=` is a 422.',
    onRequest(request, context) {
      const given = DIGESTS.flatMap(name => queryOf(request).getAll(name))
      const isEmpty = given.length > 0 && given.every(digest => digest === '')
      if (context.operationId !== 'deleteScorer' || !isEmpty || !request.headers['authorization']) return request
      return refusal(request, 422, 'A digest has at least 1 character', ['query', 'digests', '0'])
    },
  },
  {
    name: 'fresh-null-keys-dropped',
    rule: 'createScorer, Schema CreateScorerRequest: every key is kept and given back',
    breaks: "The caller's own keys whose value is null are dropped.",
    onReply: onThings(['createScorer', 'getScorer', 'listScorers'], scorer =>
      Object.fromEntries(Object.entries(scorer).filter(([name, value]) => value !== null || name === 'description')),
    ),
  },
  {
    name: 'fresh-index-counts-what-is-left',
    rule: 'createScorer, Schema Scorer version_index: number of the version, counted from 0; a number is never given twice',
    breaks: 'A new version has the number of versions that are left, so that numbers come again after a deletion.',
    onReply: onSuccess(['createScorer', 'getScorer', 'listScorers', 'deleteScorer'], (value, _, context) => {
      const deleted = remembered<number>(context, 'deleted')
      const shifts = remembered<number>(context, 'shifts')
      const { entity, project } = context.path
      if (context.operationId === 'deleteScorer') {
        const scorer = `${entity}/${project}/${context.path['object_id']}`
        deleted.set(scorer, (deleted.get(scorer) ?? 0) + numberOf(value['num_deleted']))
        return value
      }
      const id = textOf(value['id'])
      if (context.operationId === 'createScorer' && !shifts.has(id))
        shifts.set(id, deleted.get(`${entity}/${project}/${value['object_id']}`) ?? 0)
      const shift = (scorer: Json): Json => ({
        ...scorer,
        version_index: numberOf(scorer['version_index']) - (shifts.get(textOf(scorer['id'])) ?? 0),
      })
      if (context.operationId !== 'listScorers') return shift(value)
      return { ...value, data: objectsOf(value['data']).filter(isObject).map(shift) }
    }),
  },
]
