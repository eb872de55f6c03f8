/** The wire's chat completion, and what its converters share. */
import type { components } from '../../generated/schema.d.ts'
import type { Settings } from '../config.ts'
import type { GeneratePart, Prompt, Sampling } from './engine.ts'
import type { ReasoningMarks } from './reasoning.ts'

export type ChatRequest = components['schemas']['ChatCompletionRequest']
export type ChatCompletion = components['schemas']['ChatCompletion']
export type ChatChunk = components['schemas']['ChatCompletionChunk']
export type PromptPart = Extract<GeneratePart, { type: 'prompt' }>

/** The settings that a chat request is read with. */
export type ChatLimits = Pick<
  Settings,
  'maxMessages' | 'maxChoices' | 'maxTopLogprobs' | 'maxStop' | 'trustRequestChatTemplate' | 'priorityScheduling'
>

/** What the request's meaning depends on of the model that it names. */
export interface ChatModelFacts {
  /** A trained model reports log-probabilities and token ids unasked, because training needs them. */
  trained: boolean
  /** Tokens of context. */
  contextLength: number
  reasoning: ReasoningMarks | null
}

/** A number of output tokens that the context must have room for, with the request field that asks for it. */
export interface OutputBound {
  field: string
  tokens: number
}

/** What a reply shows. */
export interface ReplyOptions {
  role: string
  /** Text that comes before what is generated; empty without `echo`. */
  echo: string
  logprobs: boolean
  /** Whether tokens are written as `token_id:<id>`. */
  tokensAsIds: boolean
  tokenIds: boolean
  promptTokenIds: boolean
  /** Null: all text is content. */
  reasoning: ReasoningMarks | null
  showReasoning: boolean
  usageFrame: boolean
  usageInEveryFrame: boolean
}

export interface ChatTask {
  prompt: Prompt
  sampling: Sampling
  priority: number
  options: ReplyOptions
  outputBound: OutputBound | null
  /** Where in the request the rule for the text stands, for faults that the engine finds in it. */
  constraintLoc: string[]
}

/** What all replies and frames of one request share. */
export interface ReplyHead {
  id: string
  created: number
  model: string
}
