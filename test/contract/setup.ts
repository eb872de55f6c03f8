/** What every scenario shares: the deployment, the client that judges each exchange, and what was made on it so far. */
import { type Check, NEEDS, type Need } from '../../src/contract/check.ts'
import type { Answer, ContractClient, Success } from '../../src/contract/client.ts'
import { createContractClient } from '../../src/contract/client.ts'
import type { Coverage } from '../../src/contract/coverage.ts'
import { createCoverage } from '../../src/contract/coverage.ts'
import { findTraces } from '../../src/contract/creations.ts'
import type { Journal } from '../../src/contract/journal.ts'
import { createJournal } from '../../src/contract/journal.ts'
import { createJournalingFetch } from '../../src/contract/journaling-fetch.ts'
import type { LimitOptions, Limits } from '../../src/contract/limits.ts'
import { createLimits, NO_LIMITS } from '../../src/contract/limits.ts'
import { createRunId } from '../../src/contract/run-id.ts'
import { CANNOT_BE_DELETED } from '../../src/contract/run-report.ts'
import { createPlainClient, takeAway } from '../../src/contract/take-away.ts'
import type { Target } from '../../src/contract/target.ts'
import type { Operation } from '../../src/spec/document.ts'
import type { FrontOptions, InProcess } from './in-process.ts'

/** Null over HTTP: faults cannot be injected into somebody else's process. */
export let inProcess: InProcess | null = null
export let target: Target
export let coverage: Coverage
export let client: ContractClient
/** What the client sends through: for requests that are beyond it, so that they keep to what the run may do. */
export let send: typeof fetch
export let limits: Limits

/** Part of the name of everything that a run makes, so that leftovers can be told. */
export let runId: string
export let project: string
/** A team that nobody is in. */
export let foreignTeam: string
/** After which a clock surely shows another time. */
export const CLOCK_STEP_MS = 25
export const unknownId = '01990c5e-0000-7000-8000-000000000000'

let journal: Journal

export interface RunOptions extends LimitOptions {
  /** Where what the run makes is written down, for the case of a crash; null: nowhere. */
  journalFolder: string | null
}

/** Says what is judged from now on. Sections read what is exported here only when their checks are collected, or later. */
export function configure(given: Target | InProcess, options: Partial<RunOptions> = {}): void {
  inProcess = 'openFront' in given ? given : null
  target = 'openFront' in given ? given.target : given
  runId = createRunId()
  project = target.project?.project ?? runId
  foreignTeam = `${runId}-no-team`
  coverage = createCoverage(target.profile)
  limits = createLimits({ ...NO_LIMITS, isReadOnly: target.isReadOnly, ...options })
  journal = createJournal(options.journalFolder ?? null, runId, target)
  send = target.isMock ? limits.fetch : createJournalingFetch(limits.fetch, journal, target)
  lacking.clear()
  client = createContractClient(target, coverage, send, whyNot)
  home = { ...NO_HOME, entity: target.project?.entity ?? '', project, name: `${runId}-home` }
  homeTrouble = null
  cleanups.length = 0
  notShown.clear()
}

/** `<operationId> <status>` of what a scenario could not bring about on this deployment without harm, and why. */
export const notShown = new Map<string, string>()

/** Names of secrets are variables: no hyphens. */
export function secretName(name: string): string {
  return `${runId}_${name}`.replaceAll('-', '_')
}

/** The model that scenarios share, made before the first of them. Its entity is the team of the key. */
export let home: Success<'createModel'>

/** Where no check uses it, it is not made. */
const NO_HOME = { id: unknownId, base_model: '', created_at: '' } as Success<'createModel'>

let homeTrouble: string | null = null
let artifactScheme = 'artifact'

const cleanups: (() => Promise<unknown>)[] = []

/** For what the journal does not know of: to be run at the end, the last one first. */
export function onCleanup(cleanup: () => Promise<unknown>): void {
  cleanups.push(cleanup)
}

/** Writes down, for the case of a crash, what is about to be made under a name that is not the run's own. */
export function noteMaking(operationId: string, path: Record<string, string>, reply: Record<string, string>): void {
  journal.settle(journal.add({ operationId, path, key: 'first' }), 'made', reply)
}

/** Makes what the checks share and use. Where that fails, those that use it fail. Never throws. */
export async function prepare(checks?: readonly Check[]): Promise<void> {
  if (checks && !checks.some(({ usesHome }) => usesHome)) return
  try {
    const { modelId } = target.given
    home = modelId ? await client.ok('getModel', { path: { model_id: modelId } }) : await createModel('home')
    const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id } })
    artifactScheme = data[0]?.artifact.split(':')[0] ?? artifactScheme
    await findLacking()
  } catch (error) {
    homeTrouble = (error as Error).message
  }
}

/** What operations need and the caller has not, as `x-needs` calls it. */
const lacking = new Set<string>()

