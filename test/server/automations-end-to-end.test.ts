// biome-ignore-all lint/suspicious/noTemplateCurlyInString: payloads name their variables so
/**
 * Automations from end to end: the generated client makes the changes, a receiver on this machine gets the deliveries, and each change
 * fires exactly the automations that the table says, with the payload and a signature that the receiver checks by itself.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Client, createClient, type Input } from '../../generated/client.ts'
import { type Receiver, startReceiver } from '../automations/receiver.ts'
import { FIRST_KEY, startTestServer, type TestServer, toRlJob, until } from './start.ts'

const SIGNING_KEY = 'signing-key-"with"-quotes'
const ACCESS_TOKEN = 'access-token-0123456789'
/** Every variable of the contract, by the name of its field in the payload. */
const PAYLOAD = {
  who: 'AUTOMATION',
  project_name: '$project_name',
  entity_name: '${entity_name}',
  event_type: '$event_type',
  event_author: '$event_author',
  alias: '$alias',
  tag: '$tag',
  artifact_collection_name: '$artifact_collection_name',
  rows: '$artifact_metadata.rows',
  nested: '${artifact_metadata.nested}',
  quoted: 'says ${artifact_metadata.quote}, literally',
  artifact_version: '$artifact_version',
  artifact_version_string: '$artifact_version_string',
  run_id: '$run_id',
  run_name: '$run_name',
  metric: '$metric_name=$metric_value',
  token: '$ACCESS_TOKEN',
  signing: '<$SIGNING_KEY>',
}
const METADATA = { rows: 7, nested: { a: ['$alias'] }, quote: '"},{"$tag":"\n' }

let server: TestServer
let receiver: Receiver
let client: Client
let bob: Client
const models: Record<string, string> = {}
/** By name; nothing has the empty one. */
const runIds: Record<string, string | null> = { '': '' }
const automationIds: string[] = []

const entity = 'default'
const inProject = { type: 'project', entity, project: 'p' } as const
const inRegistry = { type: 'registry', entity, registry: 'models' } as const
const onReward = { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: 0.5 } as const

