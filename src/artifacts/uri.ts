import type { CollectionName } from '../storage/artifacts.ts'

export interface ArtifactUri extends CollectionName {
  /** `v<N>` or an alias; null when the URI names none. */
  version: string | null
}

/** Schemes understood besides the deployment's own. */
const ALWAYS_UNDERSTOOD = ['wandb-artifact']

/** A name of a team, project, artifact or alias: no slash, colon, or control character, and blanks only within. */
const PART = '(?!\\s)[^/:\\u0000-\\u001f\\u007f]{1,200}(?<!\\s)'
const REST = new RegExp(`^/?(${PART})/(${PART})/(${PART})(?::(${PART}))?$`, 'u')

/**
 * Reads `<scheme>:///<entity>/<project>/<name>[:<version or alias>]` (seed: SFT training job; two slashes are understood too).
 * Returns null for anything else.
 */
export function parseArtifactUri(uri: string, scheme: string): ArtifactUri | null {
  const prefix = [scheme, ...ALWAYS_UNDERSTOOD].map(name => `${name}://`).find(name => uri.startsWith(name))
  const match = prefix ? REST.exec(uri.slice(prefix.length)) : null
  if (!match) return null
  const [, entity, project, name, version] = match
  return { entity: entity!, project: project!, name: name!, version: version ?? null }
}

export function toArtifactUri(scheme: string, { entity, project, name }: CollectionName, version?: string): string {
  return `${scheme}:///${entity}/${project}/${name}${version ? `:${version}` : ''}`
}
