/** What is generated together: the sequences of one base model under one adapter. */
import type { PromptLogprob } from '../inference/engine.ts'
import type { AdapterFeeds, Decoder } from './decoder.ts'
import { KvCache } from './kv-cache.ts'
import { Prefill, type PrefilledPrompt, type PrefillRequest } from './prefill.ts'
import type { PrefixCache } from './prefix-cache.ts'
import type { NextToken, SequenceGroup } from './sequence-group.ts'
import type { TokenTable } from './token-table.ts'

/** A request as lanes see it. */
export interface LaneRequest extends PrefillRequest {
  /** Most sequences that it will have at once. */
  slots: number
  /** Called once, when the prompt is computed and before the groups begin. */
  onPrompt(cachedTokens: number, logprobs: PromptLogprob[] | null): void
  begin(): SequenceGroup[]
  /** Called once for each group that finishes. */
  onEnd(): void
  /** The request as a whole cannot go on. */
  fail(error: Error): void
}

interface Running {
  request: LaneRequest
  group: SequenceGroup
  /** The slot of each sequence. */
  slots: number[]
  /** The last token of each, which is not in the cache yet. */
  tokens: number[]
  /** Tokens of each in the cache. */
  length: number
  /** These tokens, in a group of one sequence. */
  ids: number[]
}

export class Lane {
  readonly #decoder: Decoder
  readonly #adapter: AdapterFeeds | null
  readonly #prefixes: PrefixCache
  readonly #prefill: Prefill<LaneRequest>
  readonly #cache: KvCache
  readonly #running = new Set<Running>()
  /** Which sequence each slot holds. */
  readonly #slots: { running: Running; place: number }[] = []

  constructor(decoder: Decoder, tokens: TokenTable, adapter: AdapterFeeds | null, prefixes: PrefixCache) {
    this.#decoder = decoder
    this.#adapter = adapter
    this.#prefixes = prefixes
    this.#prefill = new Prefill(decoder, tokens, adapter, prefixes)
    this.#cache = new KvCache(decoder.config)
  }

  /** Sequences that are or will be generated. */
  get size(): number {
    let size = 0
    for (const { slots } of this.#prefill.requests) size += slots
    for (const { group } of this.#running) size += group.reservedSlots
    return size
  }

  add(request: LaneRequest): void {
    this.#prefill.add(request)
  }

  /** Computes some of the prompts that wait, then one more token of every sequence. */
  async step(): Promise<void> {
    for (const prompt of await this.#prefill.step()) this.#begin(prompt)
    await this.#decode()
  }

  /** Ends every request with this error. */
  fail(error: Error): void {
    for (const request of this.#prefill.requests) request.fail(error)
    for (const { request } of this.#running) request.fail(error)
    this.#prefill.clear()
    this.#running.clear()
    this.#slots.length = 0
  }

  #begin({ request, logits, cache, slot, cachedTokens, logprobs }: PrefilledPrompt<LaneRequest>): void {
    if (request.isOver) return
    request.onPrompt(cachedTokens, logprobs)
    const { ids } = request
    for (const group of this.#groupsOf(request)) {
      const next = this.#advance(request, group, [logits])
      if (!next || next.length === 0) continue
      const running: Running = { request, group, slots: [], tokens: [], length: ids.length, ids: [...ids] }
      this.#running.add(running)
      this.#cache.reserve(this.#slots.length + next.length, ids.length + 1)
      const slots = next.map((_, offset) => this.#slots.length + offset)
      for (const target of slots) this.#cache.copySlot(slot, target, ids.length, cache)
      this.#assign(running, slots, next)
    }
  }

  #groupsOf(request: LaneRequest): SequenceGroup[] {
    try {
      return request.begin()
    } catch (error) {
      request.fail(error as Error)
      return []
    }
  }

  async #decode(): Promise<void> {
    for (const running of this.#running) if (running.request.isOver) this.#remove(running)
    if (this.#slots.length === 0) return
    const rows = this.#slots.map(({ running, place }) => ({ done: running.length, ids: [running.tokens[place]] }))
    this.#cache.reserve(rows.length, rows.reduce((most, { done }) => Math.max(most, done), 0) + 1)
    const logits = await this.#decoder.extend(this.#cache, 0, rows, this.#adapter)
    const vocabulary = logits.length / rows.length
    const rowOf = (slot: number) => logits.subarray(slot * vocabulary, (slot + 1) * vocabulary)
    // taken before any slot changes
    const steps = [...this.#running].map(running => {
      running.length += 1
      running.ids.push(running.tokens[0])
      return { running, logits: running.slots.map(rowOf) }
    })
    for (const { running, logits } of steps) this.#continue(running, logits)
  }

  #continue(running: Running, logits: Float32Array[]): void {
    const { request, group, slots, ids, length } = running
    const next = this.#advance(request, group, logits)
    if (next && next.length > 0) {
      this.#reassign(running, next)
      return
    }
    if (next && group.reservedSlots === 1) this.#prefixes.keep(request.cacheScope, ids, length, this.#cache, slots[0])
    this.#remove(running)
  }

  /** The group's next sequences: none where it has finished; null where it failed or is no longer wanted. */
  #advance(request: LaneRequest, group: SequenceGroup, logits: Float32Array[]): NextToken[] | null {
    if (request.isOver) return null
    try {
      const next = group.advance(logits)
      if (next.length === 0) request.onEnd()
      return next
    } catch (error) {
      request.fail(error as Error)
      return null
    }
  }

  /** Moves keys and values so that every next sequence has a slot with those of the one it carries on. */
  #reassign(running: Running, next: readonly NextToken[]): void {
    const { slots } = running
    if (slots.length === 1 && next.length === 1) {
      running.tokens[0] = next[0].token
      return
    }
    const isTaken = new Set<number>()
    const free = slots.filter((_, place) => next.every(({ parent }) => parent !== place))
    let end = this.#slots.length
    this.#cache.reserve(end + Math.max(0, next.length - slots.length), running.length)
    const assigned = next.map(({ parent }) => {
      if (!isTaken.has(parent)) {
        isTaken.add(parent)
        return slots[parent]
      }
      const target = free.pop() ?? end++
      this.#cache.copySlot(slots[parent], target, running.length)
      return target
    })
    this.#assign(running, assigned, next)
    this.#release(free)
  }

  #assign(running: Running, slots: number[], next: readonly NextToken[]): void {
    running.slots = slots
    running.tokens = next.map(({ token }) => token)
    for (const [place, slot] of slots.entries()) this.#slots[slot] = { running, place }
  }

  #remove(running: Running): void {
    this.#running.delete(running)
    this.#release(running.slots)
  }

  /** Closes the gaps with the last slots, because a run takes the first ones. */
  #release(slots: readonly number[]): void {
    for (const slot of slots.toSorted((a, b) => b - a)) {
      const last = this.#slots.length - 1
      const moved = this.#slots[last]
      this.#slots.pop()
      if (slot === last) continue
      this.#cache.copySlot(last, slot, moved.running.length)
      moved.running.slots[moved.place] = slot
      this.#slots[slot] = moved
    }
  }
}
