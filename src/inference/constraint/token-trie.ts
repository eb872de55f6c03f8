/** A vocabulary as a tree of bytes, laid out flat, so that all of its tokens are checked against a grammar in one pass. */
import type { Automaton, State } from './automaton.ts'

/** What a vocabulary must tell: `bytes` is empty for ids without a token. */
export interface Vocabulary {
  bytes(id: number): Uint8Array
  isSpecial(id: number): boolean
}

export class TokenTrie {
  /** Number of token ids. */
  readonly size: number
  /** Bytes of the longest token. */
  readonly longest: number
  readonly #tokens: readonly Uint8Array[]
  readonly #tree: TokenTree

  /** Special tokens, and ids without a token, are never allowed by a grammar. */
  constructor(vocabulary: Vocabulary, size: number) {
    this.size = size
    this.#tokens = Array.from({ length: size }, (_, id) =>
      vocabulary.isSpecial(id) ? new Uint8Array() : vocabulary.bytes(id),
    )
    this.longest = this.#tokens.reduce((longest, { length }) => Math.max(longest, length), 0)
    this.#tree = layOut(this.#tokens)
  }

  /** The token's bytes; none for special tokens and for ids without a token. */
  bytes(id: number): Uint8Array {
    return this.#tokens[id] ?? new Uint8Array()
  }

  /** Sets the bit of every token that the automaton can read from the state; gives their number. */
  fill(mask: Uint32Array, automaton: Automaton, state: State): number {
    const { bytes, depths, ends, firstIds, ids } = this.#tree
    const states: State[] = [state]
    let count = 0
    for (let node = 0; node < bytes.length; ) {
      const depth = depths[node]
      const next = automaton.next(states[depth - 1], bytes[node])
      if (!next) {
        node = ends[node]
        continue
      }
      states[depth] = next
      node += 1
      for (let place = firstIds[node - 1]; place < firstIds[node]; place++) {
        const id = ids[place]
        mask[id >> 5] |= 1 << (id & 31)
        count += 1
      }
    }
    return count
  }
}

/** Nodes in an order in which each is followed by all that is below it. */
interface TokenTree {
  bytes: Uint8Array
  /** Counted from 1. */
  depths: Uint16Array
  /** The first node after the node's subtree. */
  ends: Uint32Array
  /** The ids that end at node i stand in `ids` from `firstIds[i]` to before `firstIds[i + 1]`. */
  firstIds: Uint32Array
  ids: Uint32Array
}

/** In the order of their bytes each token shares a beginning with the one before, and adds the rest. */
function layOut(tokens: readonly Uint8Array[]): TokenTree {
  const ids = Uint32Array.from([...tokens.keys()].filter(id => tokens[id].length > 0))
  ids.sort((a, b) => Buffer.compare(tokens[a], tokens[b]) || a - b)
  const most = tokens.reduce((total, { length }) => total + length, 0)
  const bytes = new Uint8Array(most)
  const depths = new Uint16Array(most)
  const ends = new Uint32Array(most)
  const firstIds = new Uint32Array(most + 1)
  let count = 0
  /** The nodes of the token before, from the first byte on. */
  const path: number[] = []
  const closeFrom = (depth: number) => {
    while (path.length > depth) ends[path.pop()!] = count
  }
  for (const [place, id] of ids.entries()) {
    const token = tokens[id]
    let shared = 0
    while (shared < path.length && bytes[path[shared]] === token[shared]) shared += 1
    closeFrom(shared)
    for (let depth = shared; depth < token.length; depth++) {
      bytes[count] = token[depth]
      depths[count] = depth + 1
      // a node inside a token ends no id, so its ids end where those of the next node begin: here as well
      firstIds[count] = place
      path.push(count)
      count += 1
    }
  }
  closeFrom(0)
  firstIds[count] = ids.length
  return {
    bytes: bytes.slice(0, count),
    depths: depths.slice(0, count),
    ends: ends.slice(0, count),
    firstIds: firstIds.slice(0, count + 1),
    ids,
  }
}
