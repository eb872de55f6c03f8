/** Links into registries, and scorers told apart. */
import { isOf, type Json, replyJson, toError } from './change-replies.ts'
import { jsonOf, requestJson } from './change-requests.ts'
import { changeJson, type Fault, type ZooContext, type ZooRequest } from './fault.ts'
import { objectsOf, withItems } from './held-out-zoo-tools.ts'

export const linkFaults: Fault[] = [
  {
    name: 'registry-links-by-version',
    rule: 'listRegistryLinks: the order in which they were linked',
    breaks: 'Links come in the order of their versions.',
    ...replyJson('listRegistryLinks', body =>
      withItems(
        body,
        objectsOf(body.data).toSorted((a, b) => (String(a.artifact) < String(b.artifact) ? -1 : 1)),
      ),
    ),
  },
  {
    name: 'registry-collections-shared',
    rule: 'listRegistryLinks: a collection within its registry',
    breaks: 'Collections of one name are one in all registries of a team.',
    ...replyJson('createRegistryLink listRegistryLinks', (body, { operationId, path, memory }) => {
      if (operationId === 'createRegistryLink') memory.set(path.collection!, body)
      const link = memory.get(path.collection!) as Json | undefined
      if (operationId === 'createRegistryLink' || body.data.length > 0 || !link) return
      if (link.registry !== path.registry) return withItems(body, [{ ...link, registry: path.registry }])
    }),
  },
  {
    name: 'registry-link-without-version-is-the-first',
    rule: 'createRegistryLink: without a version it is the latest',
    breaks: 'A URI without a version links the first one.',
    ...requestJson('createRegistryLink', body => {
      if (/^[\w-]+:\/\/\/[^/]+\/[^/]+\/[^/:]+$/.test(body.artifact)) body.artifact += ':v0'
    }),
  },
]

type Sent = Readonly<Record<string, unknown>>

function scorerReply(change: (scorer: Json, sent: Sent) => unknown): Required<Pick<Fault, 'onReply'>> {
  return {
    onReply: (reply, request, context) =>
      isOf('createScorer', context) && reply.status === 200
        ? changeJson<Json>(reply, body => change(body, jsonOf(request) ?? {}) ?? body)
        : reply,
  }
}

/** Remembers of which scorer a digest is, and asks for that one. */
function findsByDigest(id: string, digestOf: (request: ZooRequest, context: ZooContext) => string | undefined) {
  return {
    ...replyJson('createScorer', (body, { memory }) => void memory.set(body.digest, body.object_id)),
    onRequest(request: ZooRequest, context: ZooContext) {
      const owner = isOf(id, context) ? context.memory.get(digestOf(request, context) ?? '') : undefined
      return typeof owner === 'string'
        ? { ...request, path: request.path.replace(/\/scorers\/[^/?]+/, `/scorers/${encodeURIComponent(owner)}`) }
        : request
    },
  }
}

export const scorerOwnerFaults: Fault[] = [
  {
    name: 'scorer-id-of-the-caller',
    rule: 'createScorer: id is ignored',
    breaks: 'An id that is sent becomes the id of the version.',
    ...scorerReply((scorer, { id }) => (typeof id === 'string' ? { ...scorer, id } : scorer)),
  },
  {
    name: 'scorer-time-of-the-caller',
    rule: 'createScorer: created_at is ignored',
    breaks: 'A created_at that is sent is kept.',
    ...scorerReply((scorer, { created_at }) => (typeof created_at === 'string' ? { ...scorer, created_at } : scorer)),
  },
  {
    name: 'scorer-found-by-digest-alone',
    rule: 'getScorer: a digest names a version among those of its scorer',
    breaks: 'A version is found under the name of any scorer.',
    ...findsByDigest('getScorer', (_, { path }) => path.digest),
  },
  {
    name: 'scorer-deleted-by-digest-alone',
    rule: 'deleteScorer: a digest that names no version of the scorer is a 404',
    breaks: 'A version is deleted under the name of any scorer.',
    ...findsByDigest('deleteScorer', ({ path }) => new URLSearchParams(path.split('?')[1]).get('digests') ?? undefined),
  },
  {
    name: 'scorer-numbers-across-projects',
    rule: 'createScorer: versions are counted in each project',
    breaks: 'Scorers of one name share their numbers in all projects.',
    ...replyJson('createScorer', (body, { path, memory }) => {
      const projects = (memory.get(body.object_id) as string[] | undefined) ?? []
      if (!projects.includes(path.project!)) projects.push(path.project!)
      memory.set(body.object_id, projects)
      return { ...body, version_index: body.version_index + projects.indexOf(path.project!) }
    }),
  },
  {
    name: 'scorer-deleted-in-all-projects',
    rule: 'deleteScorer getScorer createScorer: the project is another place',
    breaks: 'Deleting a scorer deletes those of its name in other projects.',
    onReply(reply, _, { operationId, path, memory }) {
      if (reply.status !== 200) return reply
      if (operationId === 'deleteScorer') memory.set(path.object_id!, path.project)
      const inside = operationId === 'getScorer' ? memory.get(path.object_id!) : undefined
      return inside !== undefined && inside !== path.project ? toError(404, 'No such version') : reply
    },
  },
]
