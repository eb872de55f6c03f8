/**
 * Runs a grammar over bytes. A reading of the text so far is a stack of the nodes that are left to match; a state is the set
 * of all readings, so no choice is ever taken back. Stacks and states are made when they are first met and then remembered:
 * after some use nearly every byte is one look into a table.
 */
import { ConstraintError } from './constraint-error.ts'
import type { Node, Repeat, Words } from './grammar.ts'
import type { CheckedGrammar } from './grammar-check.ts'
import type { CompileBudget, ConstraintLimits } from './limits.ts'

/** What is left to match: `node`, and then what is in `rest`. The bottom has neither: everything is matched. */
export interface Stack {
  readonly id: number
  readonly node: Node | null
  readonly rest: Stack | null
  /** The largest finite count of a repetition in the stack. */
  readonly largestCount: number
}

export interface State {
  readonly stacks: readonly Stack[]
  /** Where a byte leads, by group of bytes; null: nowhere; undefined: not looked at yet. */
  next: (State | null | undefined)[]
  /** The stacks with a class or words on top, once all others are opened; null: not looked at yet. */
  leaves: readonly Stack[] | null
  /** Whether the text may end here; known once `leaves` are. */
  isComplete: boolean
  /** How often the automaton had forgotten when `next` and `leaves` were last looked at. */
  era: number
}

/** A stack takes as much memory as this many places in a state's table. */
const GROUPS_PER_STACK = 12

const BOTTOM: Stack = { id: 0, node: null, rest: null, largestCount: 0 }

export class Automaton {
  readonly start: State
  readonly #grammar: CheckedGrammar
  readonly #limits: ConstraintLimits
  /** One byte of each group. */
  readonly #samples: readonly number[]
  readonly #stacks = new Map<Stack, Map<Node, Stack>>()
  readonly #states = new Map<string, State>()
  readonly #narrowed = new Map<readonly Uint8Array[], Map<string, Words>>()
  readonly #repeats = new Map<Node, Map<string, Repeat>>()
  #lastId = 0
  #era = 0
  #size = 0
  #steps = 0

  constructor(grammar: CheckedGrammar, limits: ConstraintLimits) {
    this.#grammar = grammar
    this.#limits = limits
    this.#samples = Array.from({ length: grammar.groupCount }, (_, group) => grammar.groups.indexOf(group))
    this.refill()
    this.start = this.#toState([this.#push(grammar.root, BOTTOM)])
  }

