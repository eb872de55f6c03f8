/**
 * Finds a model's tensors in its folder: `model.safetensors`, or the shards that `model.safetensors.index.json` names.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { Graph, Value } from './graph.ts'
import { readFloats, readSafetensorsHeader, type StoredTensor, type StoredType } from './safetensors.ts'
import { cast } from './tensor-operations.ts'
import type { DataType } from './writer.ts'

export const WEIGHTS_FILE = 'model.safetensors'
const INDEX_FILE = 'model.safetensors.index.json'

const floatTypes: Partial<Record<StoredType, DataType>> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' }

export interface WeightIndex {
  /** The folder that the tensors' file names start from, free of links. */
  folder: string
  /** Every tensor of the model by its Hugging Face name. */
  tensors: Map<string, StoredTensor>
}

/**
 * Links are followed here, because onnxruntime refuses files outside the folder it is given, and download caches keep
 * the files elsewhere. Throws an Error naming file and rule.
 */
export function readWeightIndex(modelFolder: string): WeightIndex {
  const paths = weightFiles(modelFolder).map(file => realpathSync(join(modelFolder, file)))
  const folder = commonFolder(paths.map(dirname))
  const tensors = new Map<string, StoredTensor>()
  for (const path of paths) {
    const file = relative(folder, path).replaceAll(sep, '/')
    for (const [name, stored] of readSafetensorsHeader(path).tensors) tensors.set(name, { ...stored, file })
  }
  return { folder, tensors }
}

function weightFiles(modelFolder: string): string[] {
  if (existsSync(join(modelFolder, WEIGHTS_FILE))) return [WEIGHTS_FILE]
  const indexPath = join(modelFolder, INDEX_FILE)
  if (!existsSync(indexPath)) throw new Error(`${modelFolder} has neither ${WEIGHTS_FILE} nor ${INDEX_FILE}`)
  const { weight_map: files } = JSON.parse(readFileSync(indexPath, 'utf8')) as { weight_map?: Record<string, string> }
  if (!files) throw new Error(`${indexPath}: weight_map is missing`)
  for (const file of Object.values(files)) {
    if (file !== basename(file)) throw new Error(`${indexPath}: ${file} is not a file name within the folder`)
  }
  return [...new Set(Object.values(files))]
}

function commonFolder(folders: readonly string[]): string {
  let common = folders[0] ?? sep
  while (!folders.every(folder => folder === common || folder.startsWith(common + sep))) common = dirname(common)
  return common
}

/** The model's weights as values of a graph, made on first use. */
export interface GraphWeights {
  /** Throws an Error where the tensor is missing or has another shape. */
  get(name: string, shape: readonly number[]): Value
  has(name: string): boolean
}

/** Weights that stay in their files and do not train. */
export function createFrozenWeights(graph: Graph, { tensors }: WeightIndex): GraphWeights {
  const made = new Map<string, Value>()
  return {
    has: name => tensors.has(name),
    get(name, shape) {
      const known = made.get(name)
      if (known) return known
      const stored = tensors.get(name)
      if (!stored) throw new Error(`The model's files have no tensor ${name}`)
      if (stored.shape.join() !== shape.join()) {
        throw new Error(`${stored.file}: ${name} has shape [${stored.shape}], config.json asks for [${shape}]`)
      }
      const dtype = floatTypes[stored.dtype]
      if (!dtype) throw new Error(`${stored.file}: ${name} has type ${stored.dtype}, which is not a float type`)
      const external = graph.external(name, stored, dtype)
      const value = dtype === 'float32' ? external : cast(external, 'float32')
      made.set(name, value)
      return value
    },
  }
}

/** A trained array: a whole weight, or a factor of an adapter. */
export interface Parameter {
  name: string
  shape: number[]
  data: Float32Array
}

/** Weights that are inputs of the graph and train; `inputs` collects them in the order of first use. */
export function createTrainedWeights(
  graph: Graph,
  parameters: ReadonlyMap<string, Parameter>,
  inputs: Value[],
): GraphWeights {
  const made = new Map<string, Value>()
  return {
    has: name => parameters.has(name),
    get(name, shape) {
      const known = made.get(name)
      if (known) return known
      const parameter = parameters.get(name)
      if (!parameter) throw new Error(`The parameters lack ${name}`)
      if (parameter.shape.join() !== shape.join()) {
        throw new Error(`${name} has shape [${parameter.shape}], the configuration asks for [${shape}]`)
      }
      const value = graph.input(name, shape, 'float32', true)
      made.set(name, value)
      inputs.push(value)
      return value
    },
  }
}

/** All weights of the folder as 32-bit floats: where a full fine-tune starts. */
export function readParameters(modelFolder: string): Map<string, Parameter> {
  const { folder, tensors } = readWeightIndex(modelFolder)
  const parameters = new Map<string, Parameter>()
  for (const [name, stored] of tensors) {
    const data = readFloats(join(folder, stored.file), stored)
    parameters.set(name, { name, shape: stored.shape, data })
  }
  return parameters
}
