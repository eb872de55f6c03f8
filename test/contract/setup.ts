/** What every scenario shares: the deployment, the client that judges each exchange, and what was made on it so far. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import type { CallOptions, OperationId, Success } from '../../src/contract/client.ts'
import { createContractClient } from '../../src/contract/client.ts'
import { createCoverage } from '../../src/contract/coverage.ts'
import type { Target } from '../../src/contract/target.ts'
import type { InProcess } from './in-process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Absent in `npm test`, which runs the service itself. */
    contractTarget: Target
    /** File that gets the coverage report as JSON. */
    contractReport: string
  }
}

const given = inject('contractTarget') as Target | undefined

/** Null over HTTP: faults cannot be injected into somebody else's process. */
export const inProcess: InProcess | null = given ? null : await (await import('./in-process.ts')).startInProcess()
export const target: Target = given ?? inProcess!.target
export const coverage = createCoverage()
export const client = createContractClient(target, coverage)

/** Part of the name of everything that a run makes, so that leftovers can be told. */
export const runId = `contract-${Date.now().toString(36)}-${randomBytes(3).toString('hex')}`
export const project = runId
/** A team that nobody is in. */
export const foreignTeam = `${runId}-no-team`
export const unknownId = '01990c5e-0000-7000-8000-000000000000'

/** `<operationId> <status>` of what a scenario could not bring about on this deployment without harm, and why. */
export const notShown = new Map<string, string>()

/** Names of secrets are variables: no hyphens. */
export function secretName(name: string): string {
  return `${runId}_${name}`.replaceAll('-', '_')
}

/** The model that scenarios share, made before the first of them. Its entity is the team of the key. */
export let home: Success<'createModel'>

let artifactScheme = 'artifact'

const cleanups: (() => Promise<unknown>)[] = []

/** To be run at the end, the last one first. */
export function onCleanup(cleanup: () => Promise<unknown>): void {
  cleanups.push(cleanup)
}

export async function prepare(): Promise<void> {
  home = await createModel('home')
  const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id } })
  artifactScheme = data[0]?.artifact.split(':')[0] ?? artifactScheme
  for (const { id, ...options } of leavings(home.entity)) onCleanup(() => client.call(id, options))
  onCleanup(deleteKeys)
}

/** What to send as `model` in a chat, in the scheme of this deployment: the latest checkpoint, or the one that the suffix names. */
export function uriOf(
  { entity, project, name }: { entity: string; project: string; name: string },
  suffix = '',
): string {
  return `${artifactScheme}:///${entity}/${project}/${name}${suffix}`
}

/** What the good requests of every operation leave behind. */
function leavings(entity: string): ({ id: OperationId } & CallOptions)[] {
  return [
    { id: 'deleteScorer', path: { entity, project, object_id: `${runId}-good` } },
    { id: 'deleteArtifactVersion', path: { entity, project, name: `${runId}-nothing`, version: 'v0' } },
    { id: 'deleteMember', path: { entity, user: `${runId}-good` } },
    { id: 'deleteSecret', path: { entity, name: secretName('good') } },
  ]
}

/** Every API key of this run: each good request to make one makes one. */
async function deleteKeys(): Promise<void> {
  if (target.isMock) return
  for (const { id } of await findKeys()) await client.ok('deleteApiKey', { path: { api_key_id: id } })
}

async function findKeys() {
  const { data } = await client.ok('listApiKeys', { query: { limit: 100, order: 'desc' } })
  return data.filter(key => key.name.startsWith(runId))
}

/** What was not deleted, for the report. */
export async function cleanUp(): Promise<string[]> {
  const left: string[] = []
  for (const cleanup of cleanups.reverse()) await cleanup().catch(error => left.push(String(error)))
  if (!target.isMock && home) left.push(...(await findLeft()))
  await inProcess?.close()
  return left
}

async function findLeft(): Promise<string[]> {
  const query = { limit: 100, order: 'desc' }
  const { data: models } = await client.ok('listModels', { query })
  const { data: scorers } = await client.ok('listScorers', { path: { entity: home.entity, project }, query })
  const path = { entity: home.entity }
  const { data: members } = await client.ok('listMembers', { path, query: { limit: 100, after: `${runId}-` } })
  const { data: secrets } = await client.ok('listSecrets', { path, query })
  return [
    ...(await findKeys()).map(key => `API key ${key.name}`),
    ...members.filter(member => member.user.startsWith(runId)).map(member => `member ${member.user}`),
    ...secrets.filter(secret => secret.name.startsWith(secretName(''))).map(secret => `secret ${secret.name}`),
    ...models.filter(model => model.project === project).map(model => `model ${model.name}`),
    ...scorers.map(scorer => `scorer ${scorer.object_id}`),
  ]
}

export async function createModel(name: string): Promise<Success<'createModel'>> {
  const model = await client.ok('createModel', {
    body: { project, name: `${runId}-${name}`, base_model: target.baseModel },
  })
  onCleanup(async () => {
    const { status } = await client.call('deleteModel', { path: { model_id: model.id } })
    if (status !== 200 && status !== 404) throw new Error(`The model ${model.name} was not deleted: ${status}`)
  })
  return model
}

export interface Upload {
  files: Record<string, string | Uint8Array<ArrayBuffer>>
  version: Record<string, unknown>
}

export function toForm({ files, version }: Upload): FormData {
  const form = new FormData()
  form.append('version', JSON.stringify(version))
  for (const [path, content] of Object.entries(files)) form.append('files', new File([content], path))
  return form
}

/** An artifact version that is deleted at the end, where it can be. */
export async function createArtifact(name: string, upload: Upload): Promise<Success<'createArtifactVersion'>> {
  const path = { entity: home.entity, project, name: `${runId}-${name}` }
  const version = await client.ok('createArtifactVersion', { path, form: toForm(upload) })
  onCleanup(() => client.call('deleteArtifactVersion', { path: { ...path, version: version.version } }))
  return version
}
