import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readAdapter } from '../../src/onnx/adapter.ts'
import type { Objective } from '../../src/onnx/losses.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { rlOptimizer, sftOptimizer } from '../../src/onnx/optimizer.ts'
import { openFullProgram, openLoraProgram } from '../../src/onnx/train-program.ts'
import { createTrainer } from '../../src/onnx/trainer.ts'
import { readParameters } from '../../src/onnx/weights.ts'
import { fixtureModels, fixtures, gradientError, quiet, readGolden, readVariants, relativeError } from './golden.ts'
import { rowOf } from './rows.ts'

const TOLERANCE = 1e-4

async function openTuned(model: string, objective: Objective, rows = 1) {
  const folder = join(fixtures, model)
  const adapter = readAdapter(join(folder, 'adapter'), readModelConfig(folder))
  const program = await openLoraProgram(folder, adapter, { rows, length: 32 }, objective, quiet)
  const trainer = createTrainer(program, adapter.factors, objective.type === 'rl' ? rlOptimizer : sftOptimizer)
  return { trainer, adapter }
}

describe.each(fixtureModels)('%s equals PyTorch', model => {
  const golden = readGolden(model)

  test('full fine-tune: log-probabilities, loss and gradients', async () => {
    const folder = join(fixtures, model)
    const parameters = readParameters(folder)
    const config = readModelConfig(folder)
    const program = await openFullProgram(config, parameters, { rows: 1, length: 32 }, { type: 'sft' }, quiet)
    const trainer = createTrainer(program, parameters, sftOptimizer)
    const [logprobs] = await trainer.logprobs([golden.row])
    expect(trainedError(logprobs!, golden.floats('full.logprob'), golden.row.weight)).toBeLessThan(TOLERANCE)
    const { loss, gradients } = await trainer.gradients([golden.row])
    expect(relativeError(Float32Array.of(loss), golden.floats('full.loss'))).toBeLessThan(TOLERANCE)
    expect(gradientError(gradients, golden.gradients('full'))).toBeLessThan(TOLERANCE)
    await trainer.close()
  })

  test('adapter: log-probabilities, cross-entropy and gradients', async () => {
    const { trainer } = await openTuned(model, { type: 'sft' })
    const [logprobs] = await trainer.logprobs([golden.row])
    expect(trainedError(logprobs!, golden.floats('lora.logprob'), golden.row.weight)).toBeLessThan(TOLERANCE)
    const { loss, gradients } = await trainer.gradients([golden.row])
    expect(relativeError(Float32Array.of(loss), golden.floats('sft.loss'))).toBeLessThan(TOLERANCE)
    expect(gradientError(gradients, golden.gradients('sft'))).toBeLessThan(TOLERANCE)
    await trainer.close()
  })

  test.each(readVariants())('policy loss $name: loss, entropy and gradients', async ({ name, config, isMissing }) => {
    const { trainer } = await openTuned(model, { type: 'rl', config })
    const old = golden.floats('old')
    const oldLogprob = old.map((value, index) =>
      golden.row.weight[index] === 0 || (isMissing && golden.row.sequence[index] === 1) ? Number.NaN : value,
    )
    const row = { ...golden.row, oldLogprob }
    const { loss, gradients } = await trainer.gradients([row])
    expect(relativeError(Float32Array.of(loss), golden.floats(`${name}.loss`))).toBeLessThan(TOLERANCE)
    expect(gradientError(gradients, golden.gradients(name))).toBeLessThan(TOLERANCE)
    const { entropy } = await trainer.step([row], 0)
    expect(entropy).toBeCloseTo(trainedMean(golden.floats('lora.entropy'), golden.row.weight), 4)
    await trainer.close()
  })
})

describe('steps', () => {
  test.each(fixtureModels)('equal those of AdamW with clipping in PyTorch: %s', async model => {
    const golden = readGolden(model)
    const { config } = readVariants().find(({ name }) => name === 'ppo')!
    const { trainer, adapter } = await openTuned(model, { type: 'rl', config })
    const row = { ...golden.row, oldLogprob: golden.floats('old') }
    for (const norm of golden.floats('adamw.norms')) {
      const { gradientNorm } = await trainer.step([row], 0.01)
      expect(Math.abs(gradientNorm / norm - 1)).toBeLessThan(TOLERANCE)
    }
    const factors = new Map([...adapter.factors].map(([name, { data }]) => [name, data]))
    // Adam divides by the gradient's own size: entries whose gradient is nearly 0 amplify the rounding of both sides
    expect(gradientError(factors, golden.gradients('adamw'))).toBeLessThan(10 * TOLERANCE)
    await trainer.close()
  })

  test('a packed row gives what its sequences give in rows of their own', async () => {
    const sequences = [
      { ids: [5, 6, 7, 8, 9], trainFrom: 2 },
      { ids: [50, 60, 70], trainFrom: 1, advantage: -1 },
      { ids: [9, 8, 7, 6, 5, 4], trainFrom: 4, weight: 0.5 },
    ]
    const config = { ...readVariants()[0]!.config, importanceSamplingLevel: 'sequence' as const }
    const { trainer } = await openTuned('tiny-llama', { type: 'rl', config })
    const packed = await trainer.gradients([rowOf(sequences, 32)])
    const apart = await trainer.gradients(sequences.map(sequence => rowOf([sequence], 32)))
    expect(apart.loss).toBeCloseTo(packed.loss, 5)
    expect(gradientError(apart.gradients, packed.gradients)).toBeLessThan(TOLERANCE)
    // and several rows in one run what they give one by one
    const { trainer: wide } = await openTuned('tiny-llama', { type: 'rl', config }, 2)
    const together = await wide.gradients(sequences.map(sequence => rowOf([sequence], 32)))
    expect(gradientError(together.gradients, packed.gradients)).toBeLessThan(TOLERANCE)
    await Promise.all([trainer.close(), wide.close()])
  })

  test('a gradient that is not finite stops the job and changes nothing', async () => {
    const { trainer, adapter } = await openTuned('tiny-llama', { type: 'sft' })
    const [first] = adapter.factors.values()
    const before = first!.data.slice()
    const row = rowOf([{ ids: [5, 6, 7], trainFrom: 1, weight: Number.POSITIVE_INFINITY }], 32)
    await expect(trainer.step([row], 0.01)).rejects.toThrow(/not finite at step 1/)
    expect(first!.data).toEqual(before)
    await trainer.close()
  })

  test('a row of another length is refused', async () => {
    const { trainer } = await openTuned('tiny-llama', { type: 'sft' })
    await expect(trainer.step([rowOf([], 16)], 0.01)).rejects.toThrow('A row has 16 tokens; the graph takes 32')
    await trainer.close()
  })
})

function trainedError(actual: Float32Array, expected: Float32Array, weight: Float32Array): number {
  const isTrained = (_: number, index: number) => (weight[index] as number) > 0
  return relativeError(actual.filter(isTrained), expected.filter(isTrained))
}

function trainedMean(values: Float32Array, weight: Float32Array): number {
  const trained = values.filter((_, index) => (weight[index] as number) > 0)
  return trained.reduce((sum, value) => sum + value, 0) / trained.length
}
