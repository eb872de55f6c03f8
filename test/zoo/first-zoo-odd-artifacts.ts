/** Artifacts at the edges of what is allowed. */
import { isOf, type Json, replyHeaders, replyItems, replyJson, toError } from './change-replies.ts'
import { jsonOf, requestHeaders, requestPath } from './change-requests.ts'
import { changeJson, type Fault, type ZooRequest } from './fault.ts'
import { takesUpload } from './first-zoo-artifact-files.ts'

const VERSION = 'createArtifactVersion getArtifactVersion addArtifactAlias deleteArtifactAlias'

/** Changes the file names of an upload. */
function requestFileNames(change: (name: string) => string): Required<Pick<Fault, 'onRequest'>> {
  return {
    onRequest(request, context) {
      if (!isOf('createArtifactVersion', context)) return request
      const text = request.body.toString('latin1')
      const changed = text.replace(/; filename="([^"\r]*)"/g, (_, name: string) => {
        const utf8 = Buffer.from(name, 'latin1').toString('utf8')
        return `; filename="${Buffer.from(change(utf8), 'utf8').toString('latin1')}"`
      })
      return changed === text ? request : { ...request, body: Buffer.from(changed, 'latin1') }
    },
  }
}

/** Uploads of this form are refused. */
function refusesUpload(isRefused: (form: string) => boolean): Required<Pick<Fault, 'onRequest'>> {
  return {
    onRequest: (request, context) =>
      isOf('createArtifactVersion', context) && isRefused(request.body.toString('latin1'))
        ? toError(422, 'The form cannot be read')
        : request,
  }
}

