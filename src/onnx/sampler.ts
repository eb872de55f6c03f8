/** From logits to a token: temperature, filters, a seeded draw, and log-probabilities. */
import type { Sampling } from '../inference/engine.ts'

export type DrawSettings = Pick<Sampling, 'temperature' | 'topK' | 'topP' | 'minP'>

/** The interface's floor for log-probabilities. */
const LOWEST_LOGPROB = -9999

/** Index of the largest logit, the first of several. */
export function greedyToken(logits: Float32Array): number {
  let best = 0
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id
  return best
}

/**
 * Draws a token id. In this order: temperature, then at least `minP` times the top probability, the `topK` most
 * probable, and of those the fewest whose probabilities reach `topP`. `random` is called once, and not at temperature
 * 0.
 */
export function drawToken(logits: Float32Array, settings: DrawSettings, random: () => number): number {
  const { temperature, topK, topP, minP } = settings
  const best = greedyToken(logits)
  if (temperature === 0) return best
  const top = logits[best]
  const weights = logits.map(logit => Math.exp((logit - top) / temperature))
  if (minP > 0) for (let id = 0; id < weights.length; id++) if (weights[id] < minP) weights[id] = 0
  if ((topK > 0 && topK < weights.length) || topP < 1) keepMostProbable(weights, topK, topP)
  return pick(weights, random(), best)
}

/** Sets all others to 0. Of equal ones, those with lower ids are kept. */
function keepMostProbable(weights: Float32Array, topK: number, topP: number): void {
  const weightOf = (id: number) => weights[id]
  const ids: number[] = []
  for (let id = 0; id < weights.length; id++) if (weightOf(id) > 0) ids.push(id)
  ids.sort((a, b) => weightOf(b) - weightOf(a) || a - b)
  const limit = topK > 0 ? Math.min(topK, ids.length) : ids.length
  let total = 0
  for (let rank = 0; rank < limit; rank++) total += weightOf(ids[rank])
  let reached = 0
  let kept = 0
  while (kept < limit && (kept === 0 || reached < topP * total)) reached += weightOf(ids[kept++])
  for (const id of ids.slice(kept)) weights[id] = 0
}

/** Inverse of the cumulative weights in order of ids; `fallback` catches rounding at the very end. */
function pick(weights: Float32Array, uniform: number, fallback: number): number {
  let total = 0
  for (let id = 0; id < weights.length; id++) total += weights[id]
  let rest = uniform * total
  for (let id = 0; id < weights.length; id++) {
    const weight = weights[id]
    if (weight > 0 && rest < weight) return id
    rest -= weight
  }
  return fallback
}

export interface LogprobEntry {
  id: number
  /** Natural logarithm of the probability, at least -9999. */
  logprob: number
}

/** Log-probability of the token under the logits as they are, and of the `alternatives` most probable tokens. */
export function tokenLogprob(
  logits: Float32Array,
  id: number,
  alternatives: number,
): { logprob: number; top: LogprobEntry[] } {
  const top = logits[greedyToken(logits)]
  let total = 0
  for (let index = 0; index < logits.length; index++) total += Math.exp(logits[index] - top)
  const normaliser = top + Math.log(total)
  const logprobOf = (index: number) => Math.max(logits[index] - normaliser, LOWEST_LOGPROB)
  const best = largest(logits, alternatives)
  return { logprob: logprobOf(id), top: best.map(index => ({ id: index, logprob: logprobOf(index) })) }
}

/** Indices of the `count` largest values, largest first, by insertion: counts are small. */
function largest(values: Float32Array, count: number): number[] {
  const found: number[] = []
  if (count === 0) return found
  const at = (index: number) => values[index]
  for (let index = 0; index < values.length; index++) {
    if (found.length === count && at(index) <= at(found[count - 1])) continue
    let place = found.length
    while (place > 0 && at(index) > at(found[place - 1])) place--
    found.splice(place, 0, index)
    if (found.length > count) found.pop()
  }
  return found
}
