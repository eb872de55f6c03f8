import type { components } from '../../generated/schema.d.ts'
import { requireMember } from '../auth.ts'
import { invalidValue, notFound } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { addScorer, deleteScorerVersions, findScorer, listScorerRows } from '../storage/scorers.ts'
import type { ScorerRow } from '../storage/tables.ts'

const MAX_DIGESTS = 100

export const createScorer: Handler<'createScorer'> = async ({ path, body }, { database, principal }) => {
  requireMember(principal, path.entity)
  const { object_id, name, description, id, digest, version_index, created_at, ...content } = body as Record<
    string,
    unknown
  > &
    typeof body
  const scorer = { object_id, name: name ?? object_id, description: description ?? null, content }
  return { status: 200, body: toScorer(await addScorer(database, path, scorer)) }
}

export const listScorers: Handler<'listScorers'> = async ({ path, query }, { database, principal }) => {
  requireMember(principal, path.entity)
  return { status: 200, body: await listScorerRows(database, path, query, toScorer) }
}

export const getScorer: Handler<'getScorer'> = async ({ path }, { database, principal }) => {
  requireMember(principal, path.entity)
  const row = await findScorer(database, path, path.object_id, path.digest)
  if (!row) throw notFound(`Version ${path.digest} of scorer ${path.object_id}`)
  return { status: 200, body: toScorer(row) }
}

export const deleteScorer: Handler<'deleteScorer'> = async ({ path, query, body }, { database, principal }) => {
  requireMember(principal, path.entity)
  const digests = [...(query.digests ?? []), ...(body ?? [])]
  if (digests.length > MAX_DIGESTS)
    throw invalidValue(['query', 'digests'], `At most ${MAX_DIGESTS} digests are allowed`, 'too_long')
  const num_deleted = await deleteScorerVersions(database, path, path.object_id, digests)
  if (num_deleted === 0) throw notFound(`Scorer ${path.object_id}, or one of the given versions of it,`)
  return { status: 200, body: { num_deleted } }
}

function toScorer({
  content,
  id,
  object_id,
  digest,
  version_index,
  created_at,
  name,
  description,
}: ScorerRow): components['schemas']['Scorer'] {
  return { ...JSON.parse(content), id, object_id, digest, version_index, created_at, name, description }
}
