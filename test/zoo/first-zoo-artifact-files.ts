/** Files of artifacts, as they go in and come out. */
import { createHash } from 'node:crypto'
import { isOf, replyHeaders, replyJson, toError, toJsonReply } from './change-replies.ts'
import { requestHeaders } from './change-requests.ts'
import type { Fault } from './fault.ts'

/** Uploads that must be refused are taken: the fault answers with a version made up from the path. */
export function takesUpload(isTaken: (form: string) => boolean): Pick<Fault, 'onReply'> {
  return {
    onReply: (reply, request, context) =>
      isOf('createArtifactVersion', context) && reply.status === 422 && isTaken(request.body.toString('latin1'))
        ? toJsonReply(200, {
            id: '01990c5e-6f10-7b3d-a4c2-9d0e1f2a3b4c',
            entity: context.path.entity,
            project: context.path.project,
            name: context.path.name,
            version: 'v0',
            type: 't',
            metadata: {},
            aliases: ['latest'],
            tags: [],
            digest: '0'.repeat(64),
            size_bytes: 1,
            files: [{ path: 'a', size_bytes: 1, sha256: createHash('sha256').update('x').digest('hex') }],
            created_at: '2026-11-21T10:15:30.127Z',
            uri: `artifact:///${context.path.entity}/${context.path.project}/${context.path.name}:v0`,
          })
        : reply,
  }
}

