/** Numbers between two bounds, digit by digit. */
import { anyInteger, anyNumber, digit, MOST_DIGITS } from './any-json.ts'
import { byteRange } from './character-set.ts'
import { alternatives, empty, literal, type Node, nothing, optional, repeat, sequence } from './grammar.ts'

export interface Bound {
  value: number
  isExclusive: boolean
}

/**
 * Bounded numbers have no exponent, and together at most 15 digits before and after the point: so many a double tells apart,
 * so whoever reads the number finds it within the bounds too.
 */
export function numbersWithin(lowest: Bound | null, highest: Bound | null, isInteger: boolean): Node {
  if (!lowest && !highest) return isInteger ? anyInteger : anyNumber
  const places = isInteger ? 0 : Math.max(0, MOST_DIGITS - Math.max(integerDigits(lowest), integerDigits(highest)))
  const largest = 10n ** BigInt(MOST_DIGITS + places) - 1n
  const from = lowest ? toUnits(lowest, places, 1n) : -largest
  const to = highest ? toUnits(highest, places, -1n) : largest
  const positive = magnitudes(from > 0n ? from : 0n, to < largest ? to : largest, places)
  const negative = magnitudes(to < 0n ? -to : 1n, -from < largest ? -from : largest, places)
  return alternatives(positive, sequence(literal('-'), negative))
}

function integerDigits(bound: Bound | null): number {
  return bound ? BigInt(Math.trunc(Math.abs(bound.value))).toString().length : 1
}

/** The bound in units of the last place, rounded inward: up for `inward` 1, down for -1. */
function toUnits({ value, isExclusive }: Bound, places: number, inward: 1n | -1n): bigint {
  const [mantissa, exponent] = value.toExponential().split('e')
  const [whole, fraction = ''] = mantissa.split('.')
  const digits = BigInt(whole + fraction)
  const power = Number(exponent) - fraction.length + places
  if (power >= 0) return digits * 10n ** BigInt(power) + (isExclusive ? inward : 0n)
  const unit = 10n ** BigInt(-power)
  const quotient = digits / unit
  const remainder = digits % unit
  if (remainder === 0n) return quotient + (isExclusive ? inward : 0n)
  // division cuts towards zero
  const isCutInward = remainder > 0n === (inward === -1n)
  return isCutInward ? quotient : quotient + inward
}

/** Numbers without a sign, in units of the last place. */
function magnitudes(from: bigint, to: bigint, places: number): Node {
  if (from > to) return nothing
  const unit = 10n ** BigInt(places)
  const options: Node[] = []
  const lengthOf = (value: bigint) => (value / unit).toString().length
  for (let length = lengthOf(from); length <= lengthOf(to); length++) {
    const first = length === 1 ? 0n : 10n ** BigInt(length - 1) * unit
    const last = 10n ** BigInt(length) * unit - 1n
    const pad = (value: bigint) => value.toString().padStart(length + places, '0')
    const layout = { integer: length, width: length + places }
    options.push(digitsFrom(0, pad(from > first ? from : first), pad(to < last ? to : last), layout))
  }
  return alternatives(...options)
}

/** How many digits there are before the point, and altogether. */
interface Layout {
  integer: number
  width: number
}

/** The digits from this place on. A bound is null once an earlier digit has left it behind. Zeros at the end may be left out. */
function digitsFrom(place: number, low: string | null, high: string | null, layout: Layout): Node {
  if (place === layout.width) return empty
  if (low === null && high === null) return freeDigits(place, layout)
  const from = low === null ? 0 : Number(low[place])
  const to = high === null ? 9 : Number(high[place])
  const options: Node[] = []
  for (let value = from; value <= to; value++) {
    const [staysLow, staysHigh] = [low !== null && value === from, high !== null && value === to]
    if (!staysLow && !staysHigh) continue
    const rest = digitsFrom(place + 1, staysLow ? low : null, staysHigh ? high : null, layout)
    options.push(sequence(literal(String(value)), rest))
  }
  const [firstFree, lastFree] = [low === null ? from : from + 1, high === null ? to : to - 1]
  if (firstFree <= lastFree) {
    options.push(sequence(byteRange(0x30 + firstFree, 0x30 + lastFree), freeDigits(place + 1, layout)))
  }
  const mayStop = place >= layout.integer && (low === null || /^0*$/.test(low.slice(place)))
  const point = place === layout.integer ? literal('.') : empty
  return alternatives(mayStop ? empty : nothing, sequence(point, alternatives(...options)))
}

function freeDigits(place: number, { integer, width }: Layout): Node {
  if (place > integer) return repeat(digit, 0, width - place)
  const fraction = width === integer ? empty : optional(sequence(literal('.'), repeat(digit, 1, width - integer)))
  return sequence(repeat(digit, integer - place, integer - place), fraction)
}
