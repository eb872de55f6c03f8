/**
 * Requests that change nothing, for checks that send one to every operation. First, one well-formed request for each operation. They name things that do not exist, so that sending one changes as little as can be:
 * what matters is that validation has nothing against it.
 */
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { operationById } from '../../src/spec/document.ts'
import { foreignTeam, home, isMet, project, runId, secretName, target, toForm, unknownId } from './setup.ts'

const message = { role: 'user', content: 'hello' }
const choice = {
  index: 0,
  finish_reason: 'stop',
  message: { role: 'assistant', content: 'hi' },
  logprobs: { content: [{ token: 'hi', logprob: -0.5, bytes: [104, 105], top_logprobs: [] }] },
  token_ids: [7],
}
const group = {
  trajectories: [{ messages_and_choices: [message, choice], reward: 1, metrics: { length: 2 }, metadata: { seed: 1 } }],
}
/** Of a model that does not exist, in this run. */
function toChat() {
  return {
    messages: [message],
    model: `${runId}-no-model`,
    temperature: 1,
    max_completion_tokens: 5,
    top_p: 0.9,
    seed: 1,
    n: 1,
  }
}

export function goodRequest(id: OperationId): CallOptions {
  const entity = home.entity || 'default'
  const artifact = { entity, project, name: `${runId}-nothing` }
  const version = { ...artifact, version: 'v0' }
  const scorers = { entity, project }
  const links = { entity, registry: runId, collection: 'nothing' }
  const webhook = { entity, webhook_id: unknownId }
  const requests: Record<OperationId, CallOptions> = {
    getHealth: {},
    getSystemCheck: {},
    createChatCompletion: { body: toChat() },
    createChatCompletionSlash: { body: toChat() },
    listInferenceModels: {},
    listRouterModels: {},
    listModels: { query: { limit: 1 } },
    createModel: {
      body: { entity, project, name: `${runId}-good`, base_model: `${runId}-no-base-model`, return_existing: false },
    },
    getModel: { path: { model_id: unknownId } },
    deleteModel: { path: { model_id: unknownId } },
    listCheckpoints: { path: { model_id: unknownId } },
    deleteCheckpoints: { path: { model_id: unknownId }, body: { steps: [0] } },
    logTrajectories: { path: { model_id: unknownId }, body: { split: 'val', trajectory_groups: [group] } },
    listTrajectories: { path: { model_id: unknownId }, query: { split: 'val', limit: 1 } },
    listRuns: { query: { entity, project, limit: 1 } },
    getRunMetrics: { path: { run_id: unknownId }, query: { name: 'reward', after_name: 'loss', points: 10 } },
    listTrainingJobs: { query: { limit: 1, status: 'RUNNING', model_id: unknownId } },
    createRlTrainingJob: {
      body: { model_id: unknownId, trajectory_groups: [group], experimental_config: { learning_rate: 0.001 } },
    },
    createSftTrainingJob: {
      body: {
        model_id: unknownId,
        training_data_url: `artifact:///${foreignTeam}/${project}/${runId}:v0`,
        config: { batch_size: 2, learning_rate: 0.001 },
      },
    },
    getTrainingJob: { path: { training_job_id: unknownId } },
    listTrainingJobEvents: { path: { training_job_id: unknownId } },
    cancelTrainingJob: { path: { training_job_id: unknownId } },
    listArtifactVersions: { path: artifact },
    createArtifactVersion: {
      path: artifact,
      form: toForm({
        files: { 'a.txt': 'a' },
        version: { type: 'dataset', metadata: { rows: 1 }, aliases: ['first'], tags: ['small'] },
      }),
    },
    getArtifactVersion: { path: version },
    deleteArtifactVersion: { path: version },
    getArtifactFile: { path: { ...version, path: 'a.txt' } },
    addArtifactAlias: { path: { ...version, alias: 'best' } },
    deleteArtifactAlias: { path: { ...version, alias: 'best' } },
    addArtifactTag: { path: { ...version, tag: 'reviewed' } },
    deleteArtifactTag: { path: { ...version, tag: 'reviewed' } },
    listRegistryLinks: { path: links, query: { limit: 1 } },
    createRegistryLink: { path: links, body: { artifact: `artifact:///${foreignTeam}/${project}/${runId}:v0` } },
    // A plan without automations is a 403 where the team is named.
    listAutomations: {
      query: { ...(isMet('paid-plan') ? { entity } : {}), project, registry: `${runId}-nothing`, limit: 1 },
    },
    createAutomation: {
      body: {
        name: `${runId}-good`,
        description: 'It names a webhook that does not exist',
        enabled: true,
        scope: { type: 'project', entity, project },
        event: { type: 'RUN_METRIC', metric: 'val/reward', operator: '>', threshold: 0.5 },
        filter: { user: 'nobody', run_name_regex: '^no-such-run$' },
        webhook_id: unknownId,
        payload: { text: '$event_author did it' },
      },
    },
    getAutomation: { path: { automation_id: unknownId } },
    updateAutomation: { path: { automation_id: unknownId }, body: { name: `${runId}-good`, enabled: false } },
    deleteAutomation: { path: { automation_id: unknownId } },
    listAutomationExecutions: { path: { automation_id: unknownId }, query: { limit: 1 } },
    getUsage: {
      query: { entity, project, model: target.baseModel, from: '2026-01-01', to: '2026-01-31', limit: 1 },
    },
    listWebhooks: { path: { entity }, query: { limit: 1 } },
    createWebhook: {
      path: { entity },
      body: {
        name: `${runId}-good`,
        endpoint_url: 'https://hooks.example.com/deploy',
        access_token_secret: `${runId}-no-secret`,
        signing_secret: null,
      },
    },
    getWebhook: { path: webhook },
    updateWebhook: {
      path: webhook,
      body: { name: 'Other', endpoint_url: 'https://hooks.example.com/', signing_secret: null, enabled: true },
    },
    deleteWebhook: { path: webhook },
    testWebhook: { path: webhook, body: { payload: { event: 'TEST' } } },
    listWebhookDeliveries: { path: webhook, query: { status: 'Failed' } },
    redeliverWebhook: { path: { ...webhook, delivery_id: unknownId } },
    listScorers: { path: scorers },
    createScorer: { path: scorers, body: { object_id: `${runId}-good`, name: 'Good', description: 'A scorer' } },
    deleteScorer: { path: { ...scorers, object_id: `${runId}-nothing` }, query: { digests: ['abc'] } },
    listMembers: { path: { entity }, query: { limit: 1 } },
    putMember: {
      path: { entity, user: `${runId}-good` },
      body: { role: 'member', project_admin: [project], registry_admin: [`${runId}-registry`] },
    },
    deleteMember: { path: { entity, user: `${runId}-nobody` } },
    listSecrets: { path: { entity }, query: { limit: 1 } },
    putSecret: { path: { entity, name: secretName('good') }, body: { value: 'a value' } },
    deleteSecret: { path: { entity, name: secretName('nothing') } },
    listApiKeys: { query: { limit: 1 } },
    createApiKey: { body: { name: `${runId}-good`, team: entity } },
    deleteApiKey: { path: { api_key_id: unknownId } },
    getScorer: { path: { ...scorers, object_id: `${runId}-nothing`, digest: 'abc' } },
  }
  return requests[id]
}

