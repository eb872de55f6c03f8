import type { components } from '../../generated/schema.d.ts'
import type { ArtifactVersion } from '../storage/artifacts.ts'
import type { FiringAutomation, RunOfEvent, ScopeOfEvent } from '../storage/automation-events.ts'
import type { JsonValue } from './payload.ts'
import { toVersionVariable } from './variables.ts'

export type VersionChange =
  | { type: 'ADD_ARTIFACT_ALIAS'; author: string; versionId: string; alias: string }
  | { type: 'ADD_ARTIFACT_TAG'; author: string; versionId: string; tag: string }
  | { type: 'LINK_ARTIFACT'; author: string; versionId: string; entity: string; registry: string; collection: string }
/** `metrics` are all values that one write brought. */
export type RunChange = {
  type: 'RUN_METRIC'
  author: string
  runId: string
  step: number
  metrics: Record<string, number>
}

type Event = components['schemas']['AutomationEvent']

/** An event as the history tells it, and what payloads may say of it. */
export interface Happening {
  event: Event
  variables: Record<string, JsonValue>
  /** Of the artifact version. */
  metadata: Record<string, JsonValue>
}

const NOTHING = {
  registry: null,
  collection: null,
  artifact: null,
  alias: null,
  tag: null,
  run_id: null,
  run_name: null,
  metric: null,
  value: null,
  threshold: null,
  step: null,
}

export function toVersionHappening(change: VersionChange, version: ArtifactVersion, scope: ScopeOfEvent): Happening {
  const alias = change.type === 'ADD_ARTIFACT_ALIAS' ? change.alias : null
  const tag = change.type === 'ADD_ARTIFACT_TAG' ? change.tag : null
  const registry = scope.scope_type === 'registry' ? scope.scope_name : null
  const collection = scope.collection ?? version.name
  const path = `${version.entity}/${version.project}/${version.name}`
  const number = `v${version.version}`
  // A link belongs to the registry that it is made in, the other changes to the artifact's own project.
  const isLink = change.type === 'LINK_ARTIFACT'
  return {
    event: {
      ...NOTHING,
      type: change.type,
      author: change.author,
      entity: version.entity,
      project: version.project,
      registry,
      collection,
      artifact: `${path}:${number}`,
      alias,
      tag,
    },
    variables: {
      project_name: isLink ? change.registry : version.project,
      entity_name: isLink ? change.entity : version.entity,
      event_type: change.type,
      event_author: change.author,
      alias: alias ?? '',
      tag: tag ?? '',
      artifact_collection_name: collection,
      artifact_version: toVersionVariable(version),
      artifact_version_string: `${path}:${alias ?? number}`,
    },
    metadata: version.metadata as Record<string, JsonValue>,
  }
}

export function toRunHappening(
  change: RunChange,
  run: RunOfEvent,
  { metric, threshold }: Pick<FiringAutomation, 'metric' | 'threshold'>,
): Happening {
  const value = change.metrics[metric!]!
  const { entity, project } = run
  return {
    event: {
      ...NOTHING,
      type: change.type,
      author: change.author,
      entity,
      project,
      run_id: run.id,
      run_name: run.name,
      metric,
      value,
      threshold,
      step: change.step,
    },
    variables: {
      project_name: project,
      entity_name: entity,
      event_type: change.type,
      event_author: change.author,
      run_id: run.id,
      run_name: run.name,
      metric_name: metric,
      metric_value: value,
    },
    metadata: {},
  }
}
