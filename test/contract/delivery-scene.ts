// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of payloads are written like that
/**
 * What the checks of deliveries share: webhooks that lead to this very process, automations that do and do not fire, and the
 * events. All of it happens at once, so that what has to be waited for is waited for once.
 */
import { randomBytes } from 'node:crypto'
import { SkipError } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { type AnswerOf, comesTrue, createReceiver, type DeliveryReceiver } from '../../src/contract/receiver.ts'
import { type Endpoint, openEndpoint, putSecrets, type Secrets } from './delivery-endpoints.ts'
import { fullPayload, METADATA } from './delivery-payload.ts'
import {
  client,
  createArtifact,
  createModel,
  home,
  inProcess,
  notShown,
  onCleanup,
  project,
  runId,
  target,
} from './setup.ts'

type Automation = Success<'createAutomation'>

export interface Scene {
  receiver: DeliveryReceiver
  secrets: Secrets
  /** Most automations call it. */
  main: Endpoint
  /** It has no secrets. */
  plain: Endpoint
  /** They fail first, each in a way of its own. */
  flaky: Endpoint
  moved: Endpoint
  broken: Endpoint
  gone: Endpoint
  /** Its automation was deleted after the first attempt. */
  orphan: Endpoint
  /** It was deleted itself. */
  dropped: Endpoint
  disabled: Endpoint
  /** What `moved` points to. */
  elsewhere: Endpoint['inbox']
  /** By the name in their payload, `rule`. */
  automations: ReadonlyMap<string, Automation>
  version: Success<'createArtifactVersion'>
  model: Success<'createModel'>
  alias: string
  metric: string
  registry: string
  collection: string
  /** The deliveries of `flaky` as they were listed when its first attempt had failed. */
  waiting: Success<'listWebhookDeliveries'>['data']
}

/** Automations of these names fire once each, all to `main`, and `many` three times. */
export const FIRING = ['alias', 'anywhere', 'metric', 'at-most', 'own-runs', 'link', 'tag', 'registry-alias'] as const
export const MANY = 3

/** These never fire. */
export const SILENT = [
  ...['other-alias', 'other-case', 'other-project', 'switched-off', 'deleted', 'above', 'below', 'other-metric'],
  ...['other-user', 'other-run', 'other-registry', 'other-tag'],
] as const

/** The value that is logged, and that thresholds are about. */
export const VALUE = 3
/** Asked for by the endpoint that fails first, in seconds. */
export const RETRY_AFTER_S = 2

/** Longest waits for what is to arrive at once, for the log, and for the first retry, in milliseconds. */
const ARRIVAL_MS = 5000
const LOG_MS = 1000
const RETRY_MS = 9000
/** Waits are up to a fifth longer than the schedule says. */
const JITTER = 1.2
/** What must not arrive is waited for this long after all the rest has come. */
const MARGIN_MS = 150
/** Where no retries are waited for. */
const QUIET_MS = 1000

let scene: { of: string; staged: Promise<Scene> } | null = null

/** The same for all checks of a run; made by the first that asks. Throws a SkipError where the deployment cannot reach this machine. */
export function takeScene(): Promise<Scene> {
  if (scene?.of !== runId) scene = { of: runId, staged: stage() }
  return scene.staged
}