/** Requests that are answered with 200 and still change nothing: the model that is there already, and chats, which only count. */
function successfulRequests(): Partial<Record<OperationId, CallOptions>> {
  const model = { path: { model_id: home.id } }
  return {
    createChatCompletion: {
      body: { ...toChat(), model: target.baseModel, messages: [{ ...message, content: 'Say hello.' }] },
    },
    createModel: {
      body: {
        ...{ entity: home.entity || 'default', project: home.project, name: home.name },
        ...{ base_model: home.base_model || target.baseModel, return_existing: true },
      },
    },
    getModel: model,
    listCheckpoints: model,
  }
}

/** A request that may be sent again and again, best one that succeeds; null where none is harmless. */
export function quietRequest(id: OperationId): CallOptions | null {
  return successfulRequests()[id] ?? (isHarmless(id) ? goodRequest(id) : null)
}

/** Writes whose good request names what does not exist, in the body or by name. */
const HARMLESS_WRITES: ReadonlySet<OperationId> = new Set<OperationId>([
  'createChatCompletion',
  'createChatCompletionSlash',
  'createModel',
  'createRlTrainingJob',
  'createSftTrainingJob',
  'deleteArtifactVersion',
  'addArtifactAlias',
  'deleteArtifactAlias',
  'deleteScorer',
])

/** Whether the good request, or one that is accepted as well, changes nothing: it reads, or names by an id what does not exist. */
export function isHarmless(id: OperationId): boolean {
  const { method, parameters } = operationById(id)
  const namesById = parameters.some(
    ({ in: place, schema }) => place === 'path' && typeof schema === 'object' && schema.format === 'uuid',
  )
  return method === 'GET' || (namesById && method !== 'PATCH') || HARMLESS_WRITES.has(id)
}
