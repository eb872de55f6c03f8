/** What PyTorch, transformers and PEFT computed on the fixture models; made by goldens/make_goldens.py. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PolicyConfig } from '../../src/onnx/losses.ts'
import { readFloats, readIntegers, readSafetensorsHeader } from '../../src/onnx/safetensors.ts'
import type { PackedRow } from '../../src/training/rows.ts'

export const fixtures = join(import.meta.dirname, '..', 'fixtures', 'onnx')
export const fixtureModels = ['tiny-llama', 'tiny-qwen2']
export const quiet = { threads: 1, spinning: false }

export interface Golden {
  floats(name: string): Float32Array
  integers(name: string): Int32Array
  /** Gradients by parameter name. */
  gradients(prefix: string): Map<string, Float32Array>
  row: PackedRow
}

export function readGolden(model: string): Golden {
  const path = join(fixtures, model, 'golden.safetensors')
  const { tensors } = readSafetensorsHeader(path)
  const stored = (name: string) => {
    const tensor = tensors.get(name)
    if (!tensor) throw new Error(`${path} lacks ${name}`)
    return tensor
  }
  const floats = (name: string) => readFloats(path, stored(name))
  const integers = (name: string) => readIntegers(path, stored(name)) as Int32Array
  const names = (prefix: string) => [...tensors.keys()].filter(name => name.startsWith(`${prefix}.gradient.`))
  const weight = floats('row.weight')
  const row: PackedRow = {
    length: weight.length,
    ids: integers('row.ids'),
    target: integers('row.target'),
    weight,
    advantage: floats('row.advantage'),
    oldLogprob: new Float32Array(weight.length).fill(Number.NaN),
    sequence: integers('row.sequence'),
    position: integers('row.position'),
    trainableTokens: weight.filter(entry => entry > 0).length,
    trajectories: 3,
  }
  const gradients = (prefix: string) =>
    new Map(names(prefix).map(name => [name.slice(`${prefix}.gradient.`.length), floats(name)]))
  return { floats, integers, gradients, row }
}

interface Variant {
  ppo: boolean
  epsilon: number
  epsilonHigh: number
  cap: number | null
  mask: boolean
  tau: number | null
  level: PolicyConfig['importanceSamplingLevel']
  missing: boolean
}

export function readVariants(): { name: string; config: PolicyConfig; isMissing: boolean }[] {
  const variants = JSON.parse(readFileSync(join(fixtures, 'variants.json'), 'utf8')) as Record<string, Variant>
  return Object.entries(variants).map(([name, variant]) => ({
    name,
    isMissing: variant.missing,
    config: {
      ppo: variant.ppo,
      epsilon: variant.epsilon,
      epsilonHigh: variant.epsilonHigh,
      maskProbRatio: variant.mask,
      maxNegativeAdvantageImportanceSamplingWeight: variant.cap,
      k2Tau: variant.tau,
      importanceSamplingLevel: variant.level,
    },
  }))
}

/** Largest difference of any entry, relative to the largest entry expected. */
export function relativeError(actual: Float32Array, expected: Float32Array): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY
  let difference = 0
  let largest = 0
  expected.forEach((value, index) => {
    const error = Math.abs(value - (actual[index] as number))
    difference = Math.max(difference, Number.isNaN(error) ? Number.POSITIVE_INFINITY : error)
    largest = Math.max(largest, Math.abs(value))
  })
  return difference / (largest || 1)
}

/** The largest relative error of any gradient; infinite where the names differ. */
export function gradientError(actual: Map<string, Float32Array>, expected: Map<string, Float32Array>): number {
  if (actual.size !== expected.size) return Number.POSITIVE_INFINITY
  return Math.max(
    ...[...expected].map(([name, gradient]) => relativeError(actual.get(name) ?? new Float32Array(), gradient)),
  )
}
