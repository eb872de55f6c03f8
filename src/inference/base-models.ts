/**
 * The list of base models: the built-in tiny-chat and every Hugging Face folder in MODELS_DIR.
 * A name from a request is looked up here and never joined to a path.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { components } from '../../generated/schema.d.ts'
import { SettingError } from '../config.ts'
import { packageRoot } from '../generate/package-paths.ts'
import { createExplanation } from '../spec/compile-schema.ts'
import { operationById } from '../spec/document.ts'
import { toValidationDetails } from '../spec/validation-detail.ts'
import { isObject } from '../training/json-values.ts'
import { type ReasoningMarks, readReasoningMarks } from './reasoning.ts'

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
  /** Null: a model that does not think before it speaks. */
  reasoning: ReasoningMarks | null
  /** Optimiser step size used where a job names none. */
  defaultLearningRate: number
  router: RouterModel
}

export type BaseModels = ReadonlyMap<string, BaseModel>

export const DEFAULT_BASE_MODEL = 'tiny-chat'

/** The learning rate of models that name none of their own (api-surface: decisions). */
const DEFAULT_LEARNING_RATE = 5e-6
const DEFAULT_CONTEXT_LENGTH = 2048
/** What every model here is sampled with, in the words that routers know. */
const SAMPLING_PARAMETERS =
  'temperature top_p top_k repetition_penalty frequency_penalty presence_penalty stop seed'.split(' ')
const NO_PRICING = { prompt: '0', completion: '0', image: '0', request: '0', input_cache_read: '0' }
const BUILT_IN_FOLDER = join(packageRoot, 'generated', DEFAULT_BASE_MODEL)

/** What `trainyard.json` in a model's folder may say: its router entry, each field optional, and its learning rate. */
type ModelCard = Partial<RouterModel> & { default_learning_rate?: number }

/**
 * Reads the base models of this deployment. A folder may stand one level deeper, under its owner's name, as on model hubs.
 * Throws a SettingError that names the file where a card or a config cannot be read.
 */
export function readBaseModels(modelsDir: string): BaseModels {
  const builtIn = readBaseModel(DEFAULT_BASE_MODEL, BUILT_IN_FOLDER)
  const own = modelsDir ? findModelFolders(resolve(modelsDir)) : []
  return new Map(
    [builtIn, ...own.map(({ name, folder }) => readBaseModel(name, folder))].map(model => [model.name, model]),
  )
}

function findModelFolders(root: string): { name: string; folder: string }[] {
  return readdirSync(root, { withFileTypes: true })
    .filter(entry => !entry.name.startsWith('.') && isFolder(join(root, entry.name)))
    .flatMap(({ name }) => {
      const folder = join(root, name)
      if (existsSync(join(folder, 'config.json'))) return [{ name, folder }]
      return readdirSync(folder)
        .filter(inner => !inner.startsWith('.') && existsSync(join(folder, inner, 'config.json')))
        .map(inner => ({ name: `${name}/${inner}`, folder: join(folder, inner) }))
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** A link that leads nowhere is none. */
function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function readBaseModel(name: string, folder: string): BaseModel {
  const cardFile = join(folder, 'trainyard.json')
  const card = readJson<ModelCard>(cardFile) ?? {}
  const config = readJson<{ max_position_embeddings?: number }>(join(folder, 'config.json')) ?? {}
  const { default_learning_rate, ...entry } = card
  const contextLength = entry.context_length ?? config.max_position_embeddings ?? DEFAULT_CONTEXT_LENGTH
  const created = entry.created ?? Math.floor(statSync(folder).mtimeMs / 1000)
  const defaultLearningRate = default_learning_rate ?? DEFAULT_LEARNING_RATE
  const reasoning = readReasoningMarks(folder)
  const router = {
    name,
    input_modalities: ['text'],
    output_modalities: ['text'],
    max_output_length: contextLength,
    supported_sampling_parameters: SAMPLING_PARAMETERS,
    supported_features: ['json_mode', 'structured_outputs', ...(reasoning ? ['reasoning'] : [])],
    datacenters: [],
    deprecation_date: null,
    ...entry,
    id: name,
    created,
    context_length: contextLength,
    pricing: { ...NO_PRICING, ...entry.pricing },
  }
  if (folder !== BUILT_IN_FOLDER) checkCard(cardFile, router, defaultLearningRate)
  return { name, folder, created, contextLength, reasoning, defaultLearningRate, router }
}

/** The entry is given to everybody as it is, so it must be what the contract says. */
function checkCard(file: string, router: RouterModel, learningRate: unknown): void {
  const { components } = operationById('listRouterModels')
  const errors = createExplanation({ $ref: '#/components/schemas/RouterModel' }, components)(router, true)
  const [fault] = toValidationDetails(errors, [])
  if (fault) throw new SettingError(`${file}: ${fault.loc.join('.')}: ${fault.msg}`)
  if (typeof learningRate !== 'number' || !(learningRate > 0)) {
    throw new SettingError(`${file}: default_learning_rate: must be a number above 0`)
  }
}

function readJson<Value extends object>(file: string): Value | null {
  if (!existsSync(file)) return null
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isObject(value)) throw new TypeError('it is no object')
    return value as Value
  } catch (error) {
    throw new SettingError(`${file} must hold a JSON object: ${(error as Error).message}`)
  }
}
