import { createRandomParameters } from '../../onnx/full-weights.ts'
import { toModelConfig } from '../../onnx/model-config.ts'
import { sftOptimizer } from '../../onnx/optimizer.ts'
import { openFullProgram } from '../../onnx/train-program.ts'
import { createTrainer, type Trainer } from '../../onnx/trainer.ts'
import type { Parameter } from '../../onnx/weights.ts'
import type { Progress } from './progress.ts'
import { createRandom } from './random.ts'
import { createRows } from './rows.ts'
import { type StepShape, TRAINING } from './settings.ts'

/** The shape of step `index`, counted from 0. */
export function toStepShape(index: number): StepShape {
  const progress = index / TRAINING.steps
  return TRAINING.shapes.find(shape => progress >= shape.from && index % shape.every === shape.every - 1)!
}

/** Tokens of the whole run, padding included. */
export function countTokens(): number {
  return Array.from({ length: TRAINING.steps }, (_, index) => toStepShape(index)).reduce(
    (tokens, shape) => tokens + shape.rows * shape.length,
    0,
  )
}

/** Linear warm-up, then a cosine down to `finalShare` of the peak. */
export function toLearningRate(index: number): number {
  const { steps, warmUpSteps, peakLearningRate, finalShare } = TRAINING
  if (index < warmUpSteps) return (peakLearningRate * (index + 1)) / warmUpSteps
  const progress = (index - warmUpSteps) / (steps - warmUpSteps)
  return peakLearningRate * (finalShare + (1 - finalShare) * 0.5 * (1 + Math.cos(Math.PI * progress)))
}

/** Trains all weights from random ones, on fresh conversations at every step. */
export async function runPretraining(
  config: Record<string, unknown>,
  encode: (text: string) => number[],
  progress: Progress,
): Promise<Map<string, Parameter>> {
  const model = toModelConfig(config)
  const parameters = createRandomParameters(model, TRAINING.seed)
  const random = createRandom(TRAINING.seed)
  // every size of rows is a graph of its own; they share the weights and the optimizer's state
  const trainers = new Map<string, Trainer>()
  const toSize = ({ rows, length }: StepShape) => `${rows}x${length}`
  for (const shape of TRAINING.shapes) {
    if (trainers.has(toSize(shape))) continue
    const program = await openFullProgram(model, parameters, shape, { type: 'sft' }, TRAINING.session)
    const state = trainers.values().next().value?.optimizerState ?? null
    trainers.set(toSize(shape), createTrainer(program, parameters, sftOptimizer, state))
  }
  for (let index = 0; index < TRAINING.steps; index++) {
    const shape = toStepShape(index)
    const rows = createRows(random, encode, shape)
    const { loss } = await trainers.get(toSize(shape))!.step(rows, toLearningRate(index))
    progress.step(loss, shape.rows * shape.length)
  }
  progress.finish()
  for (const trainer of trainers.values()) await trainer.close()
  return parameters
}
