/** Held-out faults in scorers. */
import type { Fault } from './fault.ts'
import { look, onBody, onSuccess, onThings, queryOf, textOf, withoutKeys, withQuery } from './held-out-zoo-tools.ts'

const scorerKeys = ['id', 'object_id', 'digest', 'version_index', 'created_at', 'name', 'description']

export const scorerFaults: Fault[] = [
  {
    name: 'held-scorer-digest-by-key-order',
    rule: 'createScorer: the same content again gives the version that is there',
    breaks: 'The same keys in another order become another version.',
    onRequest: onBody(['createScorer'], body =>
      textOf(body['object_id']) === '' ? undefined : { ...body, _keys: Object.keys(body).join() },
    ),
    onReply: onThings(['createScorer', 'listScorers', 'getScorer'], scorer => withoutKeys(scorer, '_keys')),
  },
  {
    name: 'held-scorer-deleted-in-part',
    rule: 'deleteScorer: when one digest names no version that is there, it is a 404 and nothing is deleted',
    breaks: 'Digests that are not there are skipped, and the others deleted.',
    async onRequest(request, context) {
      if (context.operationId !== 'deleteScorer' || request.body.length > 2) return request
      const query = queryOf(request)
      const digests = query.getAll('digests').flatMap(value => value.split(','))
      const [own] = request.path.split('?')
      const found: string[] = []
      for (const digest of digests.slice(0, 100)) {
        const version = await look(request, context, `${own}/versions/${encodeURIComponent(digest)}`)
        if (version.status === 200) found.push(digest)
      }
      if (found.length === 0) return request
      query.delete('digests')
      for (const digest of found) query.append('digests', digest)
      return withQuery(request, query)
    },
  },
  {
    name: 'held-scorer-repeats-counted',
    rule: 'deleteScorer: the same digest twice counts once',
    breaks: '`num_deleted` counts every digest of the query.',
    onReply: onSuccess(['deleteScorer'], (deleted, request) => {
      const digests = queryOf(request)
        .getAll('digests')
        .flatMap(value => value.split(','))
        .filter(each => each !== '')
      return digests.length > 0 ? { ...deleted, num_deleted: digests.length } : deleted
    }),
  },
  {
    name: 'held-scorer-bracket-digests-unread',
    rule: 'deleteScorer digests: the form `digests[]=a` is understood as well',
    breaks: 'It is not, so that all versions are deleted.',
    onRequest(request, context) {
      const query = queryOf(request)
      if (context.operationId !== 'deleteScorer' || !query.has('digests[]')) return request
      query.delete('digests[]')
      return withQuery(request, query)
    },
  },
  {
    name: 'held-scorer-own-keys-only-at-creation',
    rule: 'Schema CreateScorerRequest: every key is kept and given back',
    breaks: 'Keys that the contract does not name are in the reply of the creation only.',
    onReply: onThings(['listScorers', 'getScorer'], scorer =>
      Object.fromEntries(Object.entries(scorer).filter(([key]) => scorerKeys.includes(key))),
    ),
  },
  {
    name: 'held-scorer-without-name-is-unnamed',
    rule: 'Schema CreateScorerRequest name: left out or null, it is the `object_id`',
    breaks: 'The name is empty.',
    onRequest: onBody(['createScorer'], body =>
      body['name'] == null && textOf(body['object_id']) !== '' ? { ...body, name: '' } : undefined,
    ),
  },
]
