/** One base model ready to generate: its graphs, with and without adapter, opened on first use. */
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { type Adapter, factorNames } from './adapter.ts'
import { buildDecodeGraph } from './decode-graph.ts'
import { Graph } from './graph.ts'
import type { KvCache } from './kv-cache.ts'
import { linearLayers, MASKED_SCORE } from './model.ts'
import { type ModelConfig, readModelConfig } from './model-config.ts'
import { createSession, floatsOf, type SessionSettings, toTensor } from './session.ts'
import { createFrozenWeights, readWeightIndex, type WeightIndex } from './weights.ts'

/** Adapter factors as feeds of the graph with adapter. */
export type AdapterFeeds = Record<string, Tensor>

/** One sequence that is to grow. */
export interface Extension {
  /** Tokens that its slot holds. */
  done: number
  ids: readonly number[]
}

/** Models with fewer weights are small: what costs memory or time per operation is judged by this. */
const SMALL_MODEL_WEIGHTS = 50_000_000

export class Decoder {
  readonly config: ModelConfig
  /** Tokens of context. */
  readonly contextLength: number
  readonly #settings: SessionSettings
  readonly #index: WeightIndex
  readonly #isSmall: boolean
  /** Factors of zeros, with which large models run without adapter: a second graph would hold all weights once more. */
  readonly #noAdapter: AdapterFeeds | null
  readonly #sessions = new Map<boolean, Promise<InferenceSession>>()

  /** Reads config.json and the weights' headers; throws an Error where the model is not supported. */
  constructor(folder: string, contextLength: number, settings: SessionSettings, smallWeights = SMALL_MODEL_WEIGHTS) {
    this.config = readModelConfig(folder)
    this.contextLength = Math.min(contextLength, this.config.contextLength)
    this.#settings = settings
    this.#index = readWeightIndex(folder)
    let weights = 0
    for (const { shape } of this.#index.tensors.values()) weights += shape.reduce((product, size) => product * size, 1)
    this.#isSmall = weights < smallWeights
    this.#noAdapter = this.#isSmall
      ? null
      : toAdapterFeeds({ rank: 1, alpha: 1, targetModules: [], factors: new Map() }, this.config)
  }

  /**
   * Extends the sequences in the slots from `firstSlot` on by at least one token each and gives the logits
   * [rows, vocabulary] after the last token of each; with `every`, [tokens, vocabulary] after all new tokens, row after
   * row. The cache has room for all of them.
   */
  async extend(
    cache: KvCache,
    firstSlot: number,
    rows: readonly Extension[],
    adapter: AdapterFeeds | null,
    every = false,
  ): Promise<Float32Array> {
    const factors = adapter ?? this.#noAdapter
    const session = await this.#session(factors !== null)
    const length = rows.reduce((longest, { ids }) => Math.max(longest, ids.length), 0)
    const group = this.config.heads / this.config.keyValueHeads
    const outputs = await session.run({
      ...cache.feeds(firstSlot, rows.length),
      ...tokenFeeds(rows, length, cache.positions, group, every),
      ...factors,
    })
    cache.store(outputs, firstSlot, rows, length)
    return floatsOf(outputs, 'logits')
  }

  #session(hasLora: boolean): Promise<InferenceSession> {
    const known = this.#sessions.get(hasLora)
    if (known) return known
    const opened = this.#open(hasLora)
    this.#sessions.set(hasLora, opened)
    // what failed may work later, such as a file that was still being copied
    opened.catch(() => this.#sessions.delete(hasLora))
    return opened
  }

  async #open(hasLora: boolean): Promise<InferenceSession> {
    const graph = new Graph()
    buildDecodeGraph(graph, this.config, createFrozenWeights(graph, this.#index), hasLora, this.contextLength)
    // handing out the work of a small model would cost more than doing it
    const threads = this.#isSmall ? 1 : this.#settings.threads
    return await createSession(graph, { ...this.#settings, threads }, this.#index.folder)
  }
}

/**
 * Everything that a run needs beside cache and adapter. Rows shorter than `length` are filled up at their end, where no
 * token of their own looks.
 */
function tokenFeeds(
  rows: readonly Extension[],
  length: number,
  positions: number,
  group: number,
  every: boolean,
): Record<string, Tensor> {
  const batch = rows.length
  const tokens = new Int32Array(batch * length)
  const position = new BigInt64Array(batch * length)
  const pastMask = new Float32Array(batch * positions)
  const picked: number[] = []
  rows.forEach(({ done, ids }, row) => {
    tokens.set(ids, row * length)
    for (let index = 0; index < length; index++) {
      position[row * length + index] = BigInt(done + Math.min(index, ids.length - 1))
    }
    pastMask.fill(MASKED_SCORE, row * positions + done, (row + 1) * positions)
    for (let index = every ? 0 : ids.length - 1; index < ids.length; index++) picked.push(row * length + index)
  })
  const newMask = new Float32Array(group * length * length)
  for (let row = 0; row < group * length; row++) {
    newMask.fill(MASKED_SCORE, row * length + (row % length) + 1, (row + 1) * length)
  }
  return {
    ids: toTensor(tokens, [batch, length]),
    position: toTensor(position, [batch, length]),
    pastMask: toTensor(pastMask, [batch, 1, 1, positions]),
    newMask: toTensor(newMask, [group * length, length]),
    sizes: toTensor(BigInt64Array.of(BigInt(positions), BigInt(length)), [2]),
    picked: toTensor(Int32Array.from(picked), [picked.length]),
  }
}

/** Layers that the adapter leaves alone get factors of zeros, so that every adapter fits the one graph. */
export function toAdapterFeeds(adapter: Adapter, config: ModelConfig): AdapterFeeds {
  const { rank, alpha, factors } = adapter
  const scale = alpha / rank
  const feeds: AdapterFeeds = {}
  for (const [module, { group, inputs, outputs }] of Object.entries(linearLayers(config))) {
    for (let layer = 0; layer < config.layers; layer++) {
      const { a, b } = factorNames(`model.layers.${layer}.${group}.${module}`)
      const dataA = factors.get(a)?.data ?? new Float32Array(rank * inputs)
      const dataB = factors.get(b)?.data.map(entry => entry * scale) ?? new Float32Array(outputs * rank)
      feeds[a] = toTensor(dataA, [rank, inputs])
      feeds[b] = toTensor(dataB, [outputs, rank])
    }
  }
  return feeds
}
