import { parseArtifactUri, toArtifactUri } from '../artifacts/uri.ts'

/**
 * The name of a model whatever its version, and whatever the deployment's scheme: the id of a base model as it is, `<entity>/<project>/<name>` for
 * any form of a trained model's URI.
 */
export function toModelName(reference: string, scheme: string): string {
  const uri = parseArtifactUri(reference, scheme)
  return uri ? `${uri.entity}/${uri.project}/${uri.name}` : reference
}

/** What to send as `model` of a chat completion: ids of base models have no slash, since they are names of folders. */
export function fromModelName(name: string, scheme: string): string {
  const [entity, project, artifact] = name.split('/') as [string, string?, string?]
  return project && artifact ? toArtifactUri(scheme, { entity, project, name: artifact }) : name
}