/** By name. The table below says which of them a change fires. */
const AUTOMATIONS = {
  anyAlias: { scope: inProject, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '.*' } },
  prod: { scope: inProject, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' } },
  disabled: { scope: inProject, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' }, enabled: false },
  prodOfQ: { scope: { ...inProject, project: 'q' }, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' } },
  prodOfModels: { scope: inRegistry, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' } },
  tagged: { scope: inRegistry, event: { type: 'ADD_ARTIFACT_TAG' } },
  linked: { scope: inRegistry, event: { type: 'LINK_ARTIFACT' } },
  linkedElsewhere: { scope: { ...inRegistry, registry: 'data' }, event: { type: 'LINK_ARTIFACT' } },
  reward: { scope: inProject, event: onReward },
  rewardOfAdmin: { scope: inProject, event: onReward, filter: { user: 'admin' } },
  rewardOfBob: { scope: inProject, event: onReward, filter: { user: 'bob' } },
  rewardOfYes: { scope: inProject, event: onReward, filter: { run_name_regex: '^yes-' } },
  rewardOfNo: { scope: inProject, event: onReward, filter: { run_name_regex: '^no-' } },
  loss: { scope: inProject, event: { ...onReward, metric: 'loss', operator: '>', threshold: 0 } },
  lowReward: { scope: inProject, event: { ...onReward, operator: '<', threshold: 0.1 } },
} as const

async function upload(
  name: string,
  more: { aliases?: string[]; tags?: string[]; content?: string; project?: string } = {},
) {
  const { aliases = [], tags = [], content = 'hello', project = 'p' } = more
  return client.createArtifactVersion({
    ...{ entity, project, name },
    files: [{ name: 'a.txt', data: content }],
    version: { type: 'dataset', metadata: METADATA, aliases, tags },
  })
}

/** A run of the project, created by the user of the key. */
async function createRun(name: string, by = client): Promise<string> {
  const { id, run_id } = await by.createModel({ entity, project: 'p', name, base_model: 'tiny-chat' })
  runIds[name] = run_id
  return id
}

/** Logs one trajectory, which writes the metric val/reward. */
async function logReward(model_id: string, reward: number, by = client): Promise<unknown> {
  const trajectory = { messages_and_choices: [{ role: 'user' as const, content: 'hi' }], reward }
  return by.logTrajectories({ model_id, split: 'val', trajectory_groups: [{ trajectories: [trajectory] }] })
}

/** A job of one step, whose loss is 1, and with a new checkpoint. */
async function train(model_id: string): Promise<unknown> {
  const { id } = await client.createRlTrainingJob(toRlJob(model_id) as Input<'createRlTrainingJob'>)
  const ask = () => client.getTrainingJob({ training_job_id: id })
  return until(ask, ({ status }) => status === 'COMPLETED')
}

async function listExecutions() {
  const lists = automationIds.map(automation_id => client.listAutomationExecutions({ automation_id, limit: 100 }))
  return (await Promise.all(lists)).flatMap(({ data }) => data)
}

beforeAll(async () => {
  receiver = await startReceiver()
  server = await startTestServer({ environment: { WEBHOOK_ALLOW: '127.0.0.0/8' } })
  const settings = (apiKey: string) => ({ baseUrl: server.url, apiKey })
  client = createClient(settings(FIRST_KEY))
  bob = createClient(settings(await server.addKey('bob', entity)))
  await client.putSecret({ entity, name: 'HOOK_TOKEN', value: ACCESS_TOKEN })
  await client.putSecret({ entity, name: 'SIGNING_KEY', value: SIGNING_KEY })
  const secrets = { access_token_secret: 'HOOK_TOKEN', signing_secret: 'SIGNING_KEY' }
  const { id: webhook_id } = await client.createWebhook({
    entity,
    name: 'receiver',
    endpoint_url: receiver.url,
    ...secrets,
  })
  for (const name of ['yes-1', 'yes-2', 'no-1', 'no-2']) models[name] = await createRun(name)
  models.ofBob = await createRun('no-3', bob)
  for (const name of ['loose', 'linked', 'linked-2']) await upload(name)
  for (const name of ['linked', 'linked-2']) await link('models', name)
  for (const [name, automation] of Object.entries(AUTOMATIONS)) {
    const payload = { ...PAYLOAD, who: name }
    const { id } = await client.createAutomation({ name, enabled: true, webhook_id, payload, ...automation })
    automationIds.push(id)
  }
})
beforeEach(() => {
  receiver.received.length = 0
})
afterAll(async () => {
  await server.close()
  await receiver.close()
})

const link = (registry: string, name: string) => {
  const artifact = `artifact:///${entity}/p/${name}:v0`
  return client.createRegistryLink({ entity, registry, collection: 'best', artifact })
}
const at = (name: string, version = 'v0') => ({ entity, project: 'p', name, version })

/** What a delivery says; what is not given is empty. */
const says = (who: keyof typeof AUTOMATIONS, more: Record<string, unknown>) => ({
  ...Object.fromEntries(Object.keys(PAYLOAD).map(name => [name, ''])),
  ...{ entity_name: entity, project_name: 'p', event_author: 'admin', metric: '=' },
  ...{ quoted: 'says , literally', token: ACCESS_TOKEN, signing: `<${SIGNING_KEY}>` },
  who,
  ...more,
})
const saysOf = (who: keyof typeof AUTOMATIONS, name: string, version: string, more: Record<string, unknown>) =>
  says(who, {
    ...{ rows: 7, nested: METADATA.nested, quoted: `says ${METADATA.quote}, literally` },
    artifact_collection_name: name,
    artifact_version: expect.objectContaining({
      ...{ entity, project: 'p', name, version, type: 'dataset', metadata: METADATA },
      uri: `artifact:///${entity}/p/${name}:${version}`,
    }),
    artifact_version_string: `${entity}/p/${name}:${more.alias ?? version}`,
    ...more,
  })
const saysAlias = (who: keyof typeof AUTOMATIONS, name: string, alias: string, more: object = {}) =>
  saysOf(who, name, 'v0', { event_type: 'ADD_ARTIFACT_ALIAS', alias, ...more })
const saysReward = (who: keyof typeof AUTOMATIONS, run_name: string, reward: number, more: object = {}) =>
  says(who, { event_type: 'RUN_METRIC', run_id: expect.any(String), run_name, metric: `val/reward=${reward}`, ...more })

test.each<[what: string, change: () => Promise<unknown>, deliveries: object[]]>([
  [
    'an upload with an alias',
    () => upload('new', { aliases: ['prod'] }),
    [saysAlias('anyAlias', 'new', 'latest'), saysAlias('anyAlias', 'new', 'prod'), saysAlias('prod', 'new', 'prod')],
  ],
  ['the same upload again', () => upload('new', { aliases: ['prod'] }), []],
  [
    'an upload into another project',
    () => upload('elsewhere', { aliases: ['prod'], project: 'q' }),
    [
      expect.objectContaining({
        who: 'prodOfQ',
        project_name: 'q',
        artifact_version_string: 'default/q/elsewhere:prod',
      }),
    ],
  ],
  [
    'an alias',
    () => client.addArtifactAlias({ ...at('loose'), alias: 'candidate' }),
    [saysAlias('anyAlias', 'loose', 'candidate')],
  ],
  ['the same alias again', () => client.addArtifactAlias({ ...at('loose'), alias: 'candidate' }), []],
  [
    'an alias of a version that a registry holds',
    () => client.addArtifactAlias({ ...at('linked'), alias: 'prod' }),
    [
      saysAlias('anyAlias', 'linked', 'prod'),
      saysAlias('prod', 'linked', 'prod'),
      saysAlias('prodOfModels', 'linked', 'prod', { artifact_collection_name: 'best' }),
    ],
  ],
  ['an alias taken off', () => client.deleteArtifactAlias({ ...at('loose'), alias: 'candidate' }), []],
  ['a tag of a version that no registry holds', () => client.addArtifactTag({ ...at('loose'), tag: 'good' }), []],
  [
    'a tag of one that a registry holds',
    () => client.addArtifactTag({ ...at('linked'), tag: 'good' }),
    [
      saysOf('tagged', 'linked', 'v0', {
        ...{ event_type: 'ADD_ARTIFACT_TAG', tag: 'good', artifact_collection_name: 'best' },
      }),
    ],
  ],
  ['the same tag again', () => client.addArtifactTag({ ...at('linked'), tag: 'good' }), []],
  [
    'a link',
    () => link('models', 'loose'),
    [
      saysOf('linked', 'loose', 'v0', {
        ...{ event_type: 'LINK_ARTIFACT', project_name: 'models', artifact_collection_name: 'best' },
      }),
    ],
  ],
  [
    'a link into another registry',
    () => link('data', 'loose'),
    [expect.objectContaining({ who: 'linkedElsewhere', project_name: 'data', event_type: 'LINK_ARTIFACT' })],
  ],
  [
    'a metric at the threshold',
    () => logReward(models['yes-1']!, 0.5),
    ['reward', 'rewardOfAdmin', 'rewardOfYes'].map(who => saysReward(who as 'reward', 'yes-1', 0.5)),
  ],
  ['the same metric again, within a day', () => logReward(models['yes-1']!, 0.75), []],
  ['a metric below the threshold', () => logReward(models['yes-2']!, 0.25), []],
  ['a metric below a lower threshold', () => logReward(models['yes-2']!, 0), [saysReward('lowReward', 'yes-2', 0)]],
  [
    'a metric of a run with another name',
    () => logReward(models['no-1']!, 0.75),
    ['reward', 'rewardOfAdmin', 'rewardOfNo'].map(who => saysReward(who as 'reward', 'no-1', 0.75)),
  ],
  [
    "a metric of another user's run",
    () => logReward(models.ofBob!, 1),
    ['reward', 'rewardOfBob', 'rewardOfNo'].map(who => saysReward(who as 'reward', 'no-3', 1)),
  ],
  [
    'a metric that another user logs',
    () => logReward(models['no-2']!, 1, bob),
    ['reward', 'rewardOfAdmin', 'rewardOfNo'].map(who =>
      saysReward(who as 'reward', 'no-2', 1, { event_author: 'bob' }),
    ),
  ],
  [
    'a new model, whose first checkpoint is an artifact',
    () => createRun('born'),
    ['latest', 'step0'].map(alias =>
      expect.objectContaining({ who: 'anyAlias', alias, event_type: 'ADD_ARTIFACT_ALIAS' }),
    ),
  ],
  [
    'a training job, whose steps write metrics and whose checkpoint bears aliases',
    () => train(models['yes-2']!),
    [
      ...['latest', 'step1'].map(alias => expect.objectContaining({ who: 'anyAlias', alias })),
      says('loss', { event_type: 'RUN_METRIC', run_id: expect.any(String), run_name: 'yes-2', metric: 'loss=1' }),
    ],
  ],
])('%s', async (_what, change, expected) => {
  const before = (await listExecutions()).length
  await change()
  // Executions are written with the change, so their number says how many deliveries there will ever be.
  expect((await listExecutions()).length - before).toBe(expected.length)
  const isOver = ({ status }: { status: string }) => status !== 'Pending'
  await until(listExecutions, executions => executions.every(isOver))
  expect(
    (await listExecutions()).every(({ status, response_status }) => status === 'Finished' && response_status === 200),
  ).toBe(true)
  const payloads = receiver.received.map(({ json }) => json as Record<string, unknown>)
  expect(payloads.toSorted(byName)).toEqual(expected)
  for (const { run_id, run_name } of payloads) expect(run_id).toBe(runIds[String(run_name)])
  for (const { headers, body } of receiver.received) {
    expect(headers['content-type']).toBe('application/json')
    expect(headers.authorization).toBe(`Bearer ${ACCESS_TOKEN}`)
    const signature = String(headers['x-vendor-signature'])
    expect(signature).toMatch(/^[0-9a-f]{64}$/)
    const own = createHmac('sha256', SIGNING_KEY).update(body).digest()
    expect(timingSafeEqual(own, Buffer.from(signature, 'hex'))).toBe(true)
  }
})

function byName(one: Record<string, unknown>, other: Record<string, unknown>): number {
  return `${one.who} ${one.alias}` < `${other.who} ${other.alias}` ? -1 : 1
}

test('what an endpoint of a payload with a lost secret gets is nothing, and the history says why', async () => {
  const { data } = await client.listWebhooks({ entity })
  const webhook = { entity, webhook_id: data[0]!.id }
  await client.updateWebhook({ ...webhook, access_token_secret: null })
  const before = new Set((await listExecutions()).map(({ id }) => id))
  await client.addArtifactAlias({ ...at('loose'), alias: 'late' })
  const added = (await listExecutions()).filter(({ id }) => !before.has(id))
  expect(added).toHaveLength(1)
  const delivery = await until(
    async () =>
      (await client.listWebhookDeliveries({ ...webhook, limit: 100 })).data.find(
        one => one.id === added[0]!.delivery_id,
      )!,
    one => one.attempts.length > 0,
  )
  expect(JSON.stringify(delivery)).toMatch(/ACCESS_TOKEN.{0,4} is neither a variable nor a secret of the webhook/)
  expect(JSON.stringify(delivery)).not.toContain(SIGNING_KEY)
  expect(receiver.received).toEqual([])
})