  /** Allows the steps of one more token. */
  refill(): void {
    this.#steps = this.#limits.stepsPerToken
    if (this.#size > this.#limits.rememberedStacks) this.#forget()
  }

  /** About how many stacks' worth of memory is taken. */
  get size(): number {
    return this.#size
  }

  /** The state after one more byte, or null where no reading allows it. Throws a ConstraintError when it costs too much. */
  next(state: State, byte: number): State | null {
    if (state.era !== this.#era) this.#renew(state)
    const group = this.#grammar.groups[byte]
    const known = state.next[group]
    if (known !== undefined) return known
    const after = new Set<Stack>()
    for (const leaf of this.#leaves(state)) {
      this.#spend()
      const stack = this.#read(leaf, this.#samples[group])
      if (stack) after.add(stack)
    }
    const found = after.size === 0 ? null : this.#toState([...after])
    state.next[group] = found
    return found
  }

  isComplete(state: State): boolean {
    this.#leaves(state)
    return state.isComplete
  }

  /**
   * A state that allows the same texts of up to `horizon` bytes: counts beyond the horizon are cut down to it, so that the
   * first and the five hundredth character of a long string share one token mask.
   */
  withinHorizon(state: State, horizon: number): State {
    if (state.stacks.every(stack => stack.largestCount <= horizon + 1)) return state
    return this.#toState([...new Set(state.stacks.map(stack => this.#shorten(stack, horizon + 1)))])
  }

  /**
   * Follows the most ambiguous text for some bytes, so that a grammar whose readings multiply is refused while it is
   * compiled rather than in the middle of an answer.
   */
  probe(length: number, budget: CompileBudget): void {
    let state: State = this.start
    for (let place = 0; place < length; place++) {
      budget.spend(0)
      this.refill()
      const following = this.#samples.map(byte => this.next(state, byte)).filter(next => next !== null)
      if (following.length === 0) return
      state = following.reduce((best, next) => (next.stacks.length > best.stacks.length ? next : best))
    }
  }

  #spend(): void {
    this.#steps -= 1
    if (this.#steps < 0) throw new ConstraintError([], 'is too ambiguous to follow: a token takes too many steps')
  }

  #push(node: Node, rest: Stack): Stack {
    const above = this.#stacks.get(rest) ?? new Map<Node, Stack>()
    const known = above.get(node)
    if (known) return known
    if (above.size === 0) this.#stacks.set(rest, above)
    const count = node.kind === 'repeat' ? (node.max ?? node.min) : 0
    const stack = { id: ++this.#lastId, node, rest, largestCount: Math.max(count, rest.largestCount) }
    above.set(node, stack)
    this.#size += 1
    this.#spend()
    return stack
  }

  #toState(stacks: Stack[]): State {
    const key = stacks
      .map(({ id }) => id)
      .sort((a, b) => a - b)
      .join()
    const known = this.#states.get(key)
    if (known) return known
    const next = new Array<undefined>(this.#grammar.groupCount).fill(undefined)
    const state: State = { stacks, next, leaves: null, isComplete: false, era: this.#era }
    this.#states.set(key, state)
    this.#size += stacks.length + next.length / GROUPS_PER_STACK
    return state
  }

  /** Opens every node that is not read byte by byte, until only classes and words are left. */
  #leaves(state: State): readonly Stack[] {
    if (state.era !== this.#era) this.#renew(state)
    if (state.leaves) return state.leaves
    const leaves: Stack[] = []
    const seen = new Set(state.stacks)
    const needless = new Set<Stack>()
    for (const stack of seen) {
      this.#spend()
      if (seen.size > this.#limits.readings) {
        throw new ConstraintError([], `is too ambiguous to follow: more than ${this.#limits.readings} readings at once`)
      }
      for (const opened of this.#open(stack, leaves, needless)) if (!needless.has(opened)) seen.add(opened)
    }
    state.isComplete = seen.has(BOTTOM)
    state.leaves = leaves
    return leaves
  }

  /** The stacks that one stack stands for; words that are left to read are put among the leaves instead. */
  #open(stack: Stack, leaves: Stack[], needless: Set<Stack>): Stack[] {
    const { node, rest } = stack
    if (!node || !rest) return []
    switch (node.kind) {
      case 'class':
        leaves.push(stack)
        return []
      case 'words': {
        const isExhausted = node.words[node.from].length === node.depth
        if (!isExhausted || node.to > node.from + 1) leaves.push(stack)
        return isExhausted ? [rest] : []
      }
      case 'sequence':
        // whatever else is dead leads to a sequence that is, before any byte is read
        return this.#grammar.dead.has(node)
          ? []
          : [node.parts.reduceRight((below, part) => this.#push(part, below), rest)]
      case 'alternatives':
        return node.options.map(option => this.#push(option, rest))
      case 'rule':
        return [this.#push(node.body, rest)]
      case 'repeat':
        return this.#openRepeat(node, rest, needless)
    }
  }

  #openRepeat({ body, min, max }: Repeat, rest: Stack, needless: Set<Stack>): Stack[] {
    const isNullable = this.#grammar.nullable.has(body)
    const opened = min === 0 || isNullable ? [rest] : []
    const again = max === 1 ? rest : this.#push(this.#toRepeat(body, Math.max(0, min - 1), max && max - 1), rest)
    // a round that reads nothing only lowers the count, and what it leads to the higher count allows already
    if (isNullable && again !== rest) needless.add(again)
    return [...opened, this.#push(body, again)]
  }

  /** What is left of a leaf after the byte, or null where the leaf does not allow it. */
  #read({ node, rest }: Stack, byte: number): Stack | null {
    if (node?.kind === 'class') return node.bytes[byte] ? rest : null
    if (node?.kind !== 'words' || !rest) return null
    const { words, depth } = node
    const from = firstIndex(node, word => (word[depth] ?? -1) >= byte)
    const to = firstIndex(node, word => (word[depth] ?? -1) > byte)
    if (from === to) return null
    return to === from + 1 && words[from].length === depth + 1
      ? rest
      : this.#push(this.#toWords(words, from, to, depth + 1), rest)
  }

  #toWords(words: readonly Uint8Array[], from: number, to: number, depth: number): Words {
    // the words from here on that share their first bytes: the two numbers tell where they end
    const key = `${from},${depth}`
    return remember(this.#narrowed, words, key, () => ({ kind: 'words', words, from, to, depth }))
  }

  #toRepeat(body: Node, min: number, max: number | null): Repeat {
    return remember(this.#repeats, body, `${min},${max}`, () => ({ kind: 'repeat', body, min, max }))
  }

  /** The stack with no count above `most`. */
  #shorten(stack: Stack, most: number): Stack {
    const { node, rest } = stack
    if (!node || !rest || stack.largestCount <= most) return stack
    const below = this.#shorten(rest, most)
    if (node.kind !== 'repeat') return this.#push(node, below)
    return this.#push(this.#toRepeat(node.body, Math.min(node.min, most), node.max && Math.min(node.max, most)), below)
  }

  /** States that are still in use find their way again step by step. */
  #forget(): void {
    for (const map of [this.#states, this.#stacks, this.#narrowed, this.#repeats]) map.clear()
    this.#era += 1
    this.#size = 0
  }

  #renew(state: State): void {
    state.next.fill(undefined)
    state.leaves = null
    state.era = this.#era
  }
}

function remember<Owner, Value>(
  memory: Map<Owner, Map<string, Value>>,
  owner: Owner,
  key: string,
  create: () => Value,
): Value {
  const own = memory.get(owner) ?? new Map<string, Value>()
  const known = own.get(key)
  if (known) return known
  if (own.size === 0) memory.set(owner, own)
  const value = create()
  own.set(key, value)
  return value
}

/** The first index of the words' range from which on the test holds; it must not hold before. */
function firstIndex({ words, from, to }: Words, holds: (word: Uint8Array) => boolean): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(words[middle])) high = middle
    else low = middle + 1
  }
  return low
}
