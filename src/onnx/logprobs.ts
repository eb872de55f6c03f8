/** Log-probabilities under logits as they are. */
import { exponential } from './exponential.ts'
import { greedyToken } from './sampler.ts'

export interface LogprobEntry {
  id: number
  /** Natural logarithm of the probability, at least -9999. */
  logprob: number
}

export interface RankedEntry extends LogprobEntry {
  /** 1 for the most probable token. */
  rank: number
}

/** The interface's floor for log-probabilities. */
const LOWEST_LOGPROB = -9999
/** More alternatives than this are sorted rather than inserted one by one. */
const MOST_INSERTED = 64

/** Subtracted from a logit it gives the log-probability. */
export function normaliserOf(logits: Float32Array): number {
  const top = logits[greedyToken(logits)]
  let total = 0
  for (let index = 0; index < logits.length; index++) total += exponential(logits[index] - top)
  return top + Math.log(total)
}

/** Log-probability of the token, and of the `alternatives` most probable tokens. */
export function tokenLogprob(
  logits: Float32Array,
  id: number,
  alternatives: number,
  normaliser = normaliserOf(logits),
): { logprob: number; top: LogprobEntry[] } {
  const logprobOf = (index: number) => Math.max(logits[index] - normaliser, LOWEST_LOGPROB)
  const top = largest(logits, alternatives).map(index => ({ id: index, logprob: logprobOf(index) }))
  return { logprob: logprobOf(id), top }
}

/** The token, then the `alternatives` most probable ones without it. Of equal ones, lower ids rank first. */
export function rankedLogprobs(logits: Float32Array, id: number, alternatives: number): RankedEntry[] {
  const { logprob, top } = tokenLogprob(logits, id, alternatives)
  const logit = logits[id]
  let rank = 1
  for (let index = 0; index < logits.length; index++) {
    if (logits[index] > logit || (logits[index] === logit && index < id)) rank += 1
  }
  const others = top.map((entry, place) => ({ ...entry, rank: place + 1 })).filter(entry => entry.id !== id)
  return [{ id, logprob, rank }, ...others]
}

/** Indices of the `count` largest values, largest first, of equal ones the lower first. By insertion where few. */
export function largest(values: Float32Array, count: number): number[] {
  const wanted = Math.min(count, values.length)
  if (wanted === 0) return []
  if (wanted > MOST_INSERTED) {
    return Array.from(values.keys())
      .sort((a, b) => values[b] - values[a] || a - b)
      .slice(0, wanted)
  }
  const found: number[] = []
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (found.length === wanted && value <= values[found[wanted - 1]]) continue
    let place = found.length
    while (place > 0 && value > values[found[place - 1]]) place--
    found.splice(place, 0, index)
    if (found.length > wanted) found.pop()
  }
  return found
}
