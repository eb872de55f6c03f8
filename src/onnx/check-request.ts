/** What only the engine can check of a request: token ids against the vocabulary, the prompt against the context. */
import { PromptError, type Sampling } from '../inference/engine.ts'

/** Throws PromptError naming the first id that the model does not have. */
export function checkTokenIds(sampling: Sampling, vocabularySize: number): void {
  const check = (id: number, loc: string[]) => {
    if (Number.isSafeInteger(id) && id >= 0 && id < vocabularySize) return
    throw new PromptError(loc, `is not a token id: the model has ${vocabularySize} tokens, from 0`, 'token_id')
  }
  for (const [id] of sampling.logitBias) check(id, ['logit_bias', String(id)])
  for (const [index, id] of (sampling.allowedTokenIds ?? []).entries()) check(id, ['allowed_token_ids', String(index)])
  for (const [index, id] of sampling.stopTokenIds.entries()) check(id, ['stop_token_ids', String(index)])
}

/**
 * The prompt as the model will see it: its last `truncateTokens` tokens, with -1 as many as leave room for `maxTokens`, or
 * for one token. Throws PromptError where it does not fit the context, or has no tokens.
 */
export function fitPrompt(
  ids: number[],
  contextLength: number,
  truncateTokens: number | null,
  maxTokens: number | null,
): number[] {
  if (truncateTokens !== null && truncateTokens > contextLength) {
    const message = `may be at most ${contextLength}, the model's context`
    throw new PromptError(['truncate_prompt_tokens'], message, 'less_than_equal')
  }
  const kept = truncateTokens === -1 ? Math.max(1, contextLength - (maxTokens ?? 1)) : (truncateTokens ?? ids.length)
  const fitted = ids.slice(Math.max(0, ids.length - kept))
  if (fitted.length === 0) throw new PromptError(['messages'], 'the prompt has no tokens', 'prompt_empty')
  if (fitted.length < contextLength) return fitted
  const message = `the prompt has ${fitted.length} tokens, which leaves no room in the model's context of ${contextLength}`
  throw new PromptError(['messages'], message, 'context_length')
}