async function stage(): Promise<Scene> {
  const receiver = await createReceiver(target.receiver!)
  onCleanup(() => receiver.close())
  const secrets = await putSecrets()
  const open = (name: string, answer?: AnswerOf, given: Partial<Secrets> = secrets) =>
    openEndpoint(receiver, name, answer, given)
  const main = await probe(() => open('main'))
  const elsewhere = receiver.open()
  const once = (first: ReturnType<AnswerOf>) => (number: number) => (number === 1 ? first : { status: 200 })
  // The body is what the log must not show.
  const busy = { status: 503, headers: { 'retry-after': String(RETRY_AFTER_S) }, body: `no, ${secrets.token.value}` }
  const [plain, flaky, moved, broken, gone, orphan, dropped, disabled] = await Promise.all([
    open('plain', undefined, {}),
    open('flaky', once(busy)),
    open('moved', once({ status: 302, headers: { location: elsewhere.url } })),
    open('broken', once({ status: null })),
    open('gone', () => ({ status: 410 })),
    open('orphan', once({ status: 500 }), { signing: secrets.encoded }),
    open('dropped', () => ({ status: 500 }), {}),
    open('disabled', undefined, {}),
  ])
  const endpoints = { main, plain, flaky, moved, broken, gone, orphan, dropped, disabled }
  await client.ok('updateWebhook', { path: disabled.path, body: { enabled: false } })

  const alias = `${runId}-ready`
  const metric = `delivered_${randomBytes(4).toString('hex')}`
  const registry = `${runId}-deliveries`
  const collection = `${runId}-collection`
  const model = await createModel('deliver')
  const version = await createArtifact('delivered', {
    files: { a: 'b' },
    version: { type: 'dataset', metadata: METADATA },
  })
  const automations = await createAutomations({ ...endpoints, secrets, alias, metric, registry })

  const path = { entity: home.entity, project, name: version.name, version: 'v0' }
  const place = { entity: home.entity, registry, collection }
  await client.ok('createRegistryLink', { path: place, body: { artifact: version.uri } })
  await client.ok('addArtifactTag', { path: { ...path, tag: `${runId}-seen` } })
  for (let time = 0; time < 2; time++) await client.ok('addArtifactAlias', { path: { ...path, alias } })
  for (let number = 0; number < MANY; number++)
    await client.ok('addArtifactAlias', { path: { ...path, alias: `${runId}-many-${number}` } })
  const messages_and_choices = [{ role: 'user', content: 'hi' }]
  const trajectory = { messages_and_choices, metrics: { [metric]: VALUE } }
  const body = { split: 'val', trajectory_groups: [{ trajectories: [trajectory] }] }
  await client.ok('logTrajectories', { path: { model_id: model.id }, body })

  const others = [plain, flaky, moved, broken, gone, orphan, dropped]
  const isAll = () =>
    main.inbox.arrivals.length > FIRING.length + MANY && others.every(({ inbox }) => inbox.arrivals.length > 0)
  await comesTrue(isAll, ARRIVAL_MS)
  let waiting: Scene['waiting'] = []
  await comesTrue(async () => {
    waiting = (await client.ok('listWebhookDeliveries', { path: flaky.path })).data
    return (waiting[0]?.attempts.length ?? 0) > 0
  }, LOG_MS)
  for (const rule of ['orphan', 'dropped'])
    await client.ok('deleteAutomation', { path: { automation_id: automations.get(rule)!.id } })
  await client.ok('deleteWebhook', { path: dropped.path })
  await letTimePass([flaky, moved, broken, orphan], [moved, broken, orphan])
  return {
    ...{ receiver, secrets, ...endpoints, elsewhere, automations, version, model },
    ...{ alias, metric, registry, collection, waiting },
  }
}

/** Until all have come a second time, and what must not come would have. `regular`: those that did not ask for a wait of their own. */
async function letTimePass(retried: readonly Endpoint[], regular: readonly Endpoint[]): Promise<void> {
  if (!target.mayRetry) return void (await comesTrue(() => false, QUIET_MS))
  await comesTrue(() => retried.every(({ inbox }) => inbox.arrivals.length > 1), RETRY_MS)
  const waits = regular.map(({ inbox: { arrivals } }) => (arrivals[1]?.at ?? 0) - (arrivals[0]?.at ?? 0))
  const last = Math.max(0, ...retried.map(({ inbox }) => inbox.arrivals[0]?.at ?? 0)) + JITTER * Math.max(0, ...waits)
  await comesTrue(() => false, Math.min(RETRY_MS, Math.max(0, last - Date.now())) + MARGIN_MS)
}

/** The webhook of an endpoint, where deliveries can arrive at all. */
async function probe(open: () => Promise<Endpoint>): Promise<Endpoint> {
  const give = (reason: string): never => {
    // In this process nothing stands between.
    if (inProcess) throw new Error(reason)
    for (const status of ['deleteWebhook 400', 'redeliverWebhook 200', 'redeliverWebhook 400', 'testWebhook 200'])
      notShown.set(status, reason)
    throw new SkipError(reason)
  }
  const endpoint = await open().catch((error: Error) => {
    if (!error.message.includes('endpoint_url')) throw error
    return give(`the deployment does not take the address of this machine as an endpoint: ${error.message}`)
  })
  const { status, error } = await client.ok('testWebhook', {
    path: endpoint.path,
    body: { payload: { rule: 'probe' } },
  })
  if (status === null && endpoint.inbox.arrivals.length === 0)
    give(`the deployment cannot reach this machine at ${new URL(endpoint.inbox.url).origin}: ${error}`)
  return endpoint
}

