/**
 * optimizer.safetensors beside an adapter: the optimizer's state, so that the next job of the same kind goes on from
 * it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { OptimizerState } from './optimizer.ts'
import { readFloats, readSafetensorsHeader, type TensorToStore, writeSafetensors } from './safetensors.ts'
import type { Parameter } from './weights.ts'

const OPTIMIZER_FILE = 'optimizer.safetensors'

export type JobKind = 'rl' | 'sft'

export function writeOptimizerState(
  folder: string,
  kind: JobKind,
  state: OptimizerState,
  parameters: Iterable<Parameter>,
): void {
  const tensors = new Map<string, TensorToStore>()
  for (const { name, shape } of parameters) {
    const moments = state.moments.get(name)
    if (!moments) throw new Error(`The optimizer has no state for ${name}`)
    tensors.set(`mean.${name}`, { shape, data: moments.mean })
    tensors.set(`square.${name}`, { shape, data: moments.square })
  }
  writeSafetensors(join(folder, OPTIMIZER_FILE), tensors, { kind, steps: String(state.steps) })
}

/** The state in the folder, or null where there is none, or it is of the other kind or of other parameters. */
export function readOptimizerState(
  folder: string,
  kind: JobKind,
  parameters: Iterable<Parameter>,
): OptimizerState | null {
  const path = join(folder, OPTIMIZER_FILE)
  if (!existsSync(path)) return null
  const { tensors, metadata } = readSafetensorsHeader(path)
  if (metadata['kind'] !== kind) return null
  const moments: OptimizerState['moments'] = new Map()
  for (const { name, shape } of parameters) {
    const mean = tensors.get(`mean.${name}`)
    const square = tensors.get(`square.${name}`)
    if (mean?.shape.join() !== shape.join() || square?.shape.join() !== shape.join()) return null
    moments.set(name, { mean: readFloats(path, mean), square: readFloats(path, square) })
  }
  return { steps: Number(metadata['steps']), moments }
}
