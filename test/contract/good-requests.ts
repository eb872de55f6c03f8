/**
 * One well-formed request for each operation. They name things that do not exist, so that sending one changes as little as can be:
 * what matters is that validation has nothing against it.
 */
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { foreignTeam, home, project, runId, target, toForm, unknownId } from './setup.ts'

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
const chat = {
  messages: [message],
  model: `${runId}-no-model`,
  temperature: 1,
  max_completion_tokens: 5,
  top_p: 0.9,
  seed: 1,
  n: 1,
}

export function goodRequest(id: OperationId): CallOptions {
  const entity = home.entity
  const artifact = { entity, project, name: `${runId}-nothing` }
  const version = { ...artifact, version: 'v0' }
  const scorers = { entity, project }
  const webhook = { entity, webhook_id: unknownId }
  const requests: Record<OperationId, CallOptions> = {
    getHealth: {},
    getSystemCheck: {},
    createChatCompletion: { body: chat },
    createChatCompletionSlash: { body: chat },
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
    getScorer: { path: { ...scorers, object_id: `${runId}-nothing`, digest: 'abc' } },
  }
  return requests[id]
}
