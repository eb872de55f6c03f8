/** Fresh faults in artifacts, their files and aliases, and in registries. */
import { changeJson, type Fault, type ZooContext, type ZooRequest } from './fault.ts'
import {
  beside,
  bodyOf,
  isList,
  type Json,
  look,
  objectsOf,
  onSuccess,
  onThings,
  queryOf,
  refusal,
  remembered,
  textOf,
  withItems,
} from './held-out-zoo-tools.ts'

const ofVersions = [
  'createArtifactVersion',
  'getArtifactVersion',
  'listArtifactVersions',
  'addArtifactAlias',
  'deleteArtifactAlias',
  'addArtifactTag',
  'deleteArtifactTag',
]

/** The path of what the request is about, up to its versions. */
function versionsOf(request: ZooRequest, context: ZooContext): string {
  const parts = ['entity', 'project', 'name'].map(part => encodeURIComponent(context.path[part] ?? ''))
  return beside(request, `/v1/preview/artifacts/${parts.join('/')}/versions`)
}

function send(request: ZooRequest, context: ZooContext, method: string, path: string) {
  const headers = { authorization: request.headers['authorization'] ?? '' }
  return context.send({ method, path, headers, body: Buffer.alloc(0) })
}

/** Names of the files in a form. */
function fileNamesOf(form: Buffer): string[] {
  return [...form.toString('latin1').matchAll(/\bfilename="([^"]*)"/g)].map(([, name]) => name!)
}

