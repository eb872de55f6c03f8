/**
 * Whether supervised fine-tuning works:
 *
 *     node test/acceptance/fine-tune.ts [--base-url URL --api-key KEY]
 *
 * Passes when, of 64 new questions, the base model answers none and the tuned one at least 95 percent exactly, and the loss falls.
 */
import { parseArgs } from 'node:util'
import { type Client, createClient } from '../../generated/client.ts'
import { askAll } from '../../src/demo/ask.ts'
import { type FineTunePlan, runFineTune } from '../../src/demo/fine-tune.ts'
import { getNewestCheckpoint } from '../../src/demo/newest-checkpoint.ts'
import { PAIRS } from '../../src/demo/question-answers.ts'
import { openTarget, targetOptions } from './target.ts'

export const FINE_TUNE: FineTunePlan = { pairs: PAIRS, epochs: 24, batchSize: 16, learningRate: 8e-3 }

export interface FineTuneResult {
  /** Shares of exact answers. */
  before: number
  after: number
  /** Mean loss of each epoch, in nats per token. */
  losses: number[]
  seconds: number
}

const NEEDED_SHARE = 0.95

export async function measureFineTune(client: Client, plan: FineTunePlan): Promise<FineTuneResult> {
  const { pairs, batchSize } = plan
  const model = await client.createModel({
    project: 'villages',
    name: `villages-${Date.now()}`,
    base_model: 'tiny-chat',
  })
  const measure = async () => {
    const { artifact } = await getNewestCheckpoint(client, model.id)
    const answers = await askAll(
      client,
      artifact,
      pairs.map(({ question }) => question),
    )
    return answers.filter((answer, index) => answer === pairs[index]!.answer).length / pairs.length
  }
  const before = await measure()
  const started = performance.now()
  const events = await runFineTune(client, model, plan)
  const seconds = (performance.now() - started) / 1000
  const losses = events.filter(({ type }) => type === 'gradient_step').map(({ data }) => data.loss!)
  return { before, after: await measure(), losses: toMeans(losses, pairs.length / batchSize), seconds }
}

export function isLearnt({ before, after, losses }: FineTuneResult): boolean {
  return before === 0 && after >= NEEDED_SHARE && losses.at(-1)! < losses[0]!
}

function toMeans(values: number[], size: number): number[] {
  const slices = Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size),
  )
  return slices.map(slice => slice.reduce((sum, value) => sum + value, 0) / slice.length)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ...targetOptions,
      epochs: { type: 'string' },
      'batch-size': { type: 'string' },
      'learning-rate': { type: 'string' },
    },
  })
  const plan = {
    ...FINE_TUNE,
    ...(values.epochs && { epochs: Number(values.epochs) }),
    ...(values['batch-size'] && { batchSize: Number(values['batch-size']) }),
    ...(values['learning-rate'] && { learningRate: Number(values['learning-rate']) }),
  }
  const target = await openTarget(values)
  try {
    console.log(
      `${plan.pairs.length} pairs, ${plan.epochs} epochs, batches of ${plan.batchSize}, learning rate ${plan.learningRate} falling to a tenth`,
    )
    const result = await measureFineTune(createClient({ baseUrl: target.url, apiKey: target.apiKey }), plan)
    const [before, after] = [result.before, result.after].map(share => `${(100 * share).toFixed(1)} %`)
    console.log(`loss by epoch: ${result.losses.map(loss => loss.toFixed(3)).join(' ')}`)
    console.log(
      `${isLearnt(result) ? 'passed' : 'FAILED'}: exact answers from ${before} to ${after}, training took ${result.seconds.toFixed(1)} s`,
    )
    if (!isLearnt(result)) process.exitCode = 1
  } finally {
    await target.close()
  }
}

if (import.meta.main) await main()
