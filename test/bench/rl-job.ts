import { request } from './server-process.ts'

/** Makes a model to create jobs for. Resolves with its id. */
export async function createModel(url: string): Promise<string> {
  const body = { project: 'bench', name: 'bench', base_model: 'tiny-chat', return_existing: true }
  const { id } = await request<{ id: string }>('POST', `${url}/v1/preview/models`, body)
  return id
}

/** Its jobs go with it. */
export async function deleteModel(url: string, id: string): Promise<void> {
  await request('DELETE', `${url}/v1/preview/models/${id}`)
}

/** The body of an RL job of groups of four attempts, of about 2 KB a group. */
export function toRlJob(modelId: string, groups: number) {
  const group = {
    trajectories: [1, 0.75, 0.5, 0].map(toTrajectory),
    metadata: {},
    exceptions: [],
    metrics: {},
    logs: [],
  }
  return {
    model_id: modelId,
    trajectory_groups: Array.from({ length: groups }, () => group),
    experimental_config: { learning_rate: 1e-4, ppo: false },
  }
}

function toTrajectory(reward: number) {
  const token = { token: 'token_id:301', bytes: [109, 97, 121], logprob: -1.2039, top_logprobs: [] }
  const message = { role: 'assistant', content: 'maybe', refusal: null }
  const choice = {
    finish_reason: 'stop',
    index: 0,
    logprobs: { content: [token, token], refusal: null },
    message,
    token_ids: [301, 2],
  }
  return {
    messages_and_choices: [{ role: 'user', content: 'respond with yes, no or maybe' }, choice],
    reward,
    metrics: {},
    metadata: {},
    logs: [],
  }
}