export const freshArtifactFaults: Fault[] = [
  {
    name: 'fresh-range-has-to-end-within-file',
    rule: 'getArtifactFile: a range that starts behind the end of the file is a 416',
    breaks: 'One that starts within the file and ends behind it is a 416 too.',
    onReply(reply, request, context) {
      if (context.operationId !== 'getArtifactFile' || reply.status !== 206) return reply
      const last = /^bytes=\d+-(\d+)$/.exec(request.headers['range'] ?? '')?.[1]
      const size = /\/(\d+)$/.exec(textOf(reply.headers['content-range']))?.[1]
      if (!last || !size || Number(last) < Number(size)) return reply
      const refused = refusal(request, 416, 'The range ends behind the end of the file.', ['header', 'Range'])
      return { ...refused, headers: { ...refused.headers, 'content-range': `bytes */${size}` } }
    },
  },
  {
    name: 'fresh-repeated-content-takes-latest',
    rule: 'createArtifactVersion, Schema ArtifactVersion aliases: the newest version has `latest`',
    breaks: 'Content that an older version has already makes that version `latest`.',
    async onReply(reply, request, context) {
      const version = bodyOf(reply)
      const aliases = Array.isArray(version['aliases']) ? version['aliases'] : []
      if (context.operationId !== 'createArtifactVersion' || reply.status !== 200 || aliases.includes('latest'))
        return reply
      const path = `${versionsOf(request, context)}/${version['version']}/aliases/latest`
      const moved = await send(request, context, 'PUT', path)
      return moved.status === 200 ? { ...reply, body: moved.body } : reply
    },
  },
  {
    name: 'fresh-type-not-compared',
    rule: 'createArtifactVersion: where a version has the same files, type and metadata already, that one is given back',
    breaks: 'A version with the same files and metadata is given back also where its type is another one.',
    async onReply(reply, request, context) {
      if (context.operationId !== 'createArtifactVersion' || reply.status !== 200) return reply
      const made = bodyOf(reply)
      const list = await send(request, context, 'GET', `${versionsOf(request, context)}?limit=100`)
      const content = (version: Json) => JSON.stringify([version['files'], version['metadata']])
      const twin = objectsOf(bodyOf(list)['data']).find(
        version =>
          version['type'] !== made['type'] && content(version) === content(made) && version['id'] !== made['id'],
      )
      if (!twin || textOf(twin['id']) > textOf(made['id'])) return reply
      await send(request, context, 'DELETE', `${versionsOf(request, context)}/${made['version']}`)
      const kept = await send(request, context, 'GET', `${versionsOf(request, context)}/${twin['version']}`)
      return kept.status === 200 ? { ...reply, body: kept.body } : reply
    },
  },
  {
    name: 'fresh-tag-there-twice',
    rule: 'addArtifactTag: adding it twice changes nothing',
    breaks: 'A tag that is added twice is in the list twice.',
    onReply: onThings(ofVersions, (version, context) => {
      const added = remembered<number>(context, 'added')
      const place = (tag: unknown) => `${version['id']} ${tag}`
      const tags: unknown[] = Array.isArray(version['tags']) ? version['tags'] : []
      if (context.operationId === 'addArtifactTag') {
        const own = place(context.path['tag'])
        added.set(own, (added.get(own) ?? 0) + 1)
      }
      if (context.operationId === 'deleteArtifactTag') added.delete(place(context.path['tag']))
      return {
        ...version,
        tags: tags.flatMap(tag => Array<unknown>(Math.max(1, added.get(place(tag)) ?? 1)).fill(tag)),
      }
    }),
  },
  {
    name: 'fresh-deletion-by-alias-takes-alias-only',
    rule: 'deleteArtifactVersion version: as its number `v<N>` or as one of its aliases',
    breaks: 'Named by an alias, the version only loses that alias, although the reply says that it is deleted.',
    async onRequest(request, context) {
      const alias = context.path['version'] ?? ''
      if (context.operationId !== 'deleteArtifactVersion' || /^v\d+$/.test(alias) || alias === 'latest') return request
      const path = `${versionsOf(request, context)}/${encodeURIComponent(alias)}`
      const found = await look(request, context, path)
      if (found.status !== 200) return request
      const taken = await send(request, context, 'DELETE', `${path}/aliases/${encodeURIComponent(alias)}`)
      const { id, version } = bodyOf(found)
      return taken.status === 200
        ? { ...taken, body: Buffer.from(JSON.stringify({ id, version, deleted: true })) }
        : taken
    },
  },
  {
    name: 'fresh-files-by-alias-from-cache',
    rule: 'getArtifactFile version: as one of its aliases; Schema ArtifactVersion aliases: names that lead to this version now',
    breaks: 'Files that are asked for by an alias go on to come from the version that it led to at first.',
    async onRequest(request, context) {
      const alias = context.path['version'] ?? ''
      if (context.operationId !== 'getArtifactFile' || /^v\d+$/.test(alias)) return request
      const path = `${versionsOf(request, context)}/${encodeURIComponent(alias)}`
      const known = remembered<string>(context, 'versions')
      if (!known.has(path)) {
        const found = await look(request, context, path)
        if (found.status === 200) known.set(path, textOf(bodyOf(found)['version']))
      }
      const version = known.get(path)
      if (version === undefined) return request
      const file = encodeURIComponent(context.path['path'] ?? '')
      return { ...request, path: `${versionsOf(request, context)}/${version}/files/${file}` }
    },
  },
  {
    name: 'fresh-links-outlive-their-version',
    rule: 'deleteArtifactVersion: deletes the version with its aliases and its links into registries; listRegistryLinks',
    breaks: 'The links stay in their collections.',
    onReply: onSuccess(
      ['createRegistryLink', 'deleteArtifactVersion', 'listRegistryLinks'],
      (value, request, context) => {
        const links = remembered<Json>(context, 'links')
        const gone = remembered<boolean>(context, 'gone')
        if (context.operationId === 'createRegistryLink') links.set(textOf(value['id']), value)
        if (context.operationId === 'deleteArtifactVersion') gone.set(textOf(value['id']), true)
        if (!isList(value) || value['has_more'] === true || queryOf(request).has('after')) return value
        const isHere = (link: Json) =>
          ['entity', 'registry', 'collection'].every(part => link[part] === context.path[part])
        const stale = [...links.values()].filter(link => isHere(link) && gone.has(textOf(link['version_id'])))
        const all = [...objectsOf(value['data']), ...stale]
        const sign = queryOf(request).get('order') === 'desc' ? -1 : 1
        return withItems(
          value,
          all.toSorted((one, other) => (textOf(one['id']) < textOf(other['id']) ? -sign : sign)),
        )
      },
    ),
  },
  {
    name: 'fresh-version-linked-once-in-registry',
    rule: 'createRegistryLink: links a version into a collection; linking the same version again gives the link that is there',
    breaks: 'A version that another collection of the registry has is not linked again; the link there is given back.',
    onReply: onSuccess(['createRegistryLink', 'listRegistryLinks'], (value, _, context) => {
      const links = remembered<Json>(context, 'links')
      const first = (link: Json): Json =>
        links.get([link['entity'], link['registry'], link['version_id']].join(' ')) ?? link
      if (isList(value)) {
        const shown = objectsOf(value['data']).filter(link => first(link)['collection'] === link['collection'])
        return withItems(value, shown)
      }
      const known = first(value)
      if (context.operationId === 'createRegistryLink')
        links.set([value['entity'], value['registry'], value['version_id']].join(' '), known)
      return known
    }),
  },
  {
    name: 'fresh-empty-file-refused',
    rule: 'createArtifactVersion: stores the files; Schema ArtifactFile size_bytes has a minimum of 0',
    breaks: 'A form with an empty file is a 422.',
    onRequest(request, context) {
      if (context.operationId !== 'createArtifactVersion' || !request.headers['authorization']) return request
      const isEmpty = /\bfilename="[^"]*"(?:\r\n[^\r\n]+)*\r\n\r\n\r\n--/.test(request.body.toString('latin1'))
      return isEmpty ? refusal(request, 422, 'The file is empty', ['body', 'files', '0']) : request
    },
  },
  {
    name: 'fresh-paths-ignore-case',
    rule: 'createArtifactVersion: the file name of each part is its path in the version; a repeated path is a 422',
    breaks: 'Paths that differ in upper and lower case only count as repeated.',
    onRequest(request, context) {
      if (context.operationId !== 'createArtifactVersion' || !request.headers['authorization']) return request
      const names = new Set(fileNamesOf(request.body))
      const lower = new Set([...names].map(name => name.toLowerCase()))
      return lower.size < names.size ? refusal(request, 422, 'A path is there twice', ['body', 'files', '1']) : request
    },
  },
  {
    name: 'fresh-versions-sorted-as-text',
    rule: 'listArtifactVersions: gives the versions of one artifact, oldest first unless `order` says otherwise',
    breaks: 'A page is sorted by the text of the number, so that v10 stands before v2.',
    onReply(reply, request, context) {
      if (context.operationId !== 'listArtifactVersions' || reply.status !== 200) return reply
      const sign = queryOf(request).get('order') === 'desc' ? -1 : 1
      return changeJson<Json>(reply, page =>
        withItems(
          page,
          objectsOf(page['data']).toSorted((one, other) =>
            textOf(one['version']) < textOf(other['version']) ? -sign : sign,
          ),
        ),
      )
    },
  },
]
