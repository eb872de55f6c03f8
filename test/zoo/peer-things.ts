/** Things that requests of the other tools name, made on the healthy service: each tool gets its own, since it may delete them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationId } from '../../src/contract/client.ts'
import { client, createArtifact, createModel, home, project, runId, secretName } from '../contract/setup.ts'
import { conversations, toJsonLines, waitForJob } from '../contract/training-data.ts'

export interface Things {
  /** Values of path parameters by operation and name, and under '' for every operation. */
  path(id: OperationId): Record<string, string>
  /** Takes the place of the body that names what does not exist; undefined: that one is good. */
  body(id: OperationId): Record<string, unknown> | undefined
}

/** Made once: what no request deletes. */
export interface SharedThings {
  trainedModelId: string
  runId: string
  trainingJobId: string
  dataUri: string
}

/** Nothing listens there, so that a delivery ends at once. */
const ENDPOINT = 'http://127.0.0.1:9/'
const DELIVERY_ATTEMPTS = 40
const DELIVERY_PERIOD_MS = 50

/** A model that was trained for some steps. Takes as long as a training job. */
export async function makeSharedThings(): Promise<SharedThings> {
  const model = await createModel('peers-trained')
  const files = {
    'trajectories.jsonl': toJsonLines(conversations(4)),
    'metadata.json': '{"format":"jsonl","num_trajectories":4}',
  }
  const { uri } = await createArtifact('peers-data', { files, version: { type: 'dataset' } })
  const { id } = await client.ok('createSftTrainingJob', { body: { model_id: model.id, training_data_url: uri } })
  await waitForJob(id)
  const { run_id } = await client.ok('getModel', { path: { model_id: model.id } })
  return { trainedModelId: model.id, runId: run_id!, trainingJobId: id, dataUri: uri }
}

let made = 0

/** Things that may be deleted. Those that cost much are only made where one of the operations wants them. */
export async function makeThings(shared: SharedThings, ids: ReadonlySet<OperationId>): Promise<Things> {
  const { entity } = home
  const name = `peers-${++made}`
  const secret = secretName(`peers_${made}`)
  const user = `${runId}-${name}`
  const scorers = { entity, project }
  const { id: modelId } = await createModel(name)
  const group = { trajectories: [{ messages_and_choices: [{ role: 'user' as const, content: 'hello' }], reward: 1 }] }
  await client.call('logTrajectories', {
    path: { model_id: modelId },
    body: { split: 'val', trajectory_groups: [group] },
  })
  const artifact = await createArtifact(`${name}-data`, {
    files: { 'a.txt': 'some text' },
    version: { type: 'dataset', aliases: ['old-alias'], tags: ['old-tag'] },
  })
  const spareModel = await createModel(`${name}-spare`)
  const spare = await createArtifact(`${name}-spare-data`, { files: { a: 'b' }, version: { type: 'dataset' } })
  const link = { entity, registry: runId, collection: name }
  await client.ok('createRegistryLink', { path: link, body: { artifact: artifact.uri } })
  await client.ok('putSecret', { path: { entity, name: secret }, body: { value: 'a value' } })
  await client.ok('putMember', { path: { entity, user }, body: { role: 'member' } })
  const { id: api_key_id } = await client.ok('createApiKey', { body: { name, team: entity } })
  const scorer = await client.ok('createScorer', { path: scorers, body: { object_id: name, name } })
  const webhook = await client.ok('createWebhook', { path: { entity }, body: { name: user, endpoint_url: ENDPOINT } })
  const spareHook = await client.ok('createWebhook', {
    path: { entity },
    body: { name: `${user}-spare`, endpoint_url: ENDPOINT },
  })
  const automation = toAutomation(user, webhook.id)
  const { id: automation_id } = await client.ok('createAutomation', { body: automation })
  const version = { entity, project, name: artifact.name, version: artifact.version }
  const delivery_id = ids.has('redeliverWebhook') ? await makeDelivery(webhook.id, version) : webhook.id
  const job = ids.has('cancelTrainingJob') ? await startJob(modelId, group) : shared.trainingJobId
  const common = {
    ...{ ...link, project, webhook_id: webhook.id, delivery_id, automation_id, api_key_id, user },
    ...{ model_id: modelId, run_id: shared.runId, training_job_id: job },
    ...{ object_id: name, digest: scorer.digest, version: artifact.version, path: 'a.txt' },
    ...{ alias: 'new-alias', tag: 'new-tag', name: artifact.name },
  }
  const own: Partial<Record<OperationId, Record<string, string>>> = {
    putSecret: { name: `${secret}_new` },
    deleteSecret: { name: secret },
    putMember: { user: `${user}-new` },
    deleteModel: { model_id: spareModel.id },
    deleteArtifactVersion: { name: spare.name, version: spare.version },
    deleteWebhook: { webhook_id: spareHook.id },
    deleteArtifactAlias: { alias: 'old-alias' },
    deleteArtifactTag: { tag: 'old-tag' },
    listCheckpoints: { model_id: shared.trainedModelId },
  }
  const bodies: Partial<Record<OperationId, Record<string, unknown>>> = {
    createModel: { entity, project, name: `${user}-new`, base_model: home.base_model },
    createChatCompletion: toChat(home.base_model),
    createChatCompletionSlash: toChat(home.base_model),
    createRlTrainingJob: { model_id: modelId, trajectory_groups: [] },
    createSftTrainingJob: { model_id: modelId, training_data_url: shared.dataUri },
    createRegistryLink: { artifact: artifact.uri },
    createWebhook: { name: `${user}-new`, endpoint_url: ENDPOINT },
    updateWebhook: { name: `${user}-other`, enabled: true },
    createAutomation: { ...automation, name: `${user}-new` },
    updateAutomation: { name: `${user}-other`, enabled: true },
  }
  return { path: id => ({ ...common, ...own[id] }), body: id => bodies[id] }
}

function toChat(model: string) {
  return {
    model,
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_completion_tokens: 5,
    seed: 1,
    temperature: 0,
  }
}

function toAutomation(name: string, webhook_id: string) {
  return {
    name,
    enabled: true,
    scope: { type: 'project' as const, entity: home.entity, project },
    event: { type: 'ADD_ARTIFACT_ALIAS' as const, alias_regex: '^fired$' },
    webhook_id,
    payload: { text: 'hello' },
  }
}

async function makeDelivery(webhook_id: string, version: Record<string, string>): Promise<string> {
  await client.ok('addArtifactAlias', { path: { ...version, alias: 'fired' } })
  for (let attempt = 0; attempt < DELIVERY_ATTEMPTS; attempt++) {
    const path = { entity: home.entity, webhook_id }
    const { data } = await client.ok('listWebhookDeliveries', { path })
    if (data[0]) return data[0].id
    await sleep(DELIVERY_PERIOD_MS)
  }
  throw new Error('An automation that fired gave no delivery')
}

async function startJob(model_id: string, group: object): Promise<string> {
  const body = { model_id, trajectory_groups: [group] } as never
  return (await client.ok('createRlTrainingJob', { body })).id
}
