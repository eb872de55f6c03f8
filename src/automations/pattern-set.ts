import { LRUCache } from 'lru-cache'
import { isFound } from './pattern.ts'
import { toLiterals } from './pattern-literals.ts'

/** Texts whose result is kept: aliases and run names come again and again. */
const KEPT_TEXTS = 100

/**
 * Many patterns, each with a value, of which those found in a text are wanted: in time that hardly grows with their number. Patterns are
 * kept by a text that they need, the rarest one of each, so that only those are tried whose text is there.
 */
export class PatternSet<Value> {
  readonly #values = new Map<string, Value[]>()
  readonly #byLiteral = new Map<string, string[]>()
  /** Of the literals. */
  readonly #lengths: number[]
  /** Patterns without a literal: tried on every text. */
  readonly #others: string[] = []
  readonly #found = new LRUCache<string, Value[]>({ max: KEPT_TEXTS })

  constructor(entries: readonly (readonly [pattern: string, value: Value])[]) {
    for (const [pattern, value] of entries) push(this.#values, pattern, value)
    const literalsOf = new Map([...this.#values.keys()].map(pattern => [pattern, toLiterals(pattern)]))
    const uses = new Map<string, number>()
    for (const literal of [...literalsOf.values()].flat()) uses.set(literal, (uses.get(literal) ?? 0) + 1)
    for (const [pattern, literals] of literalsOf) {
      const [rarest] = literals.toSorted((a, b) => uses.get(a)! - uses.get(b)! || b.length - a.length)
      if (rarest === undefined) this.#others.push(pattern)
      else push(this.#byLiteral, rarest, pattern)
    }
    this.#lengths = [...new Set([...this.#byLiteral.keys()].map(literal => literal.length))]
  }

  /** The values of the patterns that are found in the text. */
  match(text: string): readonly Value[] {
    const known = this.#found.get(text)
    if (known) return known
    const found = this.#candidates(text).filter(pattern => isFound(pattern, text))
    const values = found.flatMap(pattern => this.#values.get(pattern)!)
    this.#found.set(text, values)
    return values
  }

  #candidates(text: string): string[] {
    const candidates = new Set(this.#others)
    for (const length of this.#lengths) {
      for (let start = 0; start + length <= text.length; start++) {
        for (const pattern of this.#byLiteral.get(text.slice(start, start + length)) ?? []) candidates.add(pattern)
      }
    }
    return [...candidates]
  }
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}
