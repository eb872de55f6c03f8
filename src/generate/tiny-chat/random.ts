/** A seeded source of random choices, so that everything built from it comes out the same on every machine. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** An integer in [0, limit). */
  below(limit: number): number
  /** An integer in [from, to]. */
  between(from: number, to: number): number
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** `count` different items, in random order. */
  take<Item>(items: readonly Item[], count: number): Item[]
  /** A sample of the standard normal distribution (Box-Muller). */
  normal(): number
}

/** Mulberry32: 32 bits of state, good enough for data, not for secrets. */
export function createRandom(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    between: (from, to) => from + below(to - from + 1),
    chance: probability => next() < probability,
    pick: items => items[below(items.length)]!,
    take(items, count) {
      const rest = [...items]
      return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(below(rest.length), 1)[0]!)
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  }
}
