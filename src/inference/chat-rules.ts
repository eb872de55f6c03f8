/** The rules of a chat request that a schema cannot say: between fields, and the caps and switches of the deployment. */
import { invalidValue } from '../errors.ts'
import type { ChatLimits, ChatRequest } from './chat-types.ts'

/** Each word costs the tokenizer a moment. */
const MAX_BAD_WORDS = 1024
const MAX_CACHE_SALT_LENGTH = 128
const MAX_REQUEST_ID_LENGTH = 256
/** Fewer equal blocks are no repetition. */
const LEAST_REPETITIONS = 2
/** Temperatures below are greedy: logits divided by them are beyond all numbers. */
export const LEAST_TEMPERATURE = 1e-5
/** Variables of a chat template that fields of the request set. */
const OWN_VARIABLES = ['messages', 'tools', 'add_generation_prompt', 'continue_final_message']

type Fail = (loc: string | string[], msg: string, type?: string) => never

const fail: Fail = (loc, msg, type = 'value_error') => {
  throw invalidValue(['body', ...[loc].flat()], msg, type)
}

/** Throws a 422 for the first rule that a validated request breaks. */
export function checkRules(request: ChatRequest, limits: ChatLimits): void {
  checkCaps(request, limits)
  checkLogprobs(request, limits)
  checkLengths(request)
  checkTemplate(request, limits)
  checkRepetition(request)
  checkOutOfReach(request)
  if (request.stream_options && !request.stream) fail('stream_options', 'stream_options needs stream to be true')
  if ((request.n ?? 1) > 1 && !request.use_beam_search && isGreedy(request)) {
    fail('n', 'n above 1 needs a temperature above 0, or beam search: greedy choices would all be the same')
  }
  if (request.priority && !limits.priorityScheduling) {
    fail('priority', 'The served model does not use priority scheduling, so priority must be 0')
  }
}

export function isGreedy({ temperature }: ChatRequest): boolean {
  return temperature != null && temperature < LEAST_TEMPERATURE
}

function checkCaps(request: ChatRequest, limits: ChatLimits): void {
  const { messages, n, stop, bad_words: badWords = [] } = request
  const tooMany = (field: string, most: number, what: string) =>
    fail(field, `At most ${most} ${what} are allowed`, 'too_long')
  if (messages.length > limits.maxMessages) tooMany('messages', limits.maxMessages, 'messages')
  if ((n ?? 1) > limits.maxChoices) fail('n', `n may be at most ${limits.maxChoices}`, 'less_than_equal')
  if (Array.isArray(stop) && stop.length > limits.maxStop) tooMany('stop', limits.maxStop, 'stop strings')
  if (badWords.length > MAX_BAD_WORDS) tooMany('bad_words', MAX_BAD_WORDS, 'bad words')
  if ((request.cache_salt?.length ?? 0) > MAX_CACHE_SALT_LENGTH)
    tooMany('cache_salt', MAX_CACHE_SALT_LENGTH, 'characters')
  if ((request.request_id?.length ?? 0) > MAX_REQUEST_ID_LENGTH)
    tooMany('request_id', MAX_REQUEST_ID_LENGTH, 'characters')
}

function checkLogprobs(request: ChatRequest, { maxTopLogprobs }: ChatLimits): void {
  const { logprobs, top_logprobs: top, prompt_logprobs: ofPrompt, stream } = request
  if ((top ?? 0) > maxTopLogprobs)
    fail('top_logprobs', `top_logprobs may be at most ${maxTopLogprobs}`, 'less_than_equal')
  if ((top ?? 0) > 0 && !logprobs) fail('top_logprobs', 'top_logprobs needs logprobs to be true')
  if (ofPrompt && stream) fail('prompt_logprobs', 'prompt_logprobs cannot be streamed')
  if (ofPrompt === -1)
    fail('prompt_logprobs', `-1 is the whole vocabulary, and at most ${maxTopLogprobs} are allowed`, 'less_than_equal')
  if ((ofPrompt ?? 0) > maxTopLogprobs)
    fail('prompt_logprobs', `prompt_logprobs may be at most ${maxTopLogprobs}`, 'less_than_equal')
}

