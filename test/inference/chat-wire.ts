/** Short ways to read a chat request and to fold a reply, for tests of the converters. */
import { ApiError } from '../../src/errors.ts'
import { toChatCompletion } from '../../src/inference/chat-reply.ts'
import { fromChatRequest } from '../../src/inference/chat-request.ts'
import { toChatChunks } from '../../src/inference/chat-stream.ts'
import type {
  ChatChunk,
  ChatCompletion,
  ChatLimits,
  ChatModelFacts,
  ChatRequest,
  ChatTask,
  ReplyOptions,
} from '../../src/inference/chat-types.ts'
import type { GeneratedToken, GeneratePart, PromptLogprob } from '../../src/inference/engine.ts'

export const LIMITS: ChatLimits = {
  maxMessages: 4,
  maxChoices: 8,
  maxTopLogprobs: 5,
  maxStop: 2,
  trustRequestChatTemplate: false,
  priorityScheduling: false,
}
export const MODEL: ChatModelFacts = { trained: false, contextLength: 100, reasoning: null }
export const MARKS = { open: '<think>', close: '</think>', openId: 50, closeId: 51 }
export const messages = [{ role: 'user', content: 'hi' }]
export const head = { id: 'chatcmpl-1', created: 1, model: 'm' }

export function read(
  fields: object,
  { model, limits }: { model?: Partial<ChatModelFacts>; limits?: Partial<ChatLimits> } = {},
): ChatTask {
  return fromChatRequest({ messages, ...fields } as ChatRequest, { ...MODEL, ...model }, { ...LIMITS, ...limits })
}

/** The place and type of the 422 that a request gets, or null. */
export function faultOf(fields: object, limits: Partial<ChatLimits> = {}): { loc: string[]; type: string } | null {
  try {
    read(fields, { limits })
    return null
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error
    const { loc, type } = error.detail![0]!
    return { loc, type }
  }
}

export function token(id: number, logprob = -0.5): GeneratedToken {
  return { id, token: `t${id}`, bytes: [id], logprob, top: [{ id, token: `t${id}`, bytes: [id], logprob }] }
}

export const promptPart = (tokenIds = [1, 2, 3], logprobs: PromptLogprob[] | null = null): GeneratePart => ({
  type: 'prompt',
  tokenIds,
  cachedTokens: 2,
  logprobs,
})

export const delta = (index: number, text: string, ...tokens: GeneratedToken[]): GeneratePart => ({
  type: 'delta',
  index,
  text,
  tokens,
})

export const finish = (
  index: number,
  reason: 'stop' | 'length' | 'repetition',
  stopTokenId: number | null = null,
): GeneratePart => ({ type: 'finish', index, reason, stopTokenId })

export async function* toParts(...parts: GeneratePart[]): AsyncGenerator<GeneratePart> {
  yield* parts
}

/** The options of a plain request, changed where a test says so. */
export function toOptions(changes: Partial<ReplyOptions> = {}): ReplyOptions {
  return { ...read({}).options, ...changes }
}

export function fold(parts: GeneratePart[], options: Partial<ReplyOptions> = {}): Promise<ChatCompletion> {
  return toChatCompletion(toParts(...parts), head, toOptions(options))
}

export async function stream(
  parts: GeneratePart[],
  choices: number,
  options: Partial<ReplyOptions> = {},
): Promise<ChatChunk[]> {
  const chunks: ChatChunk[] = []
  for await (const chunk of toChatChunks(toParts(...parts), head, choices, toOptions(options))) chunks.push(chunk)
  return chunks
}
