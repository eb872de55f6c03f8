/**
 * Whether reinforcement learning works, as an outsider would find out:
 *
 *     node test/acceptance/yes-no-maybe.ts [--seeds 5] [--base-url URL --api-key KEY]
 *
 * Passes when at least four fifths of the seeds go from a mean reward below 0.85 to at least 0.95 within 30 RL jobs.
 */
import { parseArgs } from 'node:util'
import { reinforceWithStockClient, type SeedPlan, type SeedResult } from './reinforce-with-stock-client.ts'
import { openTarget, targetOptions } from './target.ts'

export const YES_NO_MAYBE: Omit<SeedPlan, 'seed'> = {
  jobs: 30,
  promptsPerJob: 24,
  answersPerPrompt: 8,
  learningRate: 1e-3,
  enough: 0.95,
}

const START_BELOW = 0.85
const NEEDED_SHARE = 0.8

export function isLearnt({ rewards }: SeedResult): boolean {
  return rewards[0]! < START_BELOW && rewards.at(-1)! >= YES_NO_MAYBE.enough
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { ...targetOptions, seeds: { type: 'string', default: '5' }, 'learning-rate': { type: 'string' } },
  })
  const plan = { ...YES_NO_MAYBE, ...(values['learning-rate'] && { learningRate: Number(values['learning-rate']) }) }
  const seeds = Number(values.seeds)
  const target = await openTarget(values)
  let learnt = 0
  try {
    const rollOuts = `${plan.promptsPerJob} prompts x ${plan.answersPerPrompt} answers`
    console.log(`${target.url}: ${rollOuts} per RL job, learning rate ${plan.learningRate}, at most ${plan.jobs} jobs`)
    for (let seed = 1; seed <= seeds; seed++) {
      const result = await reinforceWithStockClient(target, { ...plan, seed })
      if (isLearnt(result)) learnt++
      console.log(`seed ${seed}: ${toReport(result)}`)
    }
  } finally {
    await target.close()
  }
  const passed = learnt >= seeds * NEEDED_SHARE
  console.log(`${passed ? 'passed' : 'FAILED'}: ${learnt} of ${seeds} seeds learnt it`)
  if (!passed) process.exitCode = 1
}

function toReport(result: SeedResult): string {
  const { rewards, seconds } = result
  const course = rewards.map(reward => reward.toFixed(2)).join(' ')
  const outcome = isLearnt(result) ? 'learnt' : 'NOT learnt'
  return `${outcome} in ${rewards.length - 1} jobs and ${seconds.toFixed(1)} s (${course})`
}

if (import.meta.main) await main()
