import type { Client, Output } from '../../generated/client.ts'
import { followJob } from './follow-job.ts'
import { getNewestCheckpoint } from './newest-checkpoint.ts'
import { runRollOut } from './roll-out.ts'
import { pickPrompts } from './yes-no-maybe.ts'

export interface ReinforcePlan {
  /** Most RL jobs. */
  jobs: number
  promptsPerJob: number
  answersPerPrompt: number
  learningRate: number
  /** The loop ends when the mean reward reaches it. */
  enough: number
  /** Draws the answers; left out, every run is another one. */
  seed?: number
}

/** What one roll-out showed of the checkpoint of this step, and what training on it took (null after the last one). */
export interface ReinforceStep {
  step: number
  meanReward: number
  answers: number
  generatedTokensPerSecond: number
  trainedTokensPerSecond: number | null
  elapsedMs: number
}

/** Seeds of a roll-out's prompts lie side by side; those of the next one start here. */
const SEED_STRIDE = 1000

/** Roll out, pay, train, and again with the new checkpoint: yields each step when its training is done. */
export async function* runReinforcement(
  client: Client,
  model: Output<'createModel'>,
  plan: ReinforcePlan,
  onStatus: (text: string) => void = () => {},
  signal?: AbortSignal,
): AsyncGenerator<ReinforceStep, void> {
  const started = performance.now()
  for (let step = 0; ; step++) {
    onStatus(`step ${step}: rolling out`)
    const rollOutStarted = performance.now()
    const { artifact } = await getNewestCheckpoint(client, model.id, signal)
    const prompts = pickPrompts(step, plan.promptsPerJob)
    const seed = plan.seed === undefined ? undefined : plan.seed + step * SEED_STRIDE
    const rollOut = await runRollOut(
      client,
      { model: artifact, prompts, answersPerPrompt: plan.answersPerPrompt, seed },
      signal,
    )
    const { groups, tokens, meanReward, answers } = rollOut
    const generatedTokensPerSecond = tokens / ((performance.now() - rollOutStarted) / 1000)
    const last = step === plan.jobs || meanReward >= plan.enough
    const trainedTokensPerSecond = last ? null : await train(step, groups)
    const elapsedMs = performance.now() - started
    yield { step, meanReward, answers, generatedTokensPerSecond, trainedTokensPerSecond, elapsedMs }
    if (last) return
  }

  async function train(step: number, groups: Awaited<ReturnType<typeof runRollOut>>['groups']): Promise<number> {
    onStatus(`step ${step}: training`)
    const { id } = await client.createRlTrainingJob(
      { model_id: model.id, trajectory_groups: groups, experimental_config: { learning_rate: plan.learningRate } },
      { signal },
    )
    const speeds: number[] = []
    await followJob(
      client,
      id,
      (data, steps) => {
        speeds.push(data.tokens_per_second ?? 0)
        onStatus(`step ${step}: training, gradient step ${speeds.length} of ${steps}`)
      },
      signal,
    )
    return speeds.reduce((sum, speed) => sum + speed, 0) / Math.max(1, speeds.length)
  }
}
