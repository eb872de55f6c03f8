/** Writes texts under a rule as a model without any sense would: each allowed token is as likely as the next. */
import {
  type ConstraintSource,
  ConstraintState,
  compileConstraint,
} from '../../../src/inference/constraint/constraint.ts'
import { TokenTrie } from '../../../src/inference/constraint/token-trie.ts'
import { TokenTable } from '../../../src/onnx/token-table.ts'

const table = new TokenTable(`${import.meta.dirname}/../../../generated/tiny-chat`)
export const tinyChat = new TokenTrie(table, 1024)

/** A token for each byte, and no others. */
export const byteTokens = new TokenTrie({ bytes: id => Uint8Array.of(id), isSpecial: () => false }, 256)

/** A vocabulary of these texts, in this order. */
export function trieOf(...tokens: string[]): TokenTrie {
  return new TokenTrie({ bytes: id => Buffer.from(tokens[id]!), isSpecial: () => false }, tokens.length)
}

export function start(source: ConstraintSource, trie = byteTokens): ConstraintState {
  return new ConstraintState(compileConstraint(source), trie)
}

/** Whether the rule allows the text as a whole. */
export function accepts(source: ConstraintSource, text: string | Uint8Array): boolean {
  return acceptsFrom(start(source), text)
}

export function acceptsFrom(beginning: ConstraintState, text: string | Uint8Array): boolean {
  const state = beginning.clone()
  for (const byte of Buffer.from(text)) {
    if (!state.accepts(byte)) return false
    state.advance(byte)
  }
  return state.isComplete
}

export function allowedIds(state: ConstraintState, size: number): number[] {
  const { bits } = state.mask()
  const ids: number[] = []
  for (let id = 0; id < size; id++) if ((bits[id >> 5]! >>> (id & 31)) & 1) ids.push(id)
  return ids
}

/** A quarter of the tokens are drawn from those that close something, or texts would seldom come to their end. */
const CLOSING_SHARE = 0.25
const closing = new Map(
  [byteTokens, tinyChat].map(trie => {
    const closes = (id: number) => /^["}\]\s]+$/.test(Buffer.from(trie.bytes(id)).toString())
    return [trie, new Set(Array(trie.size).keys().filter(closes))]
  }),
)

/** The text, or null where it has not ended within `mostTokens`. `random` gives numbers from 0 to below 1. */
export function writeText(
  beginning: ConstraintState,
  trie: TokenTrie,
  random: () => number,
  mostTokens = 300,
): string | null {
  const state = beginning.clone()
  const text: number[] = []
  for (let count = 0; count < mostTokens; count++) {
    if (state.isComplete && (state.mustEnd || random() < 0.3)) return Buffer.from(text).toString()
    const ids = allowedIds(state, trie.size)
    const closers = random() < CLOSING_SHARE ? ids.filter(id => closing.get(trie)?.has(id)) : []
    const drawn = closers.length > 0 ? closers : ids
    const id = drawn[Math.floor(random() * drawn.length)]!
    state.advance(id)
    text.push(...trie.bytes(id))
  }
  return null
}

/** Mulberry32: enough of a generator for tests, and the same every time. */
export function createTestRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