const NEED_OF: Readonly<Record<string, Need>> = { admin: 'team-admin', plan: 'paid-plan' }

function whyNot({ needs }: Operation): string | null {
  const missing = needs.find(need => lacking.has(need))
  return missing === undefined ? null : NEEDS[NEED_OF[missing]!]
}

/** Only what a deployment says clearly counts: of one that is broken nothing is left out. */
async function findLacking(): Promise<void> {
  if (target.isMock || target.profile === 'interface') return
  const { entity } = home
  const runs = await client.call('listRuns', { query: { entity, project: home.project, order: 'desc', limit: 100 } })
  const user = itemsOf(runs).find(run => run.model_id === home.id)?.user
  const members = await client.call('listMembers', { path: { entity }, query: { limit: 100 } })
  if (itemsOf(members).some(member => member.user === user && member.role === 'member')) lacking.add('admin')
  const { status, body } = await client.call('listWebhooks', { path: { entity }, query: { limit: 1 } })
  const code = (body as { error?: { code?: unknown } } | undefined)?.error?.code
  if (status === 403 && code === 'plan_too_low') lacking.add('plan')
}

function itemsOf({ body }: Answer): Record<string, unknown>[] {
  const { data } = (body ?? {}) as { data?: unknown }
  return Array.isArray(data) ? data.filter(item => typeof item === 'object' && item !== null) : []
}

/** The check as it is to be run here: what it needs of what was prepared is added. */
export function withPrepared(check: Check): Check {
  if (!check.usesHome) return check
  const needs: Need[] = target.isReadOnly ? [...check.needs, 'home'] : [...check.needs]
  const run = async () => {
    if (homeTrouble !== null) throw new Error(`The model that it uses could not be had: ${homeTrouble}`)
    await check.run()
  }
  return { ...check, needs, run }
}

/** What the deployment and the command line offer. */
export function isMet(need: Need, isEverything = true): boolean {
  const met: Record<Need, boolean> = {
    memory: !target.isMock,
    'second-key': target.secondApiKey !== null,
    training: target.mayTrain,
    retries: target.mayRetry,
    receiver: target.receiver !== null,
    'team-admin': !lacking.has('admin'),
    'paid-plan': !lacking.has('plan'),
    inside: inProcess !== null,
    writes: !target.isReadOnly,
    home: !target.isReadOnly || target.given.modelId !== null,
    job: target.given.trainingJobId !== null || (target.mayTrain && !target.isReadOnly),
    'own-project': target.project === null,
    everything: isEverything && isWhole(),
  }
  return met[need]
}

/** What to send as `model` in a chat, in the scheme of this deployment: the latest checkpoint, or the one that the suffix names. */
export function uriOf(
  { entity, project, name }: { entity: string; project: string; name: string },
  suffix = '',
): string {
  return `${artifactScheme}:///${entity}/${project}/${name}${suffix}`
}

/** Of one more front to the service in this process, with some of its parts replaced. Throws over HTTP. */
export async function clientOf(options: FrontOptions): Promise<ContractClient> {
  const baseUrl = await inProcess!.openFront(options)
  return createContractClient({ ...target, baseUrl, inferenceUrl: `${baseUrl}/v1` }, coverage)
}

/** Deletes what the run made. What was not deleted, and the kinds of what cannot be, for the report. Never throws. */
export function takeAllAway(): Promise<string[]> {
  return limits.clean(takeEverythingAway)
}

async function takeEverythingAway(): Promise<string[]> {
  const left: string[] = []
  for (const cleanup of cleanups.reverse())
    await cleanup().catch(error => left.push(error instanceof Error ? error.message : String(error)))
  if (!target.isMock) left.push(...(await takeAway(journal, createPlainClient(target, send), target)))
  if (left.length === 0) journal.remove()
  const traces = target.isMock ? [] : findTraces(coverage.counts)
  return [...left, ...traces.map(trace => CANNOT_BE_DELETED + trace)]
}

/** The same, and the end of a service in this process. */
export async function cleanUp(): Promise<string[]> {
  const left = await takeAllAway()
  await inProcess?.close()
  return left
}

/** Whether the command line lets everything be exercised. */
function isWhole(): boolean {
  const { mayTrain, mayRetry, isReadOnly, project, receiver } = target
  return mayTrain && mayRetry && !isReadOnly && project === null && receiver !== null && lacking.size === 0
}

/** Deleted at the end, as is everything that the client makes. */
export async function createModel(name: string): Promise<Success<'createModel'>> {
  const entity = target.project ? { entity: target.project.entity } : {}
  return client.ok('createModel', {
    body: { project, name: `${runId}-${name}`, base_model: target.baseModel, ...entity },
  })
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

export async function createArtifact(name: string, upload: Upload): Promise<Success<'createArtifactVersion'>> {
  const path = { entity: home.entity, project, name: `${runId}-${name}` }
  return client.ok('createArtifactVersion', { path, form: toForm(upload) })
}
