import type { components } from '../../generated/schema.d.ts'
import { freeVersions, withContents } from '../artifacts/collect.ts'
import { parseRange } from '../artifacts/range.ts'
import { readUpload } from '../artifacts/read-upload.ts'
import { toArtifactUri } from '../artifacts/uri.ts'
import { requireMember } from '../auth.ts'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { addArtifactVersion } from '../storage/artifact-creation.ts'
import { deleteVersion, findUseOfVersion } from '../storage/artifact-deletion.ts'
import { addLabels, deleteAlias, deleteTag } from '../storage/artifact-labels.ts'
import {
  type ArtifactVersion,
  type CollectionName,
  findArtifactVersion,
  getArtifactVersionById,
  listVersions,
  type StoredFile,
} from '../storage/artifacts.ts'
import type { Queries } from '../storage/database.ts'

type VersionPath = CollectionName & { version: string }

export const createArtifactVersion: Handler<'createArtifactVersion'> = async ({ path, raw }, context) => {
  const { artifacts, database, principal, settings } = context
  requireMember(principal, path.entity)
  const files: StoredFile[] = []
  const version = await withContents(context, files, async confirm => {
    const upload = await readUpload(raw.form(), artifacts, settings.maxArtifactBytes, files)
    return database.transaction().execute(async transaction => {
      await confirm()
      const id = await addArtifactVersion(transaction, path, { ...upload, files, user: principal.user })
      return getArtifactVersionById(transaction, id)
    })
  })
  return { status: 200, body: toVersion(version, settings.artifactScheme) }
}

export const listArtifactVersions: Handler<'listArtifactVersions'> = async (
  { path, query },
  { database, principal, settings },
) => {
  requireMember(principal, path.entity)
  const page = await listVersions(database, path, query)
  return { status: 200, body: { ...page, data: page.data.map(version => toVersion(version, settings.artifactScheme)) } }
}

export const getArtifactVersion: Handler<'getArtifactVersion'> = async ({ path }, context) => ({
  status: 200,
  body: toVersion(await requireVersion(context, path), context.settings.artifactScheme),
})

export const deleteArtifactVersion: Handler<'deleteArtifactVersion'> = async ({ path }, context) => {
  const { version, contents } = await context.database.transaction().execute(async transaction => {
    const version = await requireVersion(context, path, transaction)
    const use = await findUseOfVersion(transaction, version.id)
    const user = use === 'job' ? 'training job' : 'model'
    if (use) throw new ApiError(400, 'artifact_in_use', `The version is in use by a ${user}`)
    return { version, contents: await deleteVersion(transaction, version) }
  })
  await freeVersions(context, { versionIds: [version.id], contents })
  return { status: 200, body: { id: version.id, version: `v${version.version}`, deleted: true } }
}

export const getArtifactFile: Handler<'getArtifactFile'> = async ({ path, headers }, context) => {
  const version = await requireVersion(context, path)
  const file = version.files.find(one => one.path === path.path)
  if (!file) throw notFound(`The file ${path.path}`)
  const shared = { 'accept-ranges': 'bytes', etag: `"${file.sha256}"` }
  const range = parseRange(headers.range, file.size)
  if (range === 'unsatisfiable') {
    throw new ApiError(416, 'range_not_satisfiable', `The file has ${file.size} bytes`, {
      headers: { 'content-range': `bytes */${file.size}` },
    })
  }
  if (!range) {
    return {
      status: 200,
      bytes: context.artifacts.open(file.sha256),
      headers: { ...shared, 'content-length': String(file.size) },
    }
  }
  const { start, end } = range
  return {
    status: 206,
    bytes: context.artifacts.open(file.sha256, range),
    headers: {
      ...shared,
      'content-length': String(end - start + 1),
      'content-range': `bytes ${start}-${end}/${file.size}`,
    },
  }
}

export const addArtifactAlias: Handler<'addArtifactAlias'> = ({ path }, context) =>
  changeVersion(context, path, (queries, id) =>
    addLabels(queries, id, { aliases: [path.alias], tags: [], author: context.principal.user }),
  )

export const deleteArtifactAlias: Handler<'deleteArtifactAlias'> = ({ path }, context) =>
  changeVersion(context, path, async (queries, id) => {
    if (!(await deleteAlias(queries, id, path.alias))) throw notFound(`The alias ${path.alias} of this version`)
  })

export const addArtifactTag: Handler<'addArtifactTag'> = ({ path }, context) =>
  changeVersion(context, path, (queries, id) =>
    addLabels(queries, id, { aliases: [], tags: [path.tag], author: context.principal.user }),
  )

export const deleteArtifactTag: Handler<'deleteArtifactTag'> = ({ path }, context) =>
  changeVersion(context, path, async (queries, id) => {
    if (!(await deleteTag(queries, id, path.tag))) throw notFound(`The tag ${path.tag} of this version`)
  })

/** Finds a version, changes it, and answers with it as it is then. */
async function changeVersion(
  context: Context,
  path: VersionPath,
  change: (queries: Queries, versionId: string) => Promise<void>,
) {
  const version = await context.database.transaction().execute(async transaction => {
    const { id } = await requireVersion(context, path, transaction)
    await change(transaction, id)
    return getArtifactVersionById(transaction, id)
  })
  return { status: 200 as const, body: toVersion(version, context.settings.artifactScheme) }
}

async function requireVersion(
  { database, principal }: Context,
  path: VersionPath,
  queries: Queries = database,
): Promise<ArtifactVersion> {
  requireMember(principal, path.entity)
  const version = await findArtifactVersion(queries, path, path.version)
  if (!version) throw notFound(`The version ${path.version} of artifact ${path.name}`)
  return version
}

function toVersion(row: ArtifactVersion, scheme: string): components['schemas']['ArtifactVersion'] {
  const { id, entity, project, name, type, metadata, aliases, tags, digest, files, createdAt } = row
  const version = `v${row.version}`
  return {
    id,
    entity,
    project,
    name,
    version,
    type,
    metadata,
    aliases,
    tags,
    digest,
    size_bytes: files.reduce((sum, file) => sum + file.size, 0),
    files: files.map(({ path, size, sha256 }) => ({ path, size_bytes: size, sha256 })),
    created_at: createdAt,
    uri: toArtifactUri(scheme, row, version),
  }
}
