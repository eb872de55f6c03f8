/** From the wire's chat request to what the engine is asked: a pure conversion. */
import { invalidValue } from '../errors.ts'
import { toHistory } from '../training/conversation.ts'
import { DataError } from '../training/engine.ts'
import type { JsonObject } from '../training/json-values.ts'
import { toContentText } from '../training/message.ts'
import { toConstraint } from './chat-constraint.ts'
import { checkRules, checkTruncation, isGreedy, toOutputBound } from './chat-rules.ts'
import type { ChatLimits, ChatModelFacts, ChatRequest, ChatTask, ReplyOptions } from './chat-types.ts'
import type { ConstraintSource } from './constraint/constraint.ts'
import type { Prompt, PromptMessage, Sampling } from './engine.ts'

const DEFAULT_TEMPERATURE = 1
/** The wire's spelling of "the whole vocabulary" for top_k, besides 0. */
const TOP_K_OFF = -1
/** The wire's spelling of "any seed", besides null. */
const ANY_SEED = -1
const MOST_BIAS = 100
const RESPONSE_ROLE = 'assistant'

/** Reads a validated request. Throws a 422 for a rule between fields, for a cap of the deployment, and for what is out of reach. */
export function fromChatRequest(request: ChatRequest, model: ChatModelFacts, limits: ChatLimits): ChatTask {
  checkRules(request, limits)
  checkTruncation(request, model.contextLength)
  const constraint = toConstraint(request)
  const prompt = toPrompt(request)
  const options = toReplyOptions(request, prompt, model, constraint.source !== null)
  return {
    prompt,
    sampling: toSampling(request, options, constraint.source),
    priority: request.priority ?? 0,
    options,
    outputBound: toOutputBound(request),
    constraintLoc: constraint.loc,
  }
}

function toPrompt(request: ChatRequest): Prompt {
  const { messages, tools } = readMessages(request)
  const { chat_template: inVariables, ...variables } = request.chat_template_kwargs ?? {}
  const ownVariables = {
    reasoning_effort: request.reasoning_effort,
    include_reasoning: request.include_reasoning,
    documents: request.documents,
  }
  const sent = Object.entries(ownVariables).filter(([, value]) => value != null)
  const continues = request.continue_final_message ?? false
  return {
    messages,
    tools,
    // Left out, it yields to a message that is to go on.
    addGenerationPrompt: request.add_generation_prompt ?? !continues,
    continueFinalMessage: continues,
    addSpecialTokens: request.add_special_tokens ?? false,
    chatTemplate: request.chat_template ?? (inVariables as string | null | undefined) ?? null,
    templateVariables: { ...variables, ...Object.fromEntries(sent) },
    truncateTokens: request.truncate_prompt_tokens ?? null,
  }
}

/** Read as a trajectory's history is, so that a job renders the very prompt that was sampled from. */
function readMessages(request: ChatRequest): { messages: PromptMessage[]; tools: unknown[] | null } {
  try {
    const { elements, tools } = toHistory(request as unknown as JsonObject, 'messages', [])
    return { messages: elements.map(({ message }) => message), tools }
  } catch (error) {
    if (error instanceof DataError) throw invalidValue(['body', ...error.loc], error.message)
    throw error
  }
}

function toSampling(request: ChatRequest, options: ReplyOptions, constraint: ConstraintSource | null): Sampling {
  const { seed, stop, repetition_detection: repetition } = request
  return {
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    minTokens: request.min_tokens ?? 0,
    temperature: isGreedy(request) ? 0 : (request.temperature ?? DEFAULT_TEMPERATURE),
    topP: request.top_p ?? 1,
    topK: request.top_k == null || request.top_k === TOP_K_OFF ? 0 : request.top_k,
    minP: request.min_p ?? 0,
    frequencyPenalty: request.frequency_penalty ?? 0,
    presencePenalty: request.presence_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? 1,
    logitBias: toLogitBias(request.logit_bias),
    allowedTokenIds: request.allowed_token_ids ?? null,
    badWords: request.bad_words ?? [],
    constraint,
    seed: seed == null || seed === ANY_SEED ? null : seed,
    n: request.n ?? 1,
    beam: request.use_beam_search ? { lengthPenalty: request.length_penalty ?? 1 } : null,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    stopTokenIds: request.stop_token_ids ?? [],
    includeStop: request.include_stop_str_in_output ?? false,
    ignoreEos: request.ignore_eos ?? false,
    skipSpecialTokens: request.skip_special_tokens ?? true,
    spacesBetweenSpecialTokens: request.spaces_between_special_tokens ?? true,
    repetitionDetection: toRepetitionDetection(repetition),
    topLogprobs: options.logprobs ? (request.top_logprobs ?? 0) : null,
    promptLogprobs: toPromptLogprobs(request),
  }
}

function toLogitBias(bias: ChatRequest['logit_bias']): [number, number][] {
  return Object.entries(bias ?? {}).map(([id, value]) => [Number(id), Math.min(Math.max(value, -MOST_BIAS), MOST_BIAS)])
}

function toRepetitionDetection(detection: ChatRequest['repetition_detection']): Sampling['repetitionDetection'] {
  const { max_pattern_size: most = 0, min_pattern_size: least = 0, min_count: minCount = 0 } = detection ?? {}
  return most > 0 ? { maxPatternSize: most, minPatternSize: Math.max(least, 1), minCount } : null
}

/** A stream has no place for them. */
function toPromptLogprobs(request: ChatRequest): number | null {
  if (request.stream) return null
  return request.prompt_logprobs ?? (request.echo ? (request.top_logprobs ?? 0) : null)
}

function toReplyOptions(
  request: ChatRequest,
  { messages, addGenerationPrompt }: Prompt,
  { trained, reasoning }: ChatModelFacts,
  isConstrained: boolean,
): ReplyOptions {
  const last = messages.at(-1)!
  const role = addGenerationPrompt ? RESPONSE_ROLE : last.role
  // Tokens would tell what the text may not.
  const showReasoning = request.include_reasoning ?? true
  const { stream_options: streamOptions } = request
  const usageFrame = streamOptions != null && streamOptions.include_usage !== false
  return {
    role,
    echo: request.echo && last.role === role ? toContentText(last.content) : '',
    logprobs: showReasoning && (request.logprobs ?? trained),
    tokensAsIds: request.return_tokens_as_token_ids ?? false,
    tokenIds: showReasoning && (request.return_token_ids ?? (trained && request.logprobs !== false)),
    promptTokenIds: request.return_token_ids ?? false,
    // A text that must follow a form from its first character on has no room for the marks.
    reasoning: isConstrained ? null : reasoning,
    showReasoning,
    usageFrame,
    usageInEveryFrame: usageFrame && streamOptions?.continuous_usage_stats === true,
  }
}
