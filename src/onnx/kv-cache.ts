/**
 * Keys and values of the sequences being generated, one slot each. Slots and positions grow in powers of two, so that
 * an idle engine holds little. A slot is one span of memory, so a sequence can be computed alone or with others, in
 * place.
 */
import type { Tensor } from 'onnxruntime-node'
import { cacheNames, newName } from './decode-graph.ts'
import type { ModelConfig } from './model-config.ts'
import { floatsOf, toTensor } from './session.ts'

const FIRST_POSITIONS = 64

export class KvCache {
  readonly #names: string[]
  readonly #heads: number
  readonly #headSize: number
  readonly #arrays = new Map<string, Float32Array>()
  #slots = 0
  #positions = 0

  constructor(config: ModelConfig) {
    this.#names = Array.from({ length: config.layers }, (_, layer) => cacheNames(layer)).flat()
    this.#heads = config.keyValueHeads
    this.#headSize = config.headSize
  }

  /** Tokens that a slot has room for. */
  get positions(): number {
    return this.#positions
  }

  /** Makes room for that many slots of that many positions; what is stored stays. */
  reserve(slots: number, positions: number): void {
    if (slots <= this.#slots && positions <= this.#positions) return
    const newSlots = Math.max(this.#slots, ceilingPowerOfTwo(slots))
    const newPositions = Math.max(this.#positions, FIRST_POSITIONS, ceilingPowerOfTwo(positions))
    const oldStride = this.#positions * this.#headSize
    const newStride = newPositions * this.#headSize
    for (const name of this.#names) {
      const grown = new Float32Array(newSlots * this.#heads * newStride)
      const old = this.#arrays.get(name)
      for (let head = 0; old && head < this.#slots * this.#heads; head++) {
        grown.set(old.subarray(head * oldStride, (head + 1) * oldStride), head * newStride)
      }
      this.#arrays.set(name, grown)
    }
    this.#slots = newSlots
    this.#positions = newPositions
  }

  /** Slots `first` to `first + count - 1` as feeds over the cache's own memory. */
  feeds(first: number, count: number): Record<string, Tensor> {
    const size = this.#slotSize()
    const shape = [count, this.#heads, this.#positions, this.#headSize]
    const tensors = [...this.#arrays].map(([name, array]) => {
      return [name, toTensor(array.subarray(first * size, (first + count) * size), shape)] as const
    })
    return Object.fromEntries(tensors)
  }

  /** Stores what a run gave for `length` new tokens of each slot from `first` on; `starts` are their places. */
  store(outputs: Record<string, Tensor>, first: number, starts: readonly number[], length: number): void {
    const span = length * this.#headSize
    for (const [name, array] of this.#arrays) {
      const added = floatsOf(outputs, newName(name))
      starts.forEach((start, row) => {
        for (let head = 0; head < this.#heads; head++) {
          const from = (row * this.#heads + head) * span
          const to = (((first + row) * this.#heads + head) * this.#positions + start) * this.#headSize
          array.set(added.subarray(from, from + span), to)
        }
      })
    }
  }

  copySlot(from: number, to: number): void {
    const size = this.#slotSize()
    for (const array of this.#arrays.values()) array.copyWithin(to * size, from * size, (from + 1) * size)
  }

  #slotSize(): number {
    return this.#heads * this.#positions * this.#headSize
  }
}

const ceilingPowerOfTwo = (count: number) => 2 ** Math.ceil(Math.log2(count))
