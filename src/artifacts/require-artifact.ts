import type { Context } from '../context.ts'
import { ApiError, invalidValue, notFound } from '../errors.ts'
import { type ArtifactVersion, findArtifactVersion } from '../storage/artifacts.ts'
import type { Queries } from '../storage/database.ts'
import { parseArtifactUri } from './uri.ts'

/**
 * The version that a URI in the body property `param` names. 422 where it is no artifact URI; 404 for a team that the caller is not in,
 * whether or not the artifact exists; 400 for one of the caller's that is not there.
 */
export async function requireArtifact(
  { database, principal, settings }: Context,
  { param, uri }: { param: string; uri: string },
  queries: Queries = database,
): Promise<ArtifactVersion> {
  const place = parseArtifactUri(uri, settings.artifactScheme)
  if (!place) {
    const rule = `Must be ${settings.artifactScheme}:///<entity>/<project>/<artifact_name>:<version>`
    throw invalidValue(['body', param], rule, 'artifact_uri')
  }
  if (!principal.teams.has(place.entity)) throw notFound(`The artifact ${uri}`, 'artifact_not_found')
  const version = await findArtifactVersion(queries, place, place.version ?? 'latest')
  if (version) return version
  throw new ApiError(400, 'artifact_not_found', `The artifact ${uri} does not exist`, { param })
}
