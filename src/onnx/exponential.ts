/** e^x for x from -Infinity to 0, as softmax needs it once for every token of the vocabulary. */

const STEPS = 32
const STEPS_PER_UNIT = STEPS / Math.LN2
/** 2^(step / 32) */
const fractions = Float64Array.from({ length: STEPS }, (_, step) => 2 ** (step / STEPS))
/** Below, e^x counts as 0. */
const LOWEST = -700
/** 2^-power, down to e^LOWEST */
const powers = Float64Array.from({ length: 1024 }, (_, power) => 2 ** -power)

/**
 * Within 2e-13 of the exact value, relatively, in about half the time of Math.exp: the nearest power of 2^(1/32) below
 * comes from tables, the rest, at most ln(2) / 32, from the first terms of the series.
 */
export function exponential(x: number): number {
  if (!(x >= LOWEST)) return 0
  const step = Math.floor(x * STEPS_PER_UNIT)
  const rest = x - step / STEPS_PER_UNIT
  const series = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6 + rest * (1 / 24 + rest / 120))))
  return fractions[step & (STEPS - 1)] * powers[-(step >> 5)] * series
}
