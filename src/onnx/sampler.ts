/** From logits to a token: temperature, filters and a seeded draw. */
import type { Sampling } from '../inference/engine.ts'
import { exponential } from './exponential.ts'

export type DrawSettings = Pick<Sampling, 'temperature' | 'topK' | 'topP' | 'minP'>

/** Index of the largest logit, the first of several. */
export function greedyToken(logits: Float32Array): number {
  let best = 0
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id
  return best
}

/** Reused from draw to draw: relative probabilities of one vocabulary. */
let weights = new Float64Array()

export interface DrawnToken {
  id: number
  /** What subtracted from a logit gives its log-probability, where the draw came by it; else null. */
  normaliser: number | null
}

/**
 * Draws a token. In this order: temperature, then at least `minP` times the top probability, the `topK` most
 * probable, and of those the fewest whose probabilities reach `topP`. `random` is called once, and not at temperature
 * 0. Throws an Error where every logit is -Infinity.
 */
export function drawToken(logits: Float32Array, settings: DrawSettings, random: () => number): DrawnToken {
  const { temperature, topK, topP, minP } = settings
  const best = greedyToken(logits)
  const top = logits[best]
  if (!Number.isFinite(top)) throw new Error(`There is no token to draw: the largest logit is ${top}`)
  if (temperature === 0) return { id: best, normaliser: null }
  if (weights.length < logits.length) weights = new Float64Array(logits.length)
  let total = 0
  for (let id = 0; id < logits.length; id++) {
    const weight = exponential((logits[id] - top) / temperature)
    weights[id] = weight
    total += weight
  }
  const normaliser = temperature === 1 ? top + Math.log(total) : null
  const isFiltered = minP > 0 || topP < 1 || (topK > 0 && topK < logits.length)
  if (!isFiltered) return { id: pick(logits.length, total, random(), best), normaliser }
  const kept = mostProbable(logits.length, total, settings)
  return { id: kept[pickRank(kept, random())], normaliser }
}

/** Weight, relative to the largest, from which on tokens are looked at first: mostly the others are never sorted. */
const FIRST_THRESHOLD = 1 / 64

/** The ids that all filters leave, most probable first. Of equal ones, those with lower ids are kept. */
function mostProbable(size: number, total: number, { topK, topP, minP }: DrawSettings): number[] {
  const limit = topK > 0 ? topK : size
  const isSorted = topK > 0 || topP < 1
  let reached = minP > 0 ? sumFrom(size, minP) : total
  let threshold = isSorted ? Math.max(FIRST_THRESHOLD, minP) : minP
  let ids = idsFrom(size, threshold)
  if (!isSorted) return ids
  const isEnough = () =>
    topK > 0 ? ids.length >= limit : ids.reduce((sum, id) => sum + weights[id], 0) >= topP * reached
  while (threshold > minP && !isEnough()) {
    // 0 takes every token that has any weight left
    threshold = threshold < Number.EPSILON ? minP : Math.max(threshold ** 2, minP)
    ids = idsFrom(size, threshold)
  }
  ids.sort((a, b) => weights[b] - weights[a] || a - b)
  ids.length = Math.min(ids.length, limit)
  if (topK > 0) reached = ids.reduce((sum, id) => sum + weights[id], 0)
  if (topP === 1) return ids
  let sum = 0
  let kept = 0
  while (kept < ids.length && (kept === 0 || sum < topP * reached)) sum += weights[ids[kept++]]
  return ids.slice(0, kept)
}

function idsFrom(size: number, threshold: number): number[] {
  const ids: number[] = []
  for (let id = 0; id < size; id++) if (weights[id] > 0 && weights[id] >= threshold) ids.push(id)
  return ids
}

function sumFrom(size: number, threshold: number): number {
  let sum = 0
  for (let id = 0; id < size; id++) if (weights[id] >= threshold) sum += weights[id]
  return sum
}

/** Inverse of the cumulative weights in order of ids; `fallback` catches rounding at the very end. */
function pick(size: number, total: number, uniform: number, fallback: number): number {
  let rest = uniform * total
  for (let id = 0; id < size; id++) {
    const weight = weights[id]
    if (weight > 0 && rest < weight) return id
    rest -= weight
  }
  return fallback
}

function pickRank(ids: readonly number[], uniform: number): number {
  const total = ids.reduce((sum, id) => sum + weights[id], 0)
  let rest = uniform * total
  for (let rank = 0; rank < ids.length; rank++) {
    const weight = weights[ids[rank]]
    if (rest < weight) return rank
    rest -= weight
  }
  return 0
}
