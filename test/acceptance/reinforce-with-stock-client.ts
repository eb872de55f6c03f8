/** The yes-no-maybe loop with nothing of this project in between: the stock OpenAI client for chat, plain `fetch` for jobs. */
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { pickPrompts, toReward } from '../../src/demo/yes-no-maybe.ts'
import type { Target } from './target.ts'

export interface SeedPlan {
  seed: number
  /** Most RL jobs. */
  jobs: number
  promptsPerJob: number
  answersPerPrompt: number
  learningRate: number
  /** The mean reward at which the run ends. */
  enough: number
}

export interface SeedResult {
  /** Mean reward of the roll-out before the first job, after the first, and so on: one more than jobs. */
  rewards: number[]
  seconds: number
}

const MAX_ANSWER_TOKENS = 100
const POLL_MS = 150
const SEED_STRIDE = 1000

export async function reinforceWithStockClient(
  target: Target,
  plan: SeedPlan,
  onRollOut: (reward: number, jobs: number) => void = () => {},
): Promise<SeedResult> {
  const openai = new OpenAI({ baseURL: `${target.url}/v1`, apiKey: target.apiKey })
  const started = performance.now()
  const name = `seed-${plan.seed}-${Date.now()}`
  const model = await call(target, 'POST', '/v1/preview/models', {
    project: 'yes-no-maybe',
    name,
    base_model: 'tiny-chat',
  })
  const chatName = `wandb-artifact:///${model.entity}/${model.project}/${model.name}`
  const rewards: number[] = []
  for (;;) {
    const groups = await rollOut(openai, chatName, plan, rewards.length)
    rewards.push(toMeanReward(groups))
    onRollOut(rewards.at(-1)!, rewards.length - 1)
    const ended = rewards.at(-1)! >= plan.enough || rewards.length > plan.jobs
    if (ended) return { rewards, seconds: (performance.now() - started) / 1000 }
    await train(target, {
      model_id: model.id,
      trajectory_groups: groups,
      experimental_config: { learning_rate: plan.learningRate },
    })
  }
}

type Group = { trajectories: { messages_and_choices: unknown[]; reward: number }[] }

async function rollOut(openai: OpenAI, model: string, plan: SeedPlan, job: number): Promise<Group[]> {
  const prompts = pickPrompts(job, plan.promptsPerJob)
  return Promise.all(
    prompts.map(async (content, index) => {
      const message = { role: 'user' as const, content }
      const { choices } = await openai.chat.completions.create({
        model,
        messages: [message],
        n: plan.answersPerPrompt,
        max_tokens: MAX_ANSWER_TOKENS,
        seed: (plan.seed * plan.jobs + job) * SEED_STRIDE + index,
      })
      const trajectories = choices.map(choice => ({
        messages_and_choices: [message, choice],
        reward: toReward(choice.message.content ?? ''),
      }))
      return { trajectories }
    }),
  )
}

function toMeanReward(groups: Group[]): number {
  const rewards = groups.flatMap(({ trajectories }) => trajectories.map(({ reward }) => reward))
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
}

/** Sends one RL job and waits for the event that ends it. */
async function train(target: Target, body: object): Promise<void> {
  const { id } = await call(target, 'POST', '/v1/preview/training-jobs', body)
  for (let after = ''; ; ) {
    const page = await call(
      target,
      'GET',
      `/v1/preview/training-jobs/${id}/events?limit=100${after && `&after=${after}`}`,
    )
    for (const { type, data } of page.data) {
      if (type === 'training_ended') return
      if (type === 'training_failed') throw new Error(`the job failed: ${data.error_message}`)
    }
    after = page.last_id || after
    if (!page.has_more) await sleep(POLL_MS)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a client without the contract's types, as plain HTTP is
async function call(target: Target, method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(target.url + path, {
    method,
    headers: { authorization: `Bearer ${target.apiKey}`, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
