import type { Client, Input, Output } from '../../generated/client.ts'
import { toReward } from './yes-no-maybe.ts'

export type TrajectoryGroup = Input<'createRlTrainingJob'>['trajectory_groups'][number]
export type ChatChoice = Output<'createChatCompletion'>['choices'][number]

/** Enough for one of the words, and for a model that has not learnt to be brief to be told so by its reward. */
export const MAX_ANSWER_TOKENS = 16

export interface RollOutPlan {
  /** Name of the model in chat, such as artifact:///team/project/name. */
  model: string
  prompts: string[]
  /** Answers to each prompt; they are compared with each other, so that a group of one teaches nothing. */
  answersPerPrompt: number
  seed?: number
}

export interface RollOut {
  groups: TrajectoryGroup[]
  /** Over all answers. */
  meanReward: number
  answers: number
  /** Tokens that the model generated. */
  tokens: number
}

/** Lets the model answer every prompt several times at temperature 1, and pays each answer. */
export async function runRollOut(client: Client, plan: RollOutPlan, signal?: AbortSignal): Promise<RollOut> {
  const completions = await Promise.all(
    plan.prompts.map((content, index) =>
      client.createChatCompletion(
        {
          model: plan.model,
          messages: [{ role: 'user', content }],
          n: plan.answersPerPrompt,
          max_completion_tokens: MAX_ANSWER_TOKENS,
          temperature: 1,
          ...(plan.seed !== undefined && { seed: plan.seed + index }),
        },
        { signal },
      ),
    ),
  )
  const groups = completions.map(({ choices }, index) => toTrajectoryGroup(plan.prompts[index]!, choices))
  const tokens = completions.reduce((sum, { usage }) => sum + usage.completion_tokens, 0)
  return { groups, tokens, ...toRewardSummary(groups) }
}

/** All answers to one prompt as one group. A choice goes in as the chat completion gave it, log-probabilities and all. */
export function toTrajectoryGroup(prompt: string, choices: ChatChoice[]): TrajectoryGroup {
  return {
    trajectories: choices.map(choice => ({
      messages_and_choices: [
        { role: 'user' as const, content: prompt },
        { ...choice, message: { ...choice.message, role: 'assistant' as const } },
      ],
      reward: toReward(choice.message.content ?? ''),
    })),
  }
}

export function toRewardSummary(groups: TrajectoryGroup[]): { meanReward: number; answers: number } {
  const rewards = groups.flatMap(group => group.trajectories.map(({ reward = 0 }) => reward))
  return { meanReward: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length, answers: rewards.length }
}
