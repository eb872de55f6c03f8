import type { JsonValue } from './payload.ts'

/** Values of the event variables of a test: those of a made-up event. What is not among them is empty. */
export function sampleVariables(entity: string, user: string): Record<string, JsonValue> {
  const project = 'sample-project'
  const name = 'sample-model'
  return {
    project_name: project,
    entity_name: entity,
    event_type: 'ADD_ARTIFACT_ALIAS',
    event_author: user,
    alias: 'sample',
    tag: '',
    artifact_collection_name: name,
    artifact_version: { entity, project, name, version: 'v0', aliases: ['sample'] },
    artifact_version_string: `${entity}/${project}/${name}:sample`,
  }
}
