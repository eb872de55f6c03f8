/** Log-probabilities and usage as replies show them. */
import type { ChatCompletion, PromptPart } from './chat-types.ts'
import type { GeneratedToken, PromptLogprob, TokenLogprob } from './engine.ts'

type Logprobs = NonNullable<ChatCompletion['choices'][number]['logprobs']>
type PromptLogprobs = NonNullable<ChatCompletion['prompt_logprobs']>

/** JSON has no number for an impossible token's. */
const LEAST_LOGPROB = -9999

export function toLogprobs(tokens: readonly GeneratedToken[], asIds: boolean): Logprobs {
  const toEntry = ({ id, token, bytes, logprob }: TokenLogprob) => ({
    token: asIds ? `token_id:${id}` : token,
    bytes,
    logprob: Math.max(logprob, LEAST_LOGPROB),
  })
  return { content: tokens.map(token => ({ ...toEntry(token), top_logprobs: token.top.map(toEntry) })), refusal: null }
}

export function toPromptLogprobs(entries: readonly PromptLogprob[]): PromptLogprobs {
  return entries.map(
    tokens =>
      tokens &&
      Object.fromEntries(
        tokens.map(({ id, token, logprob, rank }) => [
          String(id),
          { logprob: Math.max(logprob, LEAST_LOGPROB), rank, decoded_token: token },
        ]),
      ),
  )
}

export function toUsage(prompt: PromptPart, completionTokens: number): ChatCompletion['usage'] {
  const promptTokens = prompt.tokenIds.length
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: prompt.cachedTokens },
  }
}
