/**
 * Trains with the embedded engine as torch_training.py trains with PyTorch, with the same lines on stdin and stdout.
 *
 * Usage: onnx-training.ts MODEL_FOLDER ADAPTER_FOLDER|full THREADS ROWS LENGTH quiet|spinning
 */
import { createInterface } from 'node:readline'
import { readAdapter } from '../../src/onnx/adapter.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { sftOptimizer } from '../../src/onnx/optimizer.ts'
import { openFullProgram, openLoraProgram } from '../../src/onnx/train-program.ts'
import { createTrainer, type Trainer } from '../../src/onnx/trainer.ts'
import { readParameters } from '../../src/onnx/weights.ts'
import type { PackedRow } from '../../src/training/rows.ts'

const LEARNING_RATE = 1e-4

const [folder = '', adapterFolder = '', threads, rowCount, rowLength, waiting] = process.argv.slice(2)
const config = readModelConfig(folder)
const shape = { rows: Number(rowCount), length: Number(rowLength) }
const settings = { threads: Number(threads), spinning: waiting === 'spinning' }

const trainer = await openTrainer()
const rows = Array.from({ length: shape.rows }, toRow)
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const start = performance.now()
  let steps = 0
  for (; steps === 0 || performance.now() - start < Number(line) * 1000; steps++)
    await trainer.step(rows, LEARNING_RATE)
  process.stdout.write(`${(steps * shape.rows * shape.length) / ((performance.now() - start) / 1000)}\n`)
}

async function openTrainer(): Promise<Trainer> {
  if (adapterFolder === 'full') {
    const parameters = readParameters(folder)
    const program = await openFullProgram(config, parameters, shape, { type: 'sft' }, settings)
    return createTrainer(program, parameters, sftOptimizer)
  }
  const adapter = readAdapter(adapterFolder, config)
  const program = await openLoraProgram(folder, adapter, shape, { type: 'sft' }, settings)
  return createTrainer(program, adapter.factors, sftOptimizer)
}

/** One sequence of random tokens that fills the row; every token but the first is learnt. */
function toRow(): PackedRow {
  const { length } = shape
  const ids = Int32Array.from({ length }, () => Math.floor(Math.random() * config.vocabularySize))
  const target = Int32Array.from(ids, (_, index) => ids[index + 1] ?? 0)
  const weight = Float32Array.from(ids, (_, index) => (index < length - 1 ? 1 : 0))
  return {
    length,
    ids,
    target,
    weight,
    advantage: weight,
    oldLogprob: new Float32Array(length).fill(Number.NaN),
    sequence: new Int32Array(length),
    position: Int32Array.from(ids, (_, index) => index),
    trainableTokens: length - 1,
    trajectories: 1,
  }
}
