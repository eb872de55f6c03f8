/** Runs one training job: reads its data, trains the adapter on it step by step, writes the new adapter. */
import { basename } from 'node:path'
import type { RlTask, SftTask, TrainProgress, TrainTask } from '../training/engine.ts'
import { readRlRows } from '../training/rl-dataset.ts'
import type { PackedRow } from '../training/rows.ts'
import { readSftBatches } from '../training/sft-dataset.ts'
import { type Adapter, readAdapter, writeAdapter } from './adapter.ts'
import { ChatRenderer } from './chat-renderer.ts'
import type { Objective } from './losses.ts'
import { readModelConfig } from './model-config.ts'
import { createOptimizerState, type OptimizerState, rlOptimizer, sftOptimizer } from './optimizer.ts'
import { readOptimizerState, writeOptimizerState } from './optimizer-file.ts'
import type { ProgramCache } from './program-cache.ts'
import { createTrainer, type StepResult, type Trainer } from './trainer.ts'

export interface TrainContext {
  programs: ProgramCache
  onProgress: (progress: TrainProgress) => void
  signal: AbortSignal
}

type Metrics = Record<string, number>

/** Statistics of the whole job that its clients look for in every step. */
const REWARD_METRICS = ['reward', 'reward_std_dev', 'exception_rate', 'num_groups_submitted', 'num_groups_trainable']

/** Resolves with the checkpoint's metrics: the data's summary and the means of the steps. Throws DataError. */
export async function runTrainTask(task: TrainTask, context: TrainContext): Promise<Metrics> {
  const adapter = readAdapter(task.adapterFolder, readModelConfig(task.baseModelFolder))
  const factors = [...adapter.factors.values()]
  const stored = readOptimizerState(task.adapterFolder, task.type, factors)
  const state = stored ?? createOptimizerState(factors)
  const job = { adapter, state, steps: [] as Metrics[] }
  const summary = task.type === 'rl' ? await trainRl(task, job, context) : await trainSft(task, job, context)
  context.signal.throwIfAborted()
  writeAdapter(task.outputFolder, adapter, basename(task.baseModelFolder))
  if (state.steps > 0) writeOptimizerState(task.outputFolder, task.type, state, factors)
  return { ...toMeans(job.steps), ...summary, num_gradient_steps: job.steps.length }
}

interface Job {
  adapter: Adapter
  state: OptimizerState
  /** What was reported for each step. */
  steps: Metrics[]
}

async function trainRl(task: RlTask, job: Job, context: TrainContext): Promise<Metrics> {
  const { config } = task
  const renderer = new ChatRenderer(task.baseModelFolder)
  const { rows, summary } = await readRlRows(task.inputFile, renderer, config, task.seed)
  context.onProgress({ type: 'started', data: summary })
  const [first] = rows
  if (!first) return summary
  const { programs } = context
  const objective: Objective = { type: 'rl', config }
  const program = await programs.open(task.baseModelFolder, job.adapter, { rows: 1, length: first.length }, objective)
  const trainer = createTrainer(program, job.adapter.factors, rlOptimizer, job.state)
  if (config.precalculateLogprobs) await replaceOldLogprobs(trainer, rows, context.signal)
  const rewards = Object.fromEntries(Object.entries(summary).filter(([name]) => REWARD_METRICS.includes(name)))
  for (const row of rows) {
    context.signal.throwIfAborted()
    const result = await trainer.step([row], config.learningRate)
    const data = { ...rewards, policy_loss: result.loss, entropy: result.entropy ?? 0 }
    report({ ...data, ...toStepData(result, config.learningRate, row.trajectories) }, job, context)
  }
  return summary
}

/** What the current policy says of all rows before the first step takes the place of what was sampled. */
async function replaceOldLogprobs(trainer: Trainer, rows: readonly PackedRow[], signal: AbortSignal): Promise<void> {
  for (const row of rows) {
    signal.throwIfAborted()
    const [logprobs] = await trainer.logprobs([row])
    logprobs?.forEach((logprob, index) => {
      if (row.weight[index] > 0) row.oldLogprob[index] = logprob
    })
  }
}

async function trainSft(task: SftTask, job: Job, context: TrainContext): Promise<Metrics> {
  const renderer = new ChatRenderer(task.baseModelFolder)
  const { batches, summary } = await readSftBatches(task.inputFile, renderer, task.config, task.seed)
  context.onProgress({ type: 'started', data: summary })
  for (const { rows, learningRate, trajectories } of batches) {
    context.signal.throwIfAborted()
    const length = rows[0].length
    const shape = { rows: 1, length }
    const program = await context.programs.open(task.baseModelFolder, job.adapter, shape, { type: 'sft' })
    const trainer = createTrainer(program, job.adapter.factors, sftOptimizer, job.state)
    const result = await trainer.step(rows, learningRate)
    report({ loss: result.loss, ...toStepData(result, learningRate, trajectories) }, job, context)
  }
  return summary
}

function toStepData(result: StepResult, learningRate: number, trajectories: number): Metrics {
  return {
    grad_norm: result.gradientNorm,
    learning_rate: learningRate,
    num_trajectories: trajectories,
    num_trainable_tokens: result.trainableTokens,
    tokens_per_second: result.tokensPerSecond,
  }
}

function report(data: Metrics, job: Job, context: TrainContext): void {
  job.steps.push(data)
  context.onProgress({ type: 'step', data })
}

function toMeans(steps: readonly Metrics[]): Metrics {
  const names = Object.keys(steps[0] ?? {})
  return Object.fromEntries(names.map(name => [name, steps.reduce((sum, step) => sum + step[name], 0) / steps.length]))
}