function decodeOnce(text: string): string {
  return text.replace(/%([2-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

/** What the service refuses with a 416 is asked for again without a range. */
function answersWhole(isMeant: (request: ZooRequest, contentRange: string) => boolean): Pick<Fault, 'onReply'> {
  return {
    onReply(reply, request, context) {
      const isRefused = isOf('getArtifactFile', context) && reply.status === 416
      if (!isRefused || !isMeant(request, String(reply.headers['content-range']))) return reply
      const { range: _, ...headers } = request.headers
      return context.send({ ...request, headers })
    },
  }
}

const PATHS: [name: string, breaks: string, pattern: RegExp][] = [
  ['two-slashes', 'A path with two slashes on end is taken.', /filename="[^"]*\/\//],
  ['a-leading-dot', 'A path that begins with `./` is taken.', /filename="\.\//],
  ['a-dot-within', 'A path with `/./` in it is taken.', /filename="[^"]*\/\.\//],
  ['two-dots-within', 'A path with `/../` in it is taken.', /filename="[^"]*\/\.\.\//],
  ['a-slash-at-its-end', 'A path that ends with a slash is taken.', /filename="[^"]*\/"/],
]

const pathFaults: Fault[] = [
  {
    name: 'upload-paths-decoded',
    rule: 'createArtifactVersion: the file name is the path',
    breaks: 'What is percent-encoded in a file name is decoded.',
    ...requestFileNames(decodeOnce),
  },
  {
    name: 'upload-paths-ascii',
    rule: 'createArtifactVersion: the file name is the path',
    breaks: 'Letters of a file name beyond ASCII become underscores.',
    ...requestFileNames(name => name.replace(/[^\x20-\x7e]/gu, '_')),
  },
  {
    name: 'upload-paths-trimmed-of-signs',
    rule: 'createArtifactVersion: the file name is the path',
    breaks: 'A plus in a file name becomes a blank.',
    ...requestFileNames(name => name.replaceAll('+', ' ')),
  },
  {
    name: 'file-path-decoded-twice',
    rule: 'getArtifactFile: parameter path',
    breaks: 'The path of a file is decoded twice.',
    ...requestPath('getArtifactFile', path => path.replace(/%25([2-7][0-9a-f])/gi, '%$1')),
  },
  {
    name: 'file-path-plus-is-a-blank',
    rule: 'getArtifactFile: parameter path',
    breaks: 'A plus in the path of a file is a blank.',
    ...requestPath('getArtifactFile', path => path.replace(/%2b|\+/gi, '%20')),
  },
  ...PATHS.map(([name, breaks, pattern]) => ({
    name: `upload-path-with-${name}`,
    rule: 'createArtifactVersion: parts of a path are set apart by single slashes, and none is `.` or `..`',
    breaks,
    ...takesUpload(form => pattern.test(form)),
  })),
]

const formFaults: Fault[] = [
  {
    name: 'artifact-name-ascii',
    rule: 'createArtifactVersion getArtifactVersion: names hold any letter',
    breaks: 'Letters of an artifact name beyond ASCII are left out.',
    ...replyItems(VERSION, item => ({ ...item, name: item.name.replace(/[^\x20-\x7e]/gu, '') })),
  },
  {
    name: 'link-of-a-name-with-blanks-refused',
    rule: 'createRegistryLink: the URI of a version',
    breaks: 'A URI with a blank in it is a 422.',
    onRequest: (request, context) =>
      isOf('createRegistryLink', context) && /^[\w-]+:\/\/\/.*\s/.test(String(jsonOf(request)?.artifact))
        ? toError(422, 'No URI')
        : request,
  },
  {
    name: 'upload-files-first-refused',
    rule: 'createArtifactVersion CreateArtifactVersionRequest: the order of the parts',
    breaks: 'An upload whose files come before the version is a 422.',
    ...refusesUpload(form => form.indexOf('name="files"') < form.indexOf('name="version"')),
  },
  {
    name: 'upload-json-part-refused',
    rule: 'createArtifactVersion NewArtifactVersion: a part with the content type application/json',
    breaks: 'A version part that says it is JSON is a 422.',
    ...refusesUpload(form => /name="version"\r\ncontent-type: application\/json/i.test(form)),
  },
  {
    name: 'upload-type-required',
    rule: 'createArtifactVersion NewArtifactVersion: the default of type',
    breaks: 'An upload that names no type is a 422.',
    ...refusesUpload(form => form.includes('name="version"\r\n\r\n{}\r\n')),
  },
  {
    name: 'upload-defaults-apart',
    rule: 'createArtifactVersion: a default means the same as leaving the property out',
    breaks: 'Metadata that are sent empty make another version than metadata left out.',
    onReply: (reply, request, context) =>
      isOf('createArtifactVersion', context) && request.body.includes('"metadata":{}') && reply.status === 200
        ? changeJson<Json>(reply, body => ({ ...body, id: crypto.randomUUID().replace(/-4/, '-7') }))
        : reply,
  },
]

const labelFaults: Fault[] = [
  {
    name: 'artifact-alias-of-known-content-on-both',
    rule: 'createArtifactVersion: known content takes the aliases off other versions',
    breaks: 'An alias that known content is given stays with the version that had it, too.',
    ...replyJson('createArtifactVersion getArtifactVersion', (body, { operationId, memory }) => {
      const before = memory.get(body.id) as string[] | undefined
      if (operationId === 'createArtifactVersion') {
        if (before) memory.set(`known ${body.name}`, true)
        memory.set(
          body.id,
          body.aliases.filter((alias: string) => alias !== 'latest'),
        )
      } else if (memory.has(`known ${body.name}`))
        body.aliases = [...new Set([...body.aliases, ...(before ?? [])])].toSorted()
    }),
  },
  {
    name: 'artifact-deleted-content-revived',
    rule: 'createArtifactVersion: a number is never given twice',
    breaks: 'The content of a deleted version gets its id and number back.',
    ...replyJson('createArtifactVersion', (body, { memory }) => {
      const key = `${body.name} ${body.digest}`
      const { id, version, uri } = (memory.get(key) as Json | undefined) ?? body
      memory.set(key, { id, version, uri })
      return { ...body, id, version, uri }
    }),
  },
  {
    name: 'artifact-file-readable-after-deletion',
    rule: 'getArtifactFile deleteArtifactVersion: deletes the version with its aliases and contents',
    breaks: 'A file that was read once can be read when its version is deleted.',
    onReply(reply, _, { operationId, path, memory }) {
      if (operationId !== 'getArtifactFile') return reply
      const key = `${path.name} ${path.version} ${path.path}`
      if (reply.status === 200) memory.set(key, reply)
      return reply.status === 404 ? ((memory.get(key) as typeof reply | undefined) ?? reply) : reply
    },
  },
]

const rangeFaults: Fault[] = [
  {
    name: 'range-at-the-end-whole',
    rule: 'getArtifactFile 416: a range that starts behind the end',
    breaks: 'A range that starts right at the end is ignored.',
    ...answersWhole(
      (request, contentRange) => contentRange === `bytes */${/=(\d+)-$/.exec(request.headers.range!)?.[1]}`,
    ),
  },
  {
    name: 'range-of-no-byte-whole',
    rule: 'getArtifactFile 416: a range that counts no byte from the end',
    breaks: 'A range of no byte from the end is ignored.',
    ...requestHeaders('getArtifactFile', ({ range }) => (range === 'bytes=-0' ? { range: undefined } : {})),
  },
  {
    name: 'range-of-an-empty-file-whole',
    rule: 'getArtifactFile 416: any range of an empty file',
    breaks: 'A range of an empty file is ignored.',
    ...answersWhole((_, contentRange) => contentRange === 'bytes */0'),
  },
  {
    name: 'range-of-an-empty-file-without-size',
    rule: 'getArtifactFile 416: content-range',
    breaks: 'The content-range of an empty file is that of a file of one byte.',
    ...replyHeaders('getArtifactFile', headers =>
      headers['content-range'] === 'bytes */0' ? { 'content-range': 'bytes */1' } : {},
    ),
  },
  {
    name: 'range-last-byte-refused',
    rule: 'getArtifactFile 206: a range that starts before the end',
    breaks: 'A range that starts with the last byte is a 416.',
    onReply(reply, { headers: { range } }, context) {
      const isLast = isOf('getArtifactFile', context) && reply.status === 206 && reply.body.length === 1
      if (!isLast || !/=\d+-$/.test(range!)) return reply
      const error = toError(416, 'range')
      return {
        ...error,
        headers: { ...error.headers, 'content-range': String(reply.headers['content-range']).replace(/ .*\//, ' */') },
      }
    },
  },
  {
    name: 'file-empty-missing',
    rule: 'getArtifactFile 200: the whole file',
    breaks: 'An empty file is a 404.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 200 && reply.body.length === 0
        ? toError(404, 'No such file')
        : reply,
  },
]

export const oddArtifactFaults: Fault[] = [...pathFaults, ...formFaults, ...labelFaults, ...rangeFaults]
