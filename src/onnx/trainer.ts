/**
 * Trains an adapter, or all weights, on packed rows.
 *
 *   full fine-tune, from scratch or from a folder:
 *     const config = toModelConfig(JSON.parse(...))                       // or readModelConfig(folder)
 *     const parameters = createRandomParameters(config, seed)             // or readParameters(folder)
 *     const program = await openFullProgram(config, parameters, { rows: 8, length: 256 }, { type: 'sft' }, settings)
 *     const trainer = createTrainer(program, parameters, sftOptimizer)
 *     for (const batch of batches) await trainer.step(batch, learningRate)  // batch: PackedRow[], all of that length
 *     writeModelWeights(join(folder, 'model.safetensors'), parameters, 'BF16')
 *     await trainer.close()
 *
 *   adapter:
 *     const adapter = readAdapter(adapterFolder, readModelConfig(modelFolder))
 *     const program = await openLoraProgram(modelFolder, adapter, { rows: 1, length: 512 }, objective, settings)
 *     const state = readOptimizerState(adapterFolder, 'rl', adapter.factors.values())
 *     const trainer = createTrainer(program, adapter.factors, rlOptimizer, state)
 *
 * The parameters' arrays are changed in place. A step's loss is the weighted sum over all its rows divided by the sum
 * of their `trainableTokens`; a batch of more rows than the graph takes is run in several parts whose gradients are
 * added.
 */
import type { PackedRow } from '../training/rows.ts'
import { createOptimizerState, type OptimizerSettings, type OptimizerState, optimizerStep } from './optimizer.ts'
import { floatsOf, toTensor } from './session.ts'
import { rowFeeds } from './train-feeds.ts'
import type { TrainProgram } from './train-program.ts'
import type { Parameter } from './weights.ts'

export interface StepResult {
  loss: number
  /** Before clipping. */
  gradientNorm: number
  /** Mean over the trainable tokens, in nats; null for SFT. */
  entropy: number | null
  trainableTokens: number
  tokensPerSecond: number
}

export interface Trainer {
  /**
   * One optimizer step on the rows, which have the program's length. Throws an Error where the gradient is not finite.
   */
  step(rows: readonly PackedRow[], learningRate: number): Promise<StepResult>
  /** Log-probability of every target under the parameters as they are now, in the order of the rows. */
  logprobs(rows: readonly PackedRow[]): Promise<Float32Array[]>
  /** Loss and gradients of the rows without a step, by parameter name. */
  gradients(rows: readonly PackedRow[]): Promise<{ loss: number; gradients: Map<string, Float32Array> }>
  readonly optimizerState: OptimizerState
  /** Frees the program's memory. */
  close(): Promise<void>
}

/** Keeps the loss of rows without trainable tokens at 0 instead of NaN. */
const TOKEN_COUNT_EPSILON = 1e-6

interface BatchResult {
  loss: number
  entropySum: number
  gradients: Float32Array[]
}

export function createTrainer(
  program: TrainProgram,
  parameters: ReadonlyMap<string, Parameter>,
  settings: OptimizerSettings,
  state: OptimizerState | null = null,
): Trainer {
  const trained = program.trainedNames.map(name => {
    const parameter = parameters.get(name)
    if (!parameter) throw new Error(`The parameters lack ${name}`)
    return parameter
  })
  const optimizerState = state ?? createOptimizerState(trained)
  const gradientNames = trained.map(({ name }) => `gradient:${name}`)
  const isRl = program.objective.type === 'rl'
  const stepOutputs = [...gradientNames, 'loss', ...(isRl ? ['entropy'] : [])]

  const run = (rows: readonly PackedRow[], scale: number, outputs: readonly string[]) => {
    const feeds = rowFeeds(rows, program.shape, isRl, scale)
    for (const { name, data, shape } of trained) feeds[name] = toTensor(data, shape)
    return program.session.run(feeds, outputs)
  }

  async function runBatch(rows: readonly PackedRow[]): Promise<BatchResult> {
    const scale = 1 / (countTrainable(rows) + TOKEN_COUNT_EPSILON)
    const total: BatchResult = { loss: 0, entropySum: 0, gradients: [] }
    for (const part of parts(rows, program.shape.rows)) {
      const outputs = await run(part, scale, stepOutputs)
      total.loss += floatsOf(outputs, 'loss')[0] as number
      if (isRl) total.entropySum += sumWhereTrained(floatsOf(outputs, 'entropy'), part)
      gradientNames.forEach((name, index) => {
        const gradient = floatsOf(outputs, name)
        const sum = total.gradients[index]
        if (!sum) total.gradients[index] = gradient
        else for (let entry = 0; entry < sum.length; entry++) sum[entry] += gradient[entry]
      })
    }
    return total
  }

  return {
    optimizerState,
    async step(rows, learningRate) {
      const start = performance.now()
      const { loss, entropySum, gradients } = await runBatch(rows)
      const gradientNorm = optimizerStep(trained, gradients, optimizerState, settings, learningRate)
      const trainableTokens = countTrainable(rows)
      const seconds = (performance.now() - start) / 1000
      return {
        loss,
        gradientNorm,
        entropy: isRl ? entropySum / (trainableTokens + TOKEN_COUNT_EPSILON) : null,
        trainableTokens,
        tokensPerSecond: countTokens(rows) / seconds,
      }
    },
    async logprobs(rows) {
      const found: Float32Array[] = []
      for (const part of parts(rows, program.shape.rows)) {
        const logprobs = floatsOf(await run(part, 1, ['logprob']), 'logprob')
        part.forEach((row, index) => {
          found.push(logprobs.slice(index * row.length, (index + 1) * row.length))
        })
      }
      return found
    },
    async gradients(rows) {
      const { loss, gradients } = await runBatch(rows)
      return { loss, gradients: new Map(trained.map(({ name }, index) => [name, gradients[index]])) }
    },
    close: () => program.session.release(),
  }
}

function parts<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )
}

const countTrainable = (rows: readonly PackedRow[]) => rows.reduce((count, row) => count + row.trainableTokens, 0)

function countTokens(rows: readonly PackedRow[]): number {
  return rows.reduce((count, row) => count + row.sequence.filter(number => number >= 0).length, 0)
}

function sumWhereTrained(values: Float32Array, rows: readonly PackedRow[]): number {
  let sum = 0
  rows.forEach((row, rowIndex) => {
    for (let index = 0; index < row.length; index++) {
      if (row.weight[index] > 0) sum += values[rowIndex * row.length + index]
    }
  })
  return sum
}
