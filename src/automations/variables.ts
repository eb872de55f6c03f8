import type { ArtifactVersion } from '../storage/artifacts.ts'
import type { WebhookRow } from '../storage/tables.ts'
import type { JsonValue } from './payload.ts'

/** The variables of the contract's automationDelivery, without artifact_metadata.<KEY> and the secrets. */
const VARIABLES = new Set([
  'project_name',
  'entity_name',
  'event_type',
  'event_author',
  'alias',
  'tag',
  'artifact_collection_name',
  'artifact_version',
  'artifact_version_string',
  'run_id',
  'run_name',
  'metric_name',
  'metric_value',
])
const METADATA = 'artifact_metadata.'

/** A secret under this name is the webhook's access token, whatever that is called in the team. */
const ACCESS_TOKEN = 'ACCESS_TOKEN'

export function isVariable(name: string): boolean {
  return VARIABLES.has(name) || (name.startsWith(METADATA) && name.length > METADATA.length)
}

/** The names under which a payload may have the secrets of its webhook. */
export function listSecretNames(webhook: Pick<WebhookRow, 'access_token_secret' | 'signing_secret'>): string[] {
  const { access_token_secret, signing_secret } = webhook
  return [
    ...(access_token_secret === null ? [] : [ACCESS_TOKEN, access_token_secret]),
    ...(signing_secret === null ? [] : [signing_secret]),
  ]
}

/** Of the variables' values those that a payload names; absent ones are empty. */
export function pickVariables(
  names: ReadonlySet<string>,
  values: Readonly<Record<string, JsonValue>>,
  metadata: Readonly<Record<string, JsonValue>> = {},
): Record<string, JsonValue> {
  const picked: [string, JsonValue][] = []
  for (const name of names) {
    const [source, key] = name.startsWith(METADATA) ? [metadata, name.slice(METADATA.length)] : [values, name]
    if (Object.hasOwn(source, key)) picked.push([name, source[key]!])
  }
  return Object.fromEntries(picked)
}

/** A version as the variable `artifact_version`, but for its URI. */
export function toVersionVariable(version: ArtifactVersion): Record<string, JsonValue> {
  const { id, entity, project, name, type, metadata, aliases, tags, digest, createdAt } = version
  return {
    id,
    entity,
    project,
    name,
    version: `v${version.version}`,
    type,
    metadata: metadata as JsonValue,
    aliases,
    tags,
    digest,
    created_at: createdAt,
  }
}
