/**
 * Keys and values of the beginnings of prompts, kept for prompts that begin alike. They are kept in blocks of a few
 * tokens; a block is known by the one before it and its own tokens, so that beginnings share what they have in common.
 */
import { LRUCache } from 'lru-cache'
import type { KvCache } from './kv-cache.ts'

/** Tokens of one block: shorter beginnings are not kept. */
export const BLOCK_TOKENS = 16
const BYTES_PER_FLOAT = 4

interface Block {
  id: number
  entries: Float32Array
}

export class PrefixCache {
  readonly #blocks: LRUCache<string, Block> | null
  #lastId = 0

  /** Keeps no more than so many bytes of keys and values; 0: nothing. */
  constructor(maxBytes: number) {
    this.#blocks =
      maxBytes === 0
        ? null
        : new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ entries }) => entries.length * BYTES_PER_FLOAT })
  }

  /** The blocks of the longest beginning that is known in this scope, at least one token short of the prompt. */
  find(scope: string, ids: readonly number[]): Float32Array[] {
    const keys: string[] = []
    const found: Float32Array[] = []
    let parent = scope
    for (let end = BLOCK_TOKENS; end < ids.length; end += BLOCK_TOKENS) {
      const key = toKey(parent, ids, end)
      const block = this.#blocks?.get(key)
      if (!block) break
      keys.push(key)
      found.push(block.entries)
      parent = String(block.id)
    }
    this.#touch(keys)
    return found
  }

  /** Keeps the first `count` tokens of a sequence that is in a slot. */
  keep(scope: string, ids: readonly number[], count: number, cache: KvCache, slot: number): void {
    if (!this.#blocks) return
    const keys: string[] = []
    let parent = scope
    for (let end = BLOCK_TOKENS; end <= count; end += BLOCK_TOKENS) {
      const key = toKey(parent, ids, end)
      let block = this.#blocks.get(key)
      if (!block) {
        block = { id: ++this.#lastId, entries: cache.read(slot, end - BLOCK_TOKENS, BLOCK_TOKENS) }
        this.#blocks.set(key, block)
      }
      keys.push(key)
      parent = String(block.id)
    }
    this.#touch(keys)
  }

  /** A block without those before it is of no use: the first ones become the last to be dropped. */
  #touch(keys: readonly string[]): void {
    for (const key of keys.toReversed()) this.#blocks?.get(key)
  }
}

/** Ids are never given twice, so no block is ever taken for one that followed another. */
function toKey(parent: string, ids: readonly number[], end: number): string {
  return `${parent}:${ids.slice(end - BLOCK_TOKENS, end).join()}`
}
