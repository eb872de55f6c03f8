/** When a token ends its choice. */
import type { Sampling } from '../inference/engine.ts'
import { endsInRepetition } from './repetition.ts'

export interface EndRules extends Pick<Sampling, 'minTokens' | 'ignoreEos' | 'stopTokenIds' | 'repetitionDetection'> {
  /** Most tokens to generate: at least 1. */
  maxTokens: number
  eosIds: readonly number[]
}

export interface End {
  reason: 'stop' | 'length' | 'repetition'
  /** The stop token of the request that came. */
  stopTokenId: number | null
}

/**
 * What the last of the generated tokens ends, or null. In this order: end of turn, stop tokens, length, repetition; of
 * these only length acts before the least number of tokens. A forced end, after which nothing may come, always ends.
 */
export function endOf(rules: EndRules, generated: readonly number[], isForced: boolean): End | null {
  const { eosIds, stopTokenIds, minTokens, ignoreEos, repetitionDetection, maxTokens } = rules
  const id = generated[generated.length - 1]
  const mayEnd = generated.length > minTokens
  if (eosIds.includes(id) && (isForced || (mayEnd && !ignoreEos))) return { reason: 'stop', stopTokenId: null }
  if (stopTokenIds.includes(id) && (isForced || mayEnd)) return { reason: 'stop', stopTokenId: id }
  if (generated.length >= maxTokens) return { reason: 'length', stopTokenId: null }
  if (repetitionDetection && generated.length >= minTokens && endsInRepetition(generated, repetitionDetection)) {
    return { reason: 'repetition', stopTokenId: null }
  }
  return null
}
