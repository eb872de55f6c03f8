/** LoRA adapters as folders in the layout of PEFT: adapter_config.json and adapter_model.safetensors. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { linearLayers } from './model.ts'
import { type ModelConfig, readModelConfig } from './model-config.ts'
import { createRandom } from './random.ts'
import { readFloats, readSafetensorsHeader, writeSafetensors } from './safetensors.ts'
import type { Parameter } from './weights.ts'

export interface Adapter {
  rank: number
  /** The factors' product is scaled by alpha / rank. */
  alpha: number
  /** Names of linear layers, such as q_proj. */
  targetModules: string[]
  /** By names such as `model.layers.0.self_attn.q_proj.lora_A.weight`. */
  factors: Map<string, Parameter>
}

const CONFIG_FILE = 'adapter_config.json'
const TENSOR_FILE = 'adapter_model.safetensors'
/** PEFT's name of the wrapped model stands before every tensor. */
const NAME_PREFIX = 'base_model.model.'
/** What the open-source training client's local trainer uses. */
const DEFAULT_RANK = 8
const DEFAULT_ALPHA = 16

export const factorNames = (layerName: string) => ({
  a: `${layerName}.lora_A.weight`,
  b: `${layerName}.lora_B.weight`,
})

/** An adapter that changes nothing yet: A as PEFT draws it (uniform within 1 / sqrt(inputs)), B zero. */
export function createAdapter(config: ModelConfig, seed: number): Adapter {
  const random = createRandom(seed)
  const layers = linearLayers(config)
  const factors = new Map<string, Parameter>()
  for (let layer = 0; layer < config.layers; layer++) {
    for (const [module, { group, inputs, outputs }] of Object.entries(layers)) {
      const { a, b } = factorNames(`model.layers.${layer}.${group}.${module}`)
      const bound = 1 / Math.sqrt(inputs)
      const drawn = Float32Array.from({ length: DEFAULT_RANK * inputs }, () => (random() * 2 - 1) * bound)
      factors.set(a, { name: a, shape: [DEFAULT_RANK, inputs], data: drawn })
      factors.set(b, { name: b, shape: [outputs, DEFAULT_RANK], data: new Float32Array(outputs * DEFAULT_RANK) })
    }
  }
  return { rank: DEFAULT_RANK, alpha: DEFAULT_ALPHA, targetModules: Object.keys(layers), factors }
}

/** Writes an untrained adapter for the model in `modelFolder` into an existing folder. */
export function writeUntrainedAdapter(modelFolder: string, outputFolder: string, seed: number): void {
  writeAdapter(outputFolder, createAdapter(readModelConfig(modelFolder), seed), basename(modelFolder))
}

export function writeAdapter(folder: string, adapter: Adapter, baseModelName: string): void {
  const tensors = new Map([...adapter.factors].map(([name, factor]) => [NAME_PREFIX + name, factor]))
  writeSafetensors(join(folder, TENSOR_FILE), tensors, { format: 'pt' })
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModelName,
    r: adapter.rank,
    lora_alpha: adapter.alpha,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    target_modules: adapter.targetModules,
  }
  writeFileSync(join(folder, CONFIG_FILE), `${JSON.stringify(config, null, 2)}\n`)
}

/** Throws an Error that names the file and what is not supported or does not fit the model. */
export function readAdapter(folder: string, model: ModelConfig): Adapter {
  const configPath = join(folder, CONFIG_FILE)
  const json = JSON.parse(readFileSync(configPath, 'utf8')) as Record<string, unknown>
  for (const [key, plain] of [
    ['peft_type', 'LORA'],
    ['bias', 'none'],
    ['use_dora', false],
    ['use_rslora', false],
  ] as const) {
    if ((json[key] ?? plain) !== plain) throw new Error(`${configPath}: ${key} must be ${plain}, not ${json[key]}`)
  }
  const { r: rank, lora_alpha: alpha = rank } = json as { r: number; lora_alpha?: number }
  if (!Number.isSafeInteger(rank) || rank < 1) throw new Error(`${configPath}: r must be a whole number of at least 1`)
  const tensorPath = join(folder, TENSOR_FILE)
  const { tensors } = readSafetensorsHeader(tensorPath)
  const expected = expectedShapes(model, rank)
  const factors = new Map<string, Parameter>()
  for (const [storedName, stored] of tensors) {
    const name = storedName.startsWith(NAME_PREFIX) ? storedName.slice(NAME_PREFIX.length) : storedName
    const shape = expected.get(name)
    if (shape?.join() !== stored.shape.join()) {
      throw new Error(`${tensorPath}: ${storedName} with shape [${stored.shape}] does not fit the base model`)
    }
    factors.set(name, { name, shape: stored.shape, data: readFloats(tensorPath, stored) })
  }
  const modules = Object.keys(linearLayers(model))
  const targetModules = modules.filter(module => [...factors.keys()].some(name => name.includes(`.${module}.`)))
  return { rank, alpha, targetModules, factors }
}

function expectedShapes(model: ModelConfig, rank: number): Map<string, number[]> {
  const shapes = new Map<string, number[]>()
  for (const [module, { group, inputs, outputs }] of Object.entries(linearLayers(model))) {
    for (let layer = 0; layer < model.layers; layer++) {
      const { a, b } = factorNames(`model.layers.${layer}.${group}.${module}`)
      shapes.set(a, [rank, inputs])
      shapes.set(b, [outputs, rank])
    }
  }
  return shapes
}
