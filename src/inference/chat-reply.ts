/** From the parts of a generation to one whole completion. */
import { toLogprobs, toPromptLogprobs, toUsage } from './chat-logprobs.ts'
import type { ChatCompletion, PromptPart, ReplyHead, ReplyOptions } from './chat-types.ts'
import type { GeneratedToken, GeneratePart } from './engine.ts'
import { endsInReasoning, ReasoningSplitter } from './reasoning.ts'

type WireChoice = ChatCompletion['choices'][number]

interface Gathered {
  text: string
  tokens: GeneratedToken[]
  reason: WireChoice['finish_reason']
  stopTokenId: number | null
}

/** Throws where the engine does. */
export async function toChatCompletion(
  parts: AsyncIterable<GeneratePart>,
  head: ReplyHead,
  options: ReplyOptions,
): Promise<ChatCompletion> {
  let prompt: PromptPart = { type: 'prompt', tokenIds: [], cachedTokens: 0, logprobs: null }
  const choices: Gathered[] = []
  const choiceAt = (index: number) => (choices[index] ??= { text: '', tokens: [], reason: 'stop', stopTokenId: null })
  for await (const part of parts) {
    if (part.type === 'prompt') prompt = part
    else if (part.type === 'delta') {
      const choice = choiceAt(part.index)
      choice.text += part.text
      for (const token of part.tokens) choice.tokens.push(token)
    } else Object.assign(choiceAt(part.index), { reason: part.reason, stopTokenId: part.stopTokenId })
  }
  const completionTokens = choices.reduce((sum, choice) => sum + choice.tokens.length, 0)
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map((choice, index) => toChoice(choice, index, prompt, options)),
    service_tier: null,
    system_fingerprint: null,
    usage: toUsage(prompt, completionTokens),
    prompt_logprobs: prompt.logprobs ? toPromptLogprobs(prompt.logprobs) : null,
    prompt_token_ids: options.promptTokenIds ? prompt.tokenIds : null,
    kv_transfer_params: null,
  }
}

function toChoice(
  { text, tokens, reason, stopTokenId }: Gathered,
  index: number,
  prompt: PromptPart,
  options: ReplyOptions,
): WireChoice {
  const { reasoning, content } = splitText(text, prompt, options)
  return {
    index,
    message: {
      role: options.role,
      content: options.echo + content,
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      tool_calls: null,
      reasoning: options.showReasoning && reasoning !== '' ? reasoning : null,
    },
    logprobs: options.logprobs ? toLogprobs(tokens, options.tokensAsIds) : null,
    finish_reason: reason,
    stop_reason: stopTokenId,
    token_ids: options.tokenIds ? tokens.map(token => token.id) : null,
  }
}

function splitText(text: string, prompt: PromptPart, { reasoning: marks }: ReplyOptions) {
  if (!marks) return { reasoning: '', content: text }
  const splitter = new ReasoningSplitter(marks, endsInReasoning(marks, prompt.tokenIds))
  const first = splitter.push(text)
  const rest = splitter.end()
  return { reasoning: first.reasoning + rest.reasoning, content: first.content + rest.content }
}
