/**
 * Keys and values of the sequences being generated, one slot each. Slots and positions grow as they are needed, so that
 * an idle engine holds little. A slot is one span of memory, so a sequence can be computed alone or with others, in
 * place.
 */
import type { Tensor } from 'onnxruntime-node'
import { cacheNames, newName } from './decode-graph.ts'
import type { Extension } from './decoder.ts'
import type { ModelConfig } from './model-config.ts'
import { floatsOf, toTensor } from './session.ts'

/** Positions come in steps of so many, and of a quarter of their number where that is more. */
const LEAST_STEP = 64

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
    const newPositions = Math.max(this.#positions, roomFor(positions))
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

  /** Stores what a run gave for the new tokens of each slot from `first` on, in rows of `length` tokens. */
  store(outputs: Record<string, Tensor>, first: number, rows: readonly Extension[], length: number): void {
    const span = length * this.#headSize
    for (const [name, array] of this.#arrays) {
      const added = floatsOf(outputs, newName(name))
      rows.forEach(({ done, ids }, row) => {
        for (let head = 0; head < this.#heads; head++) {
          const from = (row * this.#heads + head) * span
          array.set(added.subarray(from, from + ids.length * this.#headSize), this.#offset(first + row, head, done))
        }
      })
    }
  }

  /** Copies the first `length` tokens of a slot, of this cache or of another of the same model. */
  copySlot(from: number, to: number, length: number, source: KvCache = this): void {
    for (const [name, array] of this.#arrays) {
      const origin = source.#arrays.get(name) as Float32Array
      for (let head = 0; head < this.#heads; head++) {
        const start = source.#offset(from, head, 0)
        array.set(origin.subarray(start, start + length * this.#headSize), this.#offset(to, head, 0))
      }
    }
  }

  /** The keys and values of `length` tokens of a slot, one array after the other. */
  read(slot: number, start: number, length: number): Float32Array {
    const span = length * this.#headSize
    const block = new Float32Array(this.#arrays.size * this.#heads * span)
    this.#spans(slot, start).forEach(({ array, offset }, index) => {
      block.set(array.subarray(offset, offset + span), index * span)
    })
    return block
  }

  /** Puts into a slot what `read` gave. */
  write(slot: number, start: number, length: number, block: Float32Array): void {
    const span = length * this.#headSize
    this.#spans(slot, start).forEach(({ array, offset }, index) => {
      array.set(block.subarray(index * span, (index + 1) * span), offset)
    })
  }

  #spans(slot: number, start: number): { array: Float32Array; offset: number }[] {
    return [...this.#arrays.values()].flatMap(array =>
      Array.from({ length: this.#heads }, (_, head) => ({ array, offset: this.#offset(slot, head, start) })),
    )
  }

  #offset(slot: number, head: number, position: number): number {
    return ((slot * this.#heads + head) * this.#positions + position) * this.#headSize
  }

  #slotSize(): number {
    return this.#heads * this.#positions * this.#headSize
  }
}

/** Attention runs over empty positions too, so there are not many more than needed. */
function roomFor(positions: number): number {
  const step = Math.max(LEAST_STEP, ceilingPowerOfTwo(positions) / 8)
  return Math.ceil(positions / step) * step
}

const ceilingPowerOfTwo = (count: number) => 2 ** Math.ceil(Math.log2(count))