export const artifactFileFaults: Fault[] = [
  {
    name: 'range-ignored',
    rule: 'getArtifactFile 206: one range',
    breaks: 'Ranges are ignored.',
    ...requestHeaders('getArtifactFile', () => ({ range: undefined })),
  },
  {
    name: 'range-off-by-one',
    rule: 'getArtifactFile 206: content-range',
    breaks: 'The content-range ends one byte later than the body.',
    ...replyHeaders('getArtifactFile', headers =>
      typeof headers['content-range'] === 'string'
        ? { 'content-range': headers['content-range'].replace(/-(\d+)\//, (_, end) => `-${Number(end) + 1}/`) }
        : {},
    ),
  },
  {
    name: 'range-one-byte-short',
    rule: 'getArtifactFile 206: a range holds both its ends',
    breaks: 'The last byte of a range is missing.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 206 ? { ...reply, body: reply.body.subarray(0, -1) } : reply,
  },
  {
    name: 'range-200',
    rule: 'getArtifactFile 206: one range',
    breaks: 'A range comes with the status 200.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 206 ? { ...reply, status: 200 } : reply,
  },
  {
    name: 'range-behind-the-end-200',
    rule: 'getArtifactFile 416: a range behind the end',
    breaks: 'A range behind the end is an empty 200.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 416
        ? { ...reply, status: 200, headers: { 'content-type': 'application/octet-stream' }, body: Buffer.alloc(0) }
        : reply,
  },
  {
    name: 'range-malformed-416',
    rule: 'getArtifactFile: a malformed range is ignored',
    breaks: 'A range that is malformed, or of other units, is a 416.',
    onRequest: (request, context) =>
      isOf('getArtifactFile', context) && request.headers.range && !/^bytes=\d*-\d*$/.test(request.headers.range)
        ? {
            ...toError(416, 'range'),
            headers: { 'content-type': 'application/json', 'content-range': 'bytes */14', 'x-request-id': 'a' },
          }
        : request,
  },
  {
    name: 'etag-of-the-range',
    rule: 'getArtifactFile: the etag is the same for every range',
    breaks: 'The etag is that of the bytes that come.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && [200, 206].includes(reply.status)
        ? {
            ...reply,
            headers: { ...reply.headers, etag: `"${createHash('sha256').update(reply.body).digest('hex')}"` },
          }
        : reply,
  },
  {
    name: 'accept-ranges-missing',
    rule: 'getArtifactFile 200: accept-ranges',
    breaks: 'accept-ranges is missing.',
    ...replyHeaders('getArtifactFile', () => ({ 'accept-ranges': undefined })),
  },
  {
    name: 'file-line-ends-changed',
    rule: 'getArtifactFile: the bytes of one file',
    breaks: 'Line feeds become CRLF.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 200
        ? { ...reply, body: Buffer.from(reply.body.toString('latin1').replaceAll('\n', '\r\n'), 'latin1') }
        : reply,
  },
  {
    name: 'file-as-text',
    rule: 'getArtifactFile: the bytes of one file',
    breaks: 'Bytes that are not UTF-8 are replaced.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 200
        ? { ...reply, body: Buffer.from(reply.body.toString('utf8'), 'utf8') }
        : reply,
  },
  {
    name: 'file-path-without-slashes',
    rule: 'parameter path: plain slashes are understood',
    breaks: 'A file in a folder is found with encoded slashes only.',
    onRequest: (request, context) =>
      isOf('getArtifactFile', context) && context.path.path?.includes('/') && !/%2f/i.test(request.path)
        ? toError(404, 'No such file')
        : request,
  },
  {
    name: 'file-climbs',
    rule: 'parameter path: relative, without `..`',
    breaks: 'A path with `..` is a 404.',
    onReply: (reply, _, context) =>
      isOf('getArtifactFile', context) && reply.status === 422 ? toError(404, 'No such file') : reply,
  },
  {
    name: 'upload-climbs',
    rule: 'createArtifactVersion: a path that is not relative is a 422',
    breaks: 'Paths that climb or are absolute are taken.',
    ...takesUpload(form => /filename="[^"]*(\.\.|^\/|\\|="\/)/.test(form) || form.includes('filename="/')),
  },
  {
    name: 'upload-alias-like-a-version',
    rule: 'createArtifactVersion: an alias of the form v<N> is a 422',
    breaks: 'An alias of the form v<N> is taken.',
    ...takesUpload(form => form.includes('"v7"')),
  },
  {
    name: 'upload-without-files',
    rule: 'createArtifactVersion: one or more files',
    breaks: 'An upload without a file is taken.',
    ...takesUpload(form => !form.includes('name="files"')),
  },
  {
    name: 'upload-unchecked',
    rule: 'createArtifactVersion 422: what is wrong with an upload',
    breaks: 'Every upload is taken.',
    ...takesUpload(() => true),
  },
  {
    name: 'upload-large-refused',
    rule: 'createArtifactVersion: a file within the limit of the deployment',
    breaks: 'A file above a million bytes is a 413.',
    onRequest: (request, context) =>
      isOf('createArtifactVersion', context) && request.body.length > 1_000_000 ? toError(413, 'too large') : request,
  },
  {
    name: 'alias-added-twice-refused',
    rule: 'addArtifactAlias: adding it twice changes nothing',
    breaks: 'Adding an alias that the version has is a 404.',
    onRequest: (request, context) => {
      if (!isOf('addArtifactAlias', context)) return request
      const isRepeated = context.path.version === context.path.alias
      return isRepeated ? toError(404, 'It is there') : request
    },
  },
  {
    name: 'alias-delete-unknown-200',
    rule: 'deleteArtifactAlias: an alias that this version does not have is a 404',
    breaks: 'Deleting an alias that another version has answers with the version.',
    async onReply(reply, request, context) {
      if (!isOf('deleteArtifactAlias', context) || reply.status !== 404) return reply
      return context.send({
        ...request,
        method: 'GET',
        path: request.path.replace(/\/aliases\/[^/]*$/, ''),
      })
    },
  },
  {
    name: 'artifact-number-reused',
    rule: 'deleteArtifactVersion: the number is never given again',
    breaks: 'The number of a deleted version is given to the next one.',
    ...replyJson('createArtifactVersion', body => ({
      ...body,
      version: body.version === 'v2' ? 'v1' : body.version,
    })),
  },
  {
    name: 'artifact-deleted-readable',
    rule: 'deleteArtifactVersion: deletes the version',
    breaks: 'A deleted version can still be read.',
    onReply(reply, _, { operationId, path, memory }) {
      if (operationId === 'createArtifactVersion' && reply.status === 200) {
        const body = JSON.parse(reply.body.toString('utf8'))
        memory.set(`${body.name} ${body.version}`, reply)
      }
      const key = `${path.name} ${path.version}`
      return operationId === 'getArtifactVersion' && reply.status === 404 && memory.has(key)
        ? (memory.get(key) as typeof reply)
        : reply
    },
  },
  {
    name: 'artifact-in-use-deleted',
    rule: 'deleteArtifactVersion: a version that a model has as a checkpoint is a 400',
    breaks: 'A checkpoint of a model can be deleted as an artifact.',
    onReply: (reply, _, context) =>
      isOf('deleteArtifactVersion', context) && reply.status === 400
        ? toJsonReply(200, {
            id: '01990c5e-6f10-7b3d-a4c2-9d0e1f2a3b4c',
            version: context.path.version === 'latest' ? 'v0' : 'v0',
            deleted: true,
          })
        : reply,
  },
  {
    name: 'artifact-latest-gone-with-its-version',
    rule: 'deleteArtifactVersion: latest moves to the newest version left',
    breaks: 'After a deletion nothing is latest.',
    onRequest(request, { operationId, path, memory }) {
      if (operationId === 'deleteArtifactVersion') memory.set(path.name!, true)
      return operationId === 'getArtifactVersion' && path.version === 'latest' && memory.has(path.name!)
        ? toError(404, 'No such version')
        : request
    },
  },
  {
    name: 'artifact-contents-shared-gone',
    rule: 'deleteArtifactVersion: the contents that no other version has',
    breaks: 'Deleting a version deletes its contents from other versions too.',
    onRequest(request, { operationId, path, memory }) {
      if (operationId === 'deleteArtifactVersion') memory.set(path.name!, true)
      return operationId === 'getArtifactFile' && memory.has(path.name!) ? toError(404, 'No such file') : request
    },
  },
  {
    name: 'artifact-parallel-uploads-apart',
    rule: 'createArtifactVersion: the same content gives the version that is there, also at the same time',
    breaks: 'Uploads at the same time make versions of their own.',
    ...replyJson('createArtifactVersion', (body, { memory }) => {
      const last = Number(memory.get(body.id) ?? 0)
      memory.set(body.id, performance.now())
      return performance.now() - last < 30 ? { ...body, id: crypto.randomUUID().replace(/-4/, '-7') } : body
    }),
  },
]