function checkLengths(request: ChatRequest): void {
  const most = request.max_completion_tokens ?? request.max_tokens
  if (most != null && (request.min_tokens ?? 0) > most) {
    fail('min_tokens', `min_tokens may be at most the ${most} tokens to generate`, 'less_than_equal')
  }
}

function checkTemplate(request: ChatRequest, { trustRequestChatTemplate: isTrusted }: ChatLimits): void {
  if (request.add_generation_prompt && request.continue_final_message) {
    fail('continue_final_message', 'continue_final_message cannot be combined with add_generation_prompt')
  }
  const untrusted = 'A chat template is a program, and this deployment trusts none of a request'
  if (request.chat_template != null && !isTrusted) fail('chat_template', untrusted, 'not_trusted')
  const variables = request.chat_template_kwargs ?? {}
  for (const name of OWN_VARIABLES) {
    if (name in variables) fail(['chat_template_kwargs', name], `${name} is set by the request itself`)
  }
  const template = variables.chat_template
  if (template == null) return
  if (!isTrusted) fail(['chat_template_kwargs', 'chat_template'], untrusted, 'not_trusted')
  if (typeof template !== 'string')
    fail(['chat_template_kwargs', 'chat_template'], 'Input should be a valid string', 'string_type')
}

function checkRepetition({ repetition_detection: detection }: ChatRequest): void {
  const { max_pattern_size: most = 0, min_pattern_size: least = 0, min_count: count = 0 } = detection ?? {}
  if (least > most) {
    fail(
      ['repetition_detection', 'min_pattern_size'],
      `min_pattern_size may be at most max_pattern_size, ${most}`,
      'less_than_equal',
    )
  }
  if (most > 0 && count < LEAST_REPETITIONS) {
    const msg = `min_count must be at least ${LEAST_REPETITIONS}`
    fail(['repetition_detection', 'min_count'], msg, 'greater_than_equal')
  }
}

/** What a text model on one machine cannot do; nothing in it asks for nothing. */
function checkOutOfReach(request: ChatRequest): void {
  const refuse = (field: keyof ChatRequest, toMessage: (name: string) => string) => {
    const [name] = Object.keys(request[field] ?? {})
    if (name !== undefined) fail([field, name], toMessage(name), 'not_supported')
  }
  refuse('mm_processor_kwargs', name => `The model reads text: there is no multimodal processor to give ${name} to`)
  refuse('kv_transfer_params', name => `The model is served on one machine: there is no transfer with a ${name}`)
  refuse('engine_xargs', name => `The engine has no parameter named ${name}`)
}

/**
 * The number of output tokens that the context must have room for, and the field that asks for them; null where the
 * output takes what there is.
 */
export function toOutputBound(request: ChatRequest): { field: string; tokens: number } | null {
  for (const field of ['max_completion_tokens', 'max_tokens', 'min_tokens'] as const) {
    const tokens = request[field]
    if (tokens) return { field, tokens }
  }
  return null
}

/** Throws a 422 when the prompt leaves no room for the output that was asked for. */
export function checkRoom(promptTokens: number, contextLength: number, bound: ReturnType<typeof toOutputBound>): void {
  if (!bound || promptTokens + bound.tokens <= contextLength) return
  fail(
    bound.field,
    `The prompt has ${promptTokens} tokens and ${bound.tokens} were asked for, but the model's context holds ${contextLength}`,
    'context_length_exceeded',
  )
}

/** Throws a 422 for a truncation that keeps more of the prompt than the context can hold beside the output. */
export function checkTruncation(request: ChatRequest, contextLength: number): void {
  const kept = request.truncate_prompt_tokens
  // One token is the least that there is to generate.
  const most = contextLength - (toOutputBound(request)?.tokens ?? 1)
  if (kept === 0) fail('truncate_prompt_tokens', 'A prompt needs at least one token', 'greater_than_equal')
  if (kept == null || kept <= Math.max(most, 0)) return
  fail('truncate_prompt_tokens', `The context has room for a prompt of ${most} tokens only`, 'less_than_equal')
}
