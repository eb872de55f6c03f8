/** The allowed tokens of each state of a grammar, for one vocabulary: worked out once, then looked up. */
import type { Automaton, State } from './automaton.ts'
import { ConstraintError } from './constraint-error.ts'
import type { ConstraintLimits } from './limits.ts'
import type { TokenTrie } from './token-trie.ts'

export interface TokenMask {
  /** Bit `id & 31` of element `id >> 5` is 1 where the token may come next. Shared: not to be changed. */
  readonly bits: Uint32Array
  /** Number of tokens that may come next. */
  readonly count: number
}

export class TokenMasks {
  readonly #automaton: Automaton
  readonly #trie: TokenTrie
  readonly #limits: ConstraintLimits
  #masks = new WeakMap<State, TokenMask>()
  #bytes = 0

  constructor(automaton: Automaton, trie: TokenTrie, limits: ConstraintLimits) {
    this.#automaton = automaton
    this.#trie = trie
    this.#limits = limits
  }

  /** Throws a ConstraintError where no token may come although the text cannot end, or where it takes too long to tell. */
  at(state: State): TokenMask {
    const known = this.#masks.get(state)
    if (known) return known
    this.#automaton.refill()
    const similar = this.#automaton.withinHorizon(state, this.#trie.longest)
    const mask = this.#masks.get(similar) ?? this.#create(similar)
    this.#masks.set(similar, mask).set(state, mask)
    return mask
  }

  #create(state: State): TokenMask {
    const bits = new Uint32Array(Math.ceil(this.#trie.size / 32))
    const count = this.#trie.fill(bits, this.#automaton, state)
    if (count === 0 && !this.#automaton.isComplete(state)) {
      throw new ConstraintError([], "cannot be carried on with the model's tokens")
    }
    this.#bytes += bits.byteLength
    if (this.#bytes > this.#limits.maskBytes) {
      this.#masks = new WeakMap()
      this.#bytes = bits.byteLength
    }
    return { bits, count }
  }
}
