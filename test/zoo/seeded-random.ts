/** Random numbers that come again with their seed. */

/** From 0, below 1. The generator is mulberry32, whose state is 32 bits. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** At most `count` of the items, in their order: as many of each group as there are, one of each in turn. */
export function pickEvenly<Item>(
  items: readonly Item[],
  count: number,
  random: () => number,
  groupOf: (item: Item) => string,
): Item[] {
  const groups = new Map<string, number>()
  const keyed = items
    .map((item, place) => ({ item, place, key: random() }))
    .toSorted((one, other) => one.key - other.key)
  const turns = keyed.map(one => {
    const turn = groups.get(groupOf(one.item)) ?? 0
    groups.set(groupOf(one.item), turn + 1)
    return { ...one, turn }
  })
  const chosen = turns.toSorted((one, other) => one.turn - other.turn || one.key - other.key).slice(0, count)
  return chosen.toSorted((one, other) => one.place - other.place).map(({ item }) => item)
}
