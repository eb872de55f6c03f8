/** The cases that are sent where there are more than a run should send. */
import { createHash } from 'node:crypto'

/** Cases of one operation, or so many for each property of its body where that is more. */
export const MOST_CASES = 80
export const CASES_PER_PROPERTY = 3

/** Decides among cases of the same rank; another seed takes others. */
const SEED = 'trainyard-1'

/** The most telling ones in their own order; always the same ones for the same names. */
export function selectCases<Case extends { name: string; rank: number }>(cases: readonly Case[], most: number): Case[] {
  if (cases.length <= most) return [...cases]
  const keys = new Map(cases.map(one => [one, createHash('sha256').update(`${SEED} ${one.name}`).digest('hex')]))
  const best = cases.toSorted((a, b) => a.rank - b.rank || (keys.get(a)! < keys.get(b)! ? -1 : 1)).slice(0, most)
  const chosen = new Set(best)
  return cases.filter(one => chosen.has(one))
}
