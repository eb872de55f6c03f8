import pc from 'picocolors'
import type { Client } from '../../generated/client.ts'
import { askAll } from './ask.ts'
import { toChartLine, toDuration, toTable } from './chart.ts'
import { getNewestCheckpoint } from './newest-checkpoint.ts'
import { type ReinforcePlan, runReinforcement } from './reinforce.ts'
import type { Screen } from './screen.ts'
import { BEST_REWARD, PROMPTS, toReward } from './yes-no-maybe.ts'

const PLAN: ReinforcePlan = { jobs: 20, promptsPerJob: 24, answersPerPrompt: 8, learningRate: 5e-4, enough: 0.98 }

/** Asked before and after; the last two have nothing to do with what was paid for. */
const SHOWN_PROMPTS = [PROMPTS[0]!, PROMPTS[16]!, PROMPTS[42]!, 'Hello!', 'What is the capital of France?']

/** Teaches a new model by rewards alone, drawing the mean reward of each step, and shows its answers beside the base model's. */
export async function showReinforcement(
  client: Client,
  baseModel: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  const { promptsPerJob, answersPerPrompt, learningRate } = PLAN
  screen.print(pc.bold('Reinforcement learning: yes, no, maybe'))
  screen.print(
    `  Each step: ${promptsPerJob} prompts such as "${PROMPTS[0]}", ${answersPerPrompt} answers to each, one RL job`,
  )
  screen.print(
    `  (learning rate ${learningRate}). "yes" pays 0.5, "no" 0.75, "maybe" 1, anything else nothing; no prompt says so.`,
  )
  screen.print()
  const model = await client.createModel(
    { project: 'demo', name: 'yes-no-maybe', base_model: baseModel, return_existing: true },
    { signal },
  )
  for await (const step of runReinforcement(client, model, PLAN, screen.status, signal)) {
    const trained = step.trainedTokensPerSecond
    const details = [
      `${step.generatedTokensPerSecond.toFixed(0).padStart(5)} tokens/s rolled out`,
      trained === null ? ''.padEnd(22) : `${trained.toFixed(0).padStart(5)} tokens/s trained`,
      toDuration(step.elapsedMs),
    ]
    const label = `  step ${String(step.step).padStart(2)}`
    screen.print(toChartLine({ label, value: step.meanReward, most: BEST_REWARD, details }, pc.cyan))
  }
  screen.status('asking both models')
  const before = await askAll(client, baseModel, SHOWN_PROMPTS, signal)
  const { artifact } = await getNewestCheckpoint(client, model.id, signal)
  const after = await askAll(client, artifact, SHOWN_PROMPTS, signal)
  const rows = SHOWN_PROMPTS.map((prompt, index) => [
    prompt,
    before[index]!,
    after[index]!,
    toMark(prompt, after[index]!),
  ])
  screen.print()
  for (const line of toTable([
    ['  prompt', baseModel, 'tuned', ''],
    ...rows.map(row => [`  ${row[0]}`, ...row.slice(1)]),
  ])) {
    screen.print(line)
  }
  screen.print()
}

function toMark(prompt: string, answer: string): string {
  return PROMPTS.includes(prompt) ? `pays ${toReward(answer)}` : ''
}
