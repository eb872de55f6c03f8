/**
 * Mechanical mutations: every way to break a reply that can be derived from the contract, of which a seeded choice is made, so many of each
 * theme. The seed is the same for everybody; another one is taken from ZOO_SEED.
 */
import { toBodyMutations, toErrorMutations, toEventMutations } from './mutate-bodies.ts'
import { toHeaderMutations, toStatusMutations } from './mutate-heads.ts'
import { toOrderMutations, toStreamMutations } from './mutate-orders.ts'
import { createRandom, pickEvenly } from './seeded-random.ts'
import type { Member } from './zoos.ts'

export const SEED = Number(process.env.ZOO_SEED ?? 20261121)

/** How many of each theme, where there are so many. */
const CHOSEN: readonly [() => Member[], number][] = [
  [toBodyMutations, 230],
  [toEventMutations, 40],
  [toErrorMutations, 80],
  [toStatusMutations, 90],
  [toHeaderMutations, 70],
  [toOrderMutations, 60],
  [toStreamMutations, 30],
]

export function createMutations(seed: number): Member[] {
  const random = createRandom(seed)
  return CHOSEN.flatMap(([create, count]) => pickEvenly(create(), count, random, ({ rule }) => rule))
}

export const faults: readonly Member[] = createMutations(SEED)
