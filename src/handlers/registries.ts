import type { components } from '../../generated/schema.d.ts'
import { requireArtifact } from '../artifacts/require-artifact.ts'
import { toArtifactUri } from '../artifacts/uri.ts'
import { requireMember } from '../auth.ts'
import type { Handler } from '../spec/handler.ts'
import { addRegistryLink, listLinkRows, type RegistryLink } from '../storage/registry-links.ts'

export const createRegistryLink: Handler<'createRegistryLink'> = async ({ path, body }, context) => {
  const { database, principal, settings } = context
  requireMember(principal, path.entity)
  const link = await database.transaction().execute(async transaction => {
    const version = await requireArtifact(context, { param: 'artifact', uri: body.artifact }, transaction)
    return addRegistryLink(transaction, path, { versionId: version.id, author: principal.user })
  })
  return { status: 200, body: toItem(link, settings.artifactScheme) }
}

export const listRegistryLinks: Handler<'listRegistryLinks'> = async (
  { path, query },
  { database, principal, settings },
) => {
  requireMember(principal, path.entity)
  return { status: 200, body: await listLinkRows(database, path, query, link => toItem(link, settings.artifactScheme)) }
}

function toItem(link: RegistryLink, scheme: string): components['schemas']['RegistryLink'] {
  const { id, entity, registry, collection, version_id, created_by, created_at } = link
  const artifact = toArtifactUri(scheme, link.artifact, `v${link.version}`)
  return { id, entity, registry, collection, artifact, version_id, created_by, created_at }
}
