/**
 * The list of base models: the built-in tiny-chat and every Hugging Face folder in MODELS_DIR.
 * A name from a request is looked up here and never joined to a path.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { components } from '../../generated/schema.d.ts'
import { packageRoot } from '../spec/document.ts'

type RouterModel = components['schemas']['RouterModel']

export interface BaseModel {
  /** The name clients use, such as `tiny-chat` or `Qwen2.5-0.5B-Instruct`. */
  name: string
  /** Absolute path of the Hugging Face folder. */
  folder: string
  /** Unix seconds. */
  created: number
  /** Tokens of context. */
  contextLength: number
  /** Optimiser step size used where a job names none. */
  defaultLearningRate: number
  router: RouterModel
}

export type BaseModels = ReadonlyMap<string, BaseModel>

export const DEFAULT_BASE_MODEL = 'tiny-chat'

/** The learning rate of models that name none of their own (api-surface: decisions). */
const DEFAULT_LEARNING_RATE = 5e-6
const DEFAULT_CONTEXT_LENGTH = 2048

/** What `trainyard.json` in a model's folder may say: its router entry, each field optional, and its learning rate. */
type ModelCard = Partial<RouterModel> & { default_learning_rate?: number }

/**
 * Reads the base models of this deployment. A folder may stand one level deeper, under its owner's name, as on model hubs.
 * Throws when a card or a config is not JSON.
 */
export function readBaseModels(modelsDir: string): BaseModels {
  const builtIn = readBaseModel(DEFAULT_BASE_MODEL, join(packageRoot, 'generated', DEFAULT_BASE_MODEL))
  const own = modelsDir ? findModelFolders(resolve(modelsDir)) : []
  return new Map(
    [builtIn, ...own.map(({ name, folder }) => readBaseModel(name, folder))].map(model => [model.name, model]),
  )
}

function findModelFolders(root: string): { name: string; folder: string }[] {
  return readdirSync(root, { withFileTypes: true })
    .filter(entry => !entry.name.startsWith('.') && statSync(join(root, entry.name)).isDirectory())
    .flatMap(({ name }) => {
      const folder = join(root, name)
      if (existsSync(join(folder, 'config.json'))) return [{ name, folder }]
      return readdirSync(folder)
        .filter(inner => existsSync(join(folder, inner, 'config.json')))
        .map(inner => ({ name: `${name}/${inner}`, folder: join(folder, inner) }))
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

function readBaseModel(name: string, folder: string): BaseModel {
  const card = readJson<ModelCard>(join(folder, 'trainyard.json')) ?? {}
  const config = readJson<{ max_position_embeddings?: number }>(join(folder, 'config.json')) ?? {}
  const { default_learning_rate, ...entry } = card
  const contextLength = entry.context_length ?? config.max_position_embeddings ?? DEFAULT_CONTEXT_LENGTH
  const created = entry.created ?? Math.floor(statSync(folder).mtimeMs / 1000)
  return {
    name,
    folder,
    created,
    contextLength,
    defaultLearningRate: default_learning_rate ?? DEFAULT_LEARNING_RATE,
    router: {
      name,
      input_modalities: ['text'],
      output_modalities: ['text'],
      max_output_length: contextLength,
      pricing: { prompt: '0', completion: '0', image: '0', request: '0', input_cache_read: '0' },
      supported_sampling_parameters: ['temperature', 'top_p', 'top_k', 'stop', 'seed'],
      supported_features: [],
      datacenters: [],
      deprecation_date: null,
      ...entry,
      id: name,
      created,
      context_length: contextLength,
    },
  }
}

function readJson<Value>(file: string): Value | null {
  if (!existsSync(file)) return null
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Value
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`)
  }
}
