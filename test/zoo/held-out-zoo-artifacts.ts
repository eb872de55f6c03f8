/** Held-out faults in artifacts, their files, and registries that link to them. */
import { createHash } from 'node:crypto'
import { changeJson, type Fault, type ZooContext, type ZooReply, type ZooRequest } from './fault.ts'
import {
  asStatus,
  beside,
  bodyOf,
  isList,
  type Json,
  look,
  numberOf,
  objectsOf,
  onSuccess,
  queryOf,
  refusal,
  remembered,
  textOf,
} from './held-out-zoo-tools.ts'

const versionReplies = [
  'createArtifactVersion',
  'getArtifactVersion',
  'addArtifactAlias',
  'deleteArtifactAlias',
  'addArtifactTag',
  'deleteArtifactTag',
]

/** A reply hook that changes versions wherever they are shown. */
function onVersions(change: (version: Json, context: ZooContext) => Json): Fault['onReply'] {
  return onSuccess([...versionReplies, 'listArtifactVersions'], (value, _, context) =>
    isList(value)
      ? { ...value, data: objectsOf(value['data']).map(version => change(version, context)) }
      : change(value, context),
  )
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(textOf) : []
}

function artifactPath(context: ZooContext): string {
  const parts = ['entity', 'project', 'name'].map(part => encodeURIComponent(context.path[part] ?? ''))
  return `/v1/preview/artifacts/${parts.join('/')}/versions`
}

/** The version that a path's `version` names now. */
function versionOf(request: ZooRequest, context: ZooContext, name: string): Promise<ZooReply> {
  return look(request, context, beside(request, `${artifactPath(context)}/${encodeURIComponent(name)}`))
}

function onRange(change: (range: string) => string): Fault['onRequest'] {
  return (request, context) => {
    const range = request.headers['range']
    if (context.operationId !== 'getArtifactFile' || range === undefined) return request
    return { ...request, headers: { ...request.headers, range: change(range) } }
  }
}

