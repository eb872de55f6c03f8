/** Between the wire's chat completion and the engine's generation: pure conversions and the rules that a schema cannot say. */
import type { components } from '../../generated/schema.d.ts'
import { invalidValue } from '../errors.ts'
import { toHistory } from '../training/conversation.ts'
import type { JsonObject } from '../training/json-values.ts'
import type { GeneratedToken, GeneratePart, Prompt, Sampling } from './engine.ts'
import { refuseUnsupported } from './unsupported-fields.ts'

export type ChatRequest = components['schemas']['ChatCompletionRequest']
export type ChatCompletion = components['schemas']['ChatCompletion']
export type ChatChunk = components['schemas']['ChatCompletionChunk']
type Choice = ChatCompletion['choices'][number]
type Usage = ChatCompletion['usage']
type Logprobs = NonNullable<Choice['logprobs']>

export interface ChatLimits {
  maxMessages: number
  maxChoices: number
  maxTopLogprobs: number
  maxStop: number
}

/** What a reply shows, decided from the request and from whether the model is a trained one. */
export interface ReplyOptions {
  logprobs: boolean
  tokenIds: boolean
  promptTokenIds: boolean
  usageFrame: boolean
  usageInEveryFrame: boolean
  /** The request field that bounds the output, with its value, for the check against the context. */
  outputBound: { field: string; tokens: number } | null
}

/** What all replies and frames of one request share. */
export interface ReplyHead {
  id: string
  created: number
  model: string
}

const DEFAULT_TEMPERATURE = 1
/** The wire's spelling of "the whole vocabulary" for top_k, besides 0. */
const TOP_K_OFF = -1
const LEAST_LOGPROB = -9999

/** Reads a validated request. Throws a 422 for a rule between fields, for a cap of the deployment, and for a field without effect yet. */
export function fromChatRequest(
  request: ChatRequest,
  trained: boolean,
  limits: ChatLimits,
): { prompt: Prompt; sampling: Sampling; options: ReplyOptions } {
  checkRules(request, limits)
  refuseUnsupported(request as Record<string, unknown>)
  const logprobs = request.logprobs ?? trained
  // Read as a trajectory's history is, so that a job renders the very prompt that was sampled from.
  const { elements, tools } = toHistory(request as JsonObject, 'messages', [])
  return {
    prompt: {
      messages: elements.map(({ message }) => message),
      tools,
      addGenerationPrompt: true,
      continueFinalMessage: false,
      templateVariables: {},
    },
    sampling: {
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
      temperature: request.temperature ?? DEFAULT_TEMPERATURE,
      topP: request.top_p ?? 1,
      topK: request.top_k == null || request.top_k === TOP_K_OFF ? 0 : request.top_k,
      minP: request.min_p ?? 0,
      seed: request.seed ?? null,
      n: request.n ?? 1,
      stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
      topLogprobs: logprobs ? (request.top_logprobs ?? 0) : null,
    },
    options: {
      logprobs,
      tokenIds: request.return_token_ids ?? (trained && request.logprobs !== false),
      promptTokenIds: request.return_token_ids ?? false,
      usageFrame: request.stream_options != null && request.stream_options.include_usage !== false,
      usageInEveryFrame:
        request.stream_options?.continuous_usage_stats === true && request.stream_options.include_usage !== false,
      outputBound: toOutputBound(request),
    },
  }
}

function checkRules(request: ChatRequest, limits: ChatLimits): void {
  const fail = (field: string, msg: string, type = 'value_error') => {
    throw invalidValue(['body', field], msg, type)
  }
  if (request.messages.length > limits.maxMessages)
    fail('messages', `At most ${limits.maxMessages} messages are allowed`, 'too_long')
  if ((request.n ?? 1) > limits.maxChoices) fail('n', `n may be at most ${limits.maxChoices}`, 'less_than_equal')
  if ((request.top_logprobs ?? 0) > limits.maxTopLogprobs)
    fail('top_logprobs', `top_logprobs may be at most ${limits.maxTopLogprobs}`, 'less_than_equal')
  if (Array.isArray(request.stop) && request.stop.length > limits.maxStop)
    fail('stop', `At most ${limits.maxStop} stop strings are allowed`, 'too_long')
  if ((request.top_logprobs ?? 0) > 0 && !request.logprobs)
    fail('top_logprobs', 'top_logprobs needs logprobs to be true')
  if (request.stream_options && !request.stream) fail('stream_options', 'stream_options needs stream to be true')
  if ((request.n ?? 1) > 1 && request.temperature === 0)
    fail('n', 'n above 1 needs a temperature above 0: greedy choices would all be the same')
  if (request.add_generation_prompt && request.continue_final_message) {
    fail('continue_final_message', 'continue_final_message cannot be combined with add_generation_prompt')
  }
  if (request.priority) fail('priority', 'The served model does not use priority scheduling, so priority must be 0')
}

