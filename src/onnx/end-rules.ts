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
 * What the last of the generated tokens ends, or null. In this order: end of turn, stop tokens, length, repetition.
 * Tokens that would end the text too early are never drawn. A forced end, after which nothing may come, is not ignored.
 */
export function endOf(rules: EndRules, generated: readonly number[], isForced: boolean): End | null {
  const { eosIds, stopTokenIds, minTokens, ignoreEos, repetitionDetection, maxTokens } = rules
  const id = generated[generated.length - 1]
  if (eosIds.includes(id) && (isForced || !ignoreEos)) return { reason: 'stop', stopTokenId: null }
  if (stopTokenIds.includes(id)) return { reason: 'stop', stopTokenId: id }
  if (generated.length >= maxTokens) return { reason: 'length', stopTokenId: null }
  if (repetitionDetection && generated.length >= minTokens && endsInRepetition(generated, repetitionDetection)) {
    return { reason: 'repetition', stopTokenId: null }
  }
  return null
}