export const artifactFaults: Fault[] = [
  {
    name: 'held-range-without-last-byte',
    rule: 'getArtifactFile Range: `bytes=<first>-<last>`; content-range: the first and the last byte of the body',
    breaks: 'The last byte of a range is not part of it.',
    onReply(reply, request, context) {
      const match = /^bytes=\d+-\d+$/.test(request.headers['range'] ?? '')
      if (context.operationId !== 'getArtifactFile' || reply.status !== 206 || !match) return reply
      if (reply.body.length < 2) return reply
      const body = reply.body.subarray(0, -1)
      const shown = String(reply.headers['content-range']).replace(/-(\d+)\//, (_, last) => `-${Number(last) - 1}/`)
      const headers = { ...reply.headers, 'content-range': shown, 'content-length': String(body.length) }
      return { ...reply, headers, body }
    },
  },
  {
    name: 'held-suffix-range-from-start',
    rule: 'getArtifactFile Range: `bytes=-<count from the end>`',
    breaks: 'The count is taken from the start of the file.',
    onRequest: onRange(range => range.replace(/^bytes=-(\d*[1-9]\d*)$/, (_, n) => `bytes=0-${Number(n) - 1}`)),
  },
  {
    name: 'held-first-of-several-ranges',
    rule: 'getArtifactFile: a `Range` header that has several ranges is ignored, and the whole file comes',
    breaks: 'The first of several ranges comes.',
    onRequest: onRange(range => range.split(',')[0]!),
  },
  {
    name: 'held-etag-of-range',
    rule: 'ETag: SHA-256 of the whole file; the same for every range',
    breaks: 'The etag of a range is that of its bytes.',
    onReply(reply, _, context) {
      if (context.operationId !== 'getArtifactFile' || reply.status !== 206) return reply
      const etag = `"${createHash('sha256').update(reply.body).digest('hex')}"`
      return { ...reply, headers: { ...reply.headers, etag } }
    },
  },
  {
    name: 'held-alias-stays-on-former-version',
    rule: 'addArtifactAlias: puts the alias on the version and takes it off the version that had it',
    breaks: 'The version that had the alias still shows it.',
    async onRequest(request, context) {
      const alias = context.path['alias'] ?? ''
      if (context.operationId !== 'addArtifactAlias') return request
      const former = await versionOf(request, context, alias)
      const reply = await context.send(request)
      const [before, now] = [bodyOf(former), bodyOf(reply)]
      if (former.status === 200 && reply.status === 200 && before['id'] !== now['id'])
        remembered<string>(context, 'ghosts').set(textOf(before['id']), alias)
      return reply
    },
    onReply: onVersions((version, context) => {
      const ghost = remembered<string>(context, 'ghosts').get(textOf(version['id']))
      const aliases = listOf(version['aliases'])
      return ghost === undefined ? version : { ...version, aliases: [...new Set([...aliases, ghost])].toSorted() }
    }),
  },
  {
    name: 'held-latest-does-not-move-back',
    rule: 'deleteArtifactVersion: `latest` moves to the newest version left',
    breaks: 'After the newest version was deleted, `latest` names nothing until another one is stored.',
    async onRequest(request, context) {
      const gone = remembered<boolean>(context, 'gone')
      const artifact = artifactPath(context)
      if (context.operationId === 'createArtifactVersion') gone.delete(artifact)
      if (context.operationId === 'getArtifactVersion' && context.path['version'] === 'latest' && gone.has(artifact)) {
        const reply = await context.send(request)
        return reply.status === 200 ? refusal(request, 404, 'There is no such version.', ['path', 'version']) : reply
      }
      if (context.operationId !== 'deleteArtifactVersion') return request
      const version = await versionOf(request, context, context.path['version'] ?? '')
      const reply = await context.send(request)
      if (reply.status === 200 && listOf(bodyOf(version)['aliases']).includes('latest')) gone.set(artifact, true)
      return reply
    },
  },
  {
    name: 'held-repeated-content-loses-tags',
    operations: ['deleteArtifactTag'],
    rule: 'createArtifactVersion: the version with the same content is given back with the aliases and tags added',
    breaks: 'Where the content is there already, new tags are not added.',
    async onRequest(request, context) {
      if (context.operationId !== 'createArtifactVersion') return request
      const before = await look(request, context, `${beside(request, artifactPath(context))}?limit=100`)
      const reply = await context.send(request)
      const version = bodyOf(reply)
      const known = objectsOf(bodyOf(before)['data']).find(other => other['id'] === version['id'])
      if (reply.status !== 200 || !known) return reply
      const tags = listOf(known['tags'])
      for (const tag of listOf(version['tags']).filter(each => !tags.includes(each))) {
        const path = `${artifactPath(context)}/${version['version']}/tags/${encodeURIComponent(tag)}`
        const { authorization = '', host = '' } = request.headers
        const headers = { authorization, host }
        await context.send({ method: 'DELETE', path: beside(request, path), headers, body: Buffer.alloc(0) })
      }
      return changeJson<Json>(reply, () => ({ ...version, tags }))
    },
  },
  {
    name: 'held-files-not-by-path',
    rule: 'Schema ArtifactVersion files: the files, by path',
    breaks: 'The files come the other way round.',
    onReply: onVersions(version => ({ ...version, files: objectsOf(version['files']).toReversed() })),
  },
  {
    name: 'held-size-of-first-file',
    rule: 'Schema ArtifactVersion size_bytes: size of all files together',
    breaks: 'The size is that of the first file.',
    onReply: onVersions(version => ({
      ...version,
      size_bytes: numberOf(objectsOf(version['files'])[0]?.['size_bytes']),
    })),
  },
  {
    name: 'held-latest-before-other-aliases',
    rule: 'Schema ArtifactVersion aliases: in alphabetical order',
    breaks: '`latest` comes first, and the others behind it.',
    onReply: onVersions(version => {
      const aliases = listOf(version['aliases'])
      return { ...version, aliases: aliases.toSorted((a, b) => Number(b === 'latest') - Number(a === 'latest')) }
    }),
  },
  {
    name: 'held-uri-names-latest',
    rule: 'Schema ArtifactVersion uri: names this very version, `<scheme>:///<entity>/<project>/<name>:<version>`',
    breaks: 'The URI of the newest version ends with `:latest`.',
    onReply: onVersions(version =>
      listOf(version['aliases']).includes('latest')
        ? { ...version, uri: textOf(version['uri']).replace(/:v\d+$/, ':latest') }
        : version,
    ),
  },
  {
    name: 'held-artifact-without-versions-not-found',
    rule: 'listArtifactVersions: a name that has no versions gives an empty page',
    breaks: 'It is a 404.',
    onReply(reply, request, context) {
      if (context.operationId !== 'listArtifactVersions' || reply.status !== 200) return reply
      if (queryOf(request).has('after') || objectsOf(bodyOf(reply)['data']).length > 0) return reply
      return refusal(request, 404, 'There is no such artifact.', ['path', 'name'])
    },
  },
  {
    name: 'held-version-in-use-is-a-conflict',
    rule: 'deleteArtifactVersion: a version that a model has as a checkpoint is a 400; Errors: 409 is never used',
    breaks: 'It is a 409.',
    onReply: (reply, _, context) =>
      context.operationId === 'deleteArtifactVersion' && reply.status === 400 ? { ...reply, status: 409 } : reply,
  },
  {
    name: 'held-absent-tag-deleted',
    operations: ['deleteArtifactTag'],
    rule: 'deleteArtifactTag: a tag that this version does not have is a 404',
    breaks: 'It is a success that changes nothing.',
    async onReply(reply, request, context) {
      if (context.operationId !== 'deleteArtifactTag' || reply.status !== 404) return reply
      const version = await versionOf(request, context, context.path['version'] ?? '')
      const same = { 'x-request-id': reply.headers['x-request-id'] }
      return version.status === 200 ? { ...version, headers: { ...version.headers, ...same } } : reply
    },
  },
  {
    name: 'held-encoded-slash-in-file-path',
    rule: 'getArtifactFile path: a slash in it is sent as `%2F`; a plain slash is understood as well',
    breaks: 'A path with `%2F` is not found, only one with a plain slash.',
    onRequest(request, context) {
      if (context.operationId !== 'getArtifactFile' || !request.headers['authorization']) return request
      const [, file = ''] = request.path.split('/files/')
      return /%2f/i.test(file) ? refusal(request, 404, 'There is no such file.', ['path', 'path']) : request
    },
  },
  {
    name: 'held-link-follows-its-alias',
    operations: ['createRegistryLink'],
    rule: 'createRegistryLink: an alias is looked up once: the link stays with the version that bears it now',
    breaks: 'A link that was made by an alias, or without a version, shows the version that bears it by now.',
    async onReply(reply, request, context) {
      const links = remembered<string>(context, 'links')
      if (reply.status !== 200) return reply
      if (context.operationId === 'createRegistryLink') {
        const [, , , entity, project, name] = textOf(bodyOf(reply)['artifact']).split('/')
        const alias = /:(?!\/)([^/:]+)$/.exec(textOf(bodyOf(request)['artifact']))?.[1] ?? 'latest'
        const artifact = [entity, project, name?.replace(/:[^:]*$/, '')].map(part => encodeURIComponent(part ?? ''))
        const path = `/v1/preview/artifacts/${artifact.join('/')}/versions/${encodeURIComponent(alias)}`
        if (!/^v\d+$/.test(alias)) links.set(textOf(bodyOf(reply)['id']), path)
      }
      if (context.operationId !== 'listRegistryLinks') return reply
      const page = bodyOf(reply)
      const data = await Promise.all(
        objectsOf(page['data']).map(async link => {
          const path = links.get(textOf(link['id']))
          const now = path === undefined ? undefined : bodyOf(await look(request, context, beside(request, path)))
          return now?.['uri'] === undefined ? link : { ...link, artifact: now['uri'], version_id: now['id'] }
        }),
      )
      return changeJson<Json>(reply, () => ({ ...page, data }))
    },
  },
  {
    name: 'held-second-link-refused',
    operations: ['createRegistryLink'],
    rule: 'createRegistryLink: linking the same version again gives the link that is there',
    breaks: 'It is a 400.',
    onReply(reply, request, context) {
      if (context.operationId !== 'createRegistryLink' || reply.status !== 200) return reply
      const links = remembered<boolean>(context, 'links')
      const id = textOf(bodyOf(reply)['id'])
      if (links.has(id)) return refusal(request, 400, 'The version is linked already.', ['body', 'artifact'])
      links.set(id, true)
      return reply
    },
  },
  {
    name: 'held-unlinkable-artifact-not-found',
    operations: ['createRegistryLink'],
    rule: 'createRegistryLink: a URI that leads to nothing in a team of the caller is a 400',
    breaks: 'It is a 404.',
    onReply: (reply, _, context) =>
      context.operationId === 'createRegistryLink' && reply.status === 400
        ? asStatus(reply, 404, 'not_found_error')
        : reply,
  },
]