function toOutputBound(request: ChatRequest): ReplyOptions['outputBound'] {
  if (request.max_completion_tokens != null)
    return { field: 'max_completion_tokens', tokens: request.max_completion_tokens }
  return request.max_tokens != null ? { field: 'max_tokens', tokens: request.max_tokens } : null
}

/** Throws a 422 when the prompt leaves no room for the output that was asked for. */
export function checkRoom(promptTokens: number, contextLength: number, bound: ReplyOptions['outputBound']): void {
  if (!bound || promptTokens + bound.tokens <= contextLength) return
  throw invalidValue(
    ['body', bound.field],
    `The prompt has ${promptTokens} tokens and ${bound.tokens} were asked for, but the model's context holds ${contextLength}`,
    'context_length_exceeded',
  )
}

/** Folds the parts of a generation into one completion. */
export async function toChatCompletion(
  parts: AsyncIterable<GeneratePart>,
  head: ReplyHead,
  options: ReplyOptions,
): Promise<ChatCompletion> {
  let promptTokenIds: number[] = []
  const choices: { text: string; tokens: GeneratedToken[]; reason: Choice['finish_reason']; stop: number | null }[] = []
  const choiceAt = (index: number) => (choices[index] ??= { text: '', tokens: [], reason: 'stop', stop: null })
  for await (const part of parts) {
    if (part.type === 'prompt') promptTokenIds = part.tokenIds
    else if (part.type === 'delta') {
      const choice = choiceAt(part.index)
      choice.text += part.text
      for (const token of part.tokens) choice.tokens.push(token)
    } else Object.assign(choiceAt(part.index), { reason: part.reason, stop: part.stopTokenId })
  }
  const completionTokens = choices.reduce((sum, choice) => sum + choice.tokens.length, 0)
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ text, tokens, reason, stop }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: text,
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: null,
        reasoning: null,
      },
      logprobs: options.logprobs ? toLogprobs(tokens) : null,
      finish_reason: reason,
      stop_reason: stop,
      token_ids: options.tokenIds ? tokens.map(token => token.id) : null,
    })),
    service_tier: null,
    system_fingerprint: null,
    usage: toUsage(promptTokenIds.length, completionTokens),
    prompt_logprobs: null,
    prompt_token_ids: options.promptTokenIds ? promptTokenIds : null,
    kv_transfer_params: null,
  }
}

/** Turns the parts of a generation into the frames of a stream (facts/chat-completions, section 1.4). */
export async function* toChatChunks(
  parts: AsyncIterable<GeneratePart>,
  head: ReplyHead,
  choices: number,
  options: ReplyOptions,
): AsyncGenerator<ChatChunk> {
  const counts = new Array<number>(choices).fill(0)
  let promptTokens = 0
  const base = { ...head, object: 'chat.completion.chunk' as const, system_fingerprint: null }
  const frame = (index: number, choice: Omit<ChatChunk['choices'][number], 'index'>): ChatChunk => ({
    ...base,
    choices: [{ index, ...choice }],
    ...(options.usageInEveryFrame ? { usage: toUsage(promptTokens, counts[index]!) } : {}),
  })
  for await (const part of parts) {
    if (part.type === 'prompt') {
      promptTokens = part.tokenIds.length
      const opening = {
        delta: { role: 'assistant', content: '' },
        logprobs: null,
        finish_reason: null,
        stop_reason: null,
        token_ids: null,
      }
      for (let index = 0; index < choices; index++) {
        const ids = index === 0 ? { prompt_token_ids: options.promptTokenIds ? part.tokenIds : null } : {}
        yield { ...frame(index, opening), ...ids }
      }
    } else if (part.type === 'delta') {
      const { index, text, tokens } = part
      counts[index]! += tokens.length
      if (text === '' && !(tokens.length > 0 && (options.logprobs || options.tokenIds))) continue
      yield frame(index, {
        delta: { content: text },
        logprobs: options.logprobs && tokens.length > 0 ? toLogprobs(tokens) : null,
        finish_reason: null,
        stop_reason: null,
        token_ids: options.tokenIds ? tokens.map(token => token.id) : null,
      })
    } else {
      yield frame(part.index, {
        delta: { content: '' },
        logprobs: null,
        finish_reason: part.reason,
        stop_reason: part.stopTokenId,
        token_ids: options.tokenIds ? [] : null,
      })
    }
  }
  if (options.usageFrame)
    yield {
      ...base,
      choices: [],
      usage: toUsage(
        promptTokens,
        counts.reduce((sum, count) => sum + count, 0),
      ),
    }
}

function toUsage(prompt_tokens: number, completion_tokens: number): Usage {
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: null,
  }
}

function toLogprobs(tokens: GeneratedToken[]): Logprobs {
  const content = tokens.map(({ token, bytes, logprob, top }) => ({
    token,
    bytes,
    logprob: Math.max(logprob, LEAST_LOGPROB),
    top_logprobs: top.map(other => ({
      token: other.token,
      bytes: other.bytes,
      logprob: Math.max(other.logprob, LEAST_LOGPROB),
    })),
  }))
  return { content, refusal: null }
}