type Names = Pick<Scene, 'secrets' | 'alias' | 'metric' | 'registry' | 'main'> & Record<string, unknown>

async function createAutomations(names: Names): Promise<ReadonlyMap<string, Automation>> {
  const { alias, metric, registry, main, secrets } = names
  const { entity } = home
  const ofProject = { type: 'project', entity, project }
  const ofRegistry = { type: 'registry', entity, registry }
  const named = (alias_regex: string) => ({ type: 'ADD_ARTIFACT_ALIAS', alias_regex })
  const measured = (operator: string, more: object = {}) => ({
    event: { type: 'RUN_METRIC', metric: `val/${metric}`, operator, threshold: VALUE, ...more },
  })
  const user = main.webhook.created_by
  const exactly = named(`^${alias}$`)
  const ofRun = {
    ...{ run_id: '$run_id', run_name: '${run_name}', metric: '$metric_name', value: '$metric_value' },
    ...{ text: 'at $metric_value', alias: '$alias', version: '$artifact_version_string' },
  }
  const ofVersion = {
    ...{ project: '$project_name', entity: '$entity_name', event: '$event_type', alias: '$alias', tag: '$tag' },
    ...{ collection: '$artifact_collection_name', version: '$artifact_version_string' },
  }
  const rules: Record<string, object> = {
    alias: { event: exactly, payload: { rule: 'alias', ...fullPayload(secrets) } },
    anywhere: { event: named(`(?i)${runId.slice(1).toUpperCase()}-REA`) },
    many: { event: named(`^${runId}-many-[0-9]$`) },
    metric: { ...measured('>='), payload: { rule: 'metric', ...ofRun } },
    'at-most': measured('<='),
    'own-runs': { ...measured('>', { threshold: VALUE - 1 }), filter: { user, run_name_regex: `^${runId}-deliver$` } },
    link: { scope: ofRegistry, event: { type: 'LINK_ARTIFACT' }, payload: { rule: 'link', ...ofVersion } },
    tag: { scope: ofRegistry, event: { type: 'ADD_ARTIFACT_TAG' }, payload: { rule: 'tag', ...ofVersion } },
    'registry-alias': { scope: ofRegistry, event: exactly, payload: { rule: 'registry-alias', ...ofVersion } },
    'other-alias': { event: named(`^${alias.slice(0, -1)}$`) },
    'other-case': { event: named(`^${alias.toUpperCase()}$`) },
    'other-project': { scope: { ...ofProject, project: `${runId}-elsewhere` }, event: exactly },
    'switched-off': { event: exactly, enabled: false },
    deleted: { event: exactly },
    above: measured('>'),
    below: measured('<'),
    'other-metric': measured('>=', { metric: metric }),
    'other-user': { ...measured('>='), filter: { user: `${runId}-nobody` } },
    'other-run': { ...measured('>='), filter: { user, run_name_regex: `^${runId}-del$` } },
    'other-registry': { scope: { ...ofRegistry, registry: `${runId}-others` }, event: { type: 'LINK_ARTIFACT' } },
    'other-tag': { scope: { ...ofRegistry, registry: `${runId}-others` }, event: { type: 'ADD_ARTIFACT_TAG' } },
  }
  for (const name of ['plain', 'flaky', 'moved', 'broken', 'gone', 'orphan', 'dropped', 'disabled'])
    rules[name] = { event: exactly, webhook_id: (names[name] as Endpoint).webhook.id }
  const made = await Promise.all(
    Object.entries(rules).map(async ([rule, more]) => {
      const common = { name: `${runId} ${rule}`, enabled: true, scope: ofProject, payload: { rule } }
      const body = { ...common, webhook_id: main.webhook.id, ...more }
      return [rule, await client.ok('createAutomation', { body })] as const
    }),
  )
  const automations = new Map(made)
  await client.ok('deleteAutomation', { path: { automation_id: automations.get('deleted')!.id } })
  return automations
}
