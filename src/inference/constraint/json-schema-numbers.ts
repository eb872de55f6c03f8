/** Numbers of a schema. */
import type { Node } from './grammar.ts'
import { INT32 } from './json-schema-formats.ts'
import { numbersOf, type Part, valuesOf } from './json-schema-parts.ts'
import { type Bound, numbersWithin } from './number-range.ts'

export function numberNode(parts: readonly Part[], isInteger: boolean): Node {
  const { lowest, highest } = numberBounds(parts)
  return numbersWithin(lowest, highest, isInteger)
}

/** The closest bounds of all parts. */
export function numberBounds(parts: readonly Part[]): { lowest: Bound | null; highest: Bound | null } {
  const isInt32 = valuesOf(parts, 'format').some(({ value }) => value === 'int32')
  const bounds = (inclusive: string, exclusive: string): Bound[] => [
    ...numbersOf(parts, exclusive).map(value => ({ value, isExclusive: true })),
    ...numbersOf(parts, inclusive).map(value => ({ value, isExclusive: false })),
  ]
  const lowest = bounds('minimum', 'exclusiveMinimum').concat(isInt32 ? { value: INT32.from, isExclusive: false } : [])
  const highest = bounds('maximum', 'exclusiveMaximum').concat(isInt32 ? { value: INT32.to, isExclusive: false } : [])
  // of equal bounds the exclusive one comes first, and it is the closer one
  return {
    lowest: lowest.sort((a, b) => b.value - a.value)[0] ?? null,
    highest: highest.sort((a, b) => a.value - b.value)[0] ?? null,
  }
}

export function isWithin(number: number, parts: readonly Part[]): boolean {
  const { lowest, highest } = numberBounds(parts)
  const isAbove = !lowest || number > lowest.value || (number === lowest.value && !lowest.isExclusive)
  const isBelow = !highest || number < highest.value || (number === highest.value && !highest.isExclusive)
  return isAbove && isBelow
}
