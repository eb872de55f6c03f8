import pc from 'picocolors'
import type { Client } from '../../generated/client.ts'
import { askAll } from './ask.ts'
import { toChartLine, toDuration, toTable } from './chart.ts'
import { type FineTunePlan, runFineTune } from './fine-tune.ts'
import { getNewestCheckpoint } from './newest-checkpoint.ts'
import { PAIRS } from './question-answers.ts'
import type { Screen } from './screen.ts'

const PLAN: FineTunePlan = { pairs: PAIRS, epochs: 24, batchSize: 16, learningRate: 8e-3 }

/** Lines of the chart; each is the mean of as many gradient steps. */
const CHART_LINES = 16
const SHOWN_PAIRS = 5

/** Teaches a new model a few facts in one SFT job, drawing the falling loss, and shows its answers beside the base model's. */
export async function showFineTune(
  client: Client,
  baseModel: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  const { pairs, epochs, batchSize, learningRate } = PLAN
  screen.print(pc.bold('Supervised fine-tuning: who is who in eight made-up villages'))
  screen.print(
    `  One SFT job: ${pairs.length} questions and answers, ${epochs} epochs, ${batchSize} conversations to a gradient step,`,
  )
  screen.print(`  learning rate from ${learningRate} downwards. Drawn is the loss, in nats per token.`)
  screen.print()
  const model = await client.createModel(
    { project: 'demo', name: 'villages', base_model: baseModel, return_existing: true },
    { signal },
  )
  const questions = pairs.map(({ question }) => question)
  screen.status('asking the base model')
  const before = await askAll(client, baseModel, questions, signal)
  const chart = createLossChart(screen)
  await runFineTune(client, model, PLAN, chart, signal)
  screen.status('asking the tuned model')
  const { artifact } = await getNewestCheckpoint(client, model.id, signal)
  const after = await askAll(client, artifact, questions, signal)
  screen.print()
  const shown = questions
    .slice(0, SHOWN_PAIRS)
    .map((question, index) => [`  ${question}`, before[index]!, after[index]!])
  for (const line of toTable([['  question', baseModel, 'tuned'], ...shown])) screen.print(line)
  const countExact = (answers: string[]) => answers.filter((answer, index) => answer === pairs[index]!.answer).length
  screen.print()
  screen.print(
    `  Exact answers: ${countExact(before)} of ${pairs.length} before, ${pc.bold(String(countExact(after)))} after.`,
  )
  screen.print()
}

/** Takes gradient steps as they come and prints a line for every few of them. */
function createLossChart(screen: Screen): (data: Record<string, number>, steps: number) => void {
  const started = performance.now()
  let done = 0
  let most = 0
  let losses: number[] = []
  return (data, steps) => {
    done++
    losses.push(data.loss!)
    screen.status(`gradient step ${done} of ${steps}`)
    if (losses.length < Math.ceil(steps / CHART_LINES) && done < steps) return
    const value = losses.reduce((sum, loss) => sum + loss, 0) / losses.length
    most = Math.max(most, value)
    losses = []
    const label = `  gradient step ${String(done).padStart(String(steps).length)}`
    const details = [
      `${data.tokens_per_second!.toFixed(0).padStart(5)} tokens/s trained`,
      toDuration(performance.now() - started),
    ]
    screen.print(toChartLine({ label, value, most, details }, pc.yellow))
  }
}
