/** Artifacts and their files. */
import { createHash } from 'node:crypto'
import { type Json, replyItems, replyJson, toError } from './change-replies.ts'
import type { Fault } from './fault.ts'

const VERSION = 'createArtifactVersion getArtifactVersion addArtifactAlias deleteArtifactAlias'

export const artifactFaults: Fault[] = [
  {
    name: 'artifact-new-version-each-time',
    rule: 'createArtifactVersion: the same files, type and metadata give the version that is there',
    breaks: 'The id of an artifact version is another one at each upload.',
    ...replyJson('createArtifactVersion', (body, { memory }) => {
      const count = Number(memory.get(body.id) ?? 0)
      memory.set(body.id, count + 1)
      return count === 0 ? body : { ...body, id: body.id.replace(/..$/, String(10 + (count % 90))) }
    }),
  },
  {
    name: 'artifact-aliases-lost',
    rule: 'createArtifactVersion: gives it the aliases asked for',
    breaks: 'Only `latest` is ever an alias.',
    ...replyItems(VERSION, item => ({ ...item, aliases: item.aliases.filter((alias: string) => alias === 'latest') })),
  },
  {
    name: 'artifact-aliases-unsorted',
    rule: 'schema ArtifactVersion: aliases in order',
    breaks: 'Aliases come in the reverse order.',
    ...replyItems(VERSION, item => ({ ...item, aliases: item.aliases.toReversed() })),
  },
  {
    name: 'artifact-alias-on-both',
    rule: 'createArtifactVersion: takes aliases off other versions',
    breaks: 'A version keeps the aliases that it ever had.',
    ...replyJson('createArtifactVersion getArtifactVersion addArtifactAlias', (body, { memory }) => {
      const aliases = [
        ...new Set([...((memory.get(body.id) as string[] | undefined) ?? []), ...body.aliases]),
      ].toSorted()
      memory.set(body.id, aliases)
      return { ...body, aliases }
    }),
  },
  {
    name: 'artifact-latest-missing',
    rule: 'createArtifactVersion: gives it the alias latest',
    breaks: 'The alias latest is not found.',
    onRequest: (request, context) => (context.path.version === 'latest' ? toError(404, 'No such version') : request),
  },
  {
    name: 'artifact-metadata-flat',
    rule: 'schema ArtifactVersion: metadata as it was sent',
    breaks: 'Objects within metadata are lost.',
    ...replyItems(VERSION, item => ({
      ...item,
      metadata: Object.fromEntries(Object.entries(item.metadata).filter(([, value]) => typeof value !== 'object')),
    })),
  },
  {
    name: 'artifact-tags-lost',
    rule: 'schema ArtifactVersion: tags as they were sent',
    breaks: 'Artifact versions have no tags.',
    ...replyItems(VERSION, item => ({ ...item, tags: [] })),
  },
  {
    name: 'artifact-tags-replaced',
    rule: 'createArtifactVersion: tags are added to the version that is there',
    breaks: 'An upload of the same content keeps the first tag only.',
    ...replyItems(VERSION, item => ({ ...item, tags: item.tags.slice(0, 1) })),
  },
  {
    name: 'artifact-size-off',
    rule: 'schema ArtifactFile: size_bytes',
    breaks: 'Sizes are in characters of a two-byte text.',
    ...replyItems(VERSION, item => ({
      ...item,
      files: item.files.map((file: Json) => ({ ...file, size_bytes: file.size_bytes * 2 })),
    })),
  },
  {
    name: 'artifact-total-size-off',
    rule: 'schema ArtifactVersion: size_bytes is the sum of the files',
    breaks: 'size_bytes of a version is that of its first file.',
    ...replyItems(VERSION, item => ({ ...item, size_bytes: item.files[0]?.size_bytes ?? 0 })),
  },
  {
    name: 'artifact-hash-of-the-path',
    rule: 'schema ArtifactFile: sha256 of the contents',
    breaks: 'The sha256 of a file is that of its path.',
    ...replyItems(VERSION, item => ({
      ...item,
      files: item.files.map((file: Json) => ({
        ...file,
        sha256: createHash('sha256').update(file.path).digest('hex'),
      })),
    })),
  },
  {
    name: 'artifact-uri-without-version',
    rule: 'schema ArtifactVersion: uri',
    breaks: 'The uri has no version.',
    ...replyItems(VERSION, item => ({ ...item, uri: item.uri.replace(/:v\d+$/, '') })),
  },
]
