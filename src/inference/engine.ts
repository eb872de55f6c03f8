/**
 * The inference port: what a chat completion needs of an engine, whoever computes it.
 * An engine gets data and gives back a stream of parts; it never sees HTTP or the database.
 */

import type { ConstraintSource } from './constraint/constraint.ts'

/** A chat message as the wire has it, after validation: every role, with content as text, parts or null. */
export interface PromptMessage {
  role: string
  content?: string | null | { type?: string; text?: string; [key: string]: unknown }[]
  name?: string
  tool_calls?: unknown[]
  tool_call_id?: string
  [key: string]: unknown
}

/** What is asked of the model, before the chat template turns it into tokens. */
export interface Prompt {
  messages: PromptMessage[]
  tools: unknown[] | null
  addGenerationPrompt: boolean
  /** The last message stays open: the model goes on with it. */
  continueFinalMessage: boolean
  /** Special tokens on top of those that the template adds. */
  addSpecialTokens: boolean
  /** A template in place of the model's own; null: the model's. */
  chatTemplate: string | null
  /** Extra variables for the template, such as `documents`, `reasoning_effort` or `enable_thinking`. */
  templateVariables: Record<string, unknown>
  /** Keeps the last so many tokens; -1: as many as leave room for the output; null: a prompt that is too long is refused. */
  truncateTokens: number | null
}

/** How the next token is drawn. Every value is resolved: no nulls that mean a default, except where said. */
export interface Sampling {
  /** Most tokens to generate for each choice; null: as many as the context has room for. */
  maxTokens: number | null
  /** Before so many tokens neither an end-of-turn token nor a stop token or string ends a choice. */
  minTokens: number
  /** 0 is greedy. */
  temperature: number
  /** In (0, 1]; 1 keeps everything. */
  topP: number
  /** 0 keeps everything. */
  topK: number
  /** In [0, 1], relative to the most probable token; 0 keeps everything. */
  minP: number
  /** Subtracted from a token's logit for each time that it was generated, and once when it was generated at all; 0 is off. */
  frequencyPenalty: number
  presencePenalty: number
  /** Divides positive and multiplies negative logits of tokens in the prompt or the output (arXiv:1909.05858); 1 is off. */
  repetitionPenalty: number
  /** Added to the logits of these token ids, each in [-100, 100]. */
  logitBias: [id: number, bias: number][]
  /** Null: all. */
  allowedTokenIds: number[] | null
  /** Texts that must not come: the last token of each is blocked where it would complete it, with and without a leading space. */
  badWords: string[]
  /** What the output must look like; null: anything. Compiled where the tokens are, before the first part. */
  constraint: ConstraintSource | null
  /** Null: a random seed. Choice i draws from a stream seeded with (seed, i), whatever else is in the batch. */
  seed: number | null
  /** Number of choices, or of beams. */
  n: number
  /**
   * Null: draws; else keeps the n best sequences by log-probability / length ** lengthPenalty, length in generated tokens;
   * temperature, topK, topP, minP and seed, which are for drawing, have no effect then. Needs n within one batch.
   */
  beam: { lengthPenalty: number } | null
  stop: string[]
  stopTokenIds: number[]
  /** Whether the stop string, or the text of the stop token, stays in the text. */
  includeStop: boolean
  /** Goes on after an end-of-turn token. */
  ignoreEos: boolean
  /** Whether special tokens are left out of the text. */
  skipSpecialTokens: boolean
  /** Whether special tokens that are shown are set apart by spaces. */
  spacesBetweenSpecialTokens: boolean
  /** Ends a choice whose last `minCount` blocks of some length from min to max are all the same; null: off. */
  repetitionDetection: { maxPatternSize: number; minPatternSize: number; minCount: number } | null
  /** Null: no log-probabilities; else how many alternatives go with each token (0: only the token itself). */
  topLogprobs: number | null
  /** Null: none; else how many alternatives go with each token of the prompt. */
  promptLogprobs: number | null
}

/** A LoRA adapter on disk, in PEFT layout. `id` is unique per content, so engines cache by it. */
export interface AdapterReference {
  id: string
  folder: string
}

export interface GenerateRequest {
  /** A name from the list of base models, never a path. */
  baseModel: string
  adapter: AdapterReference | null
  prompt: Prompt
  sampling: Sampling
  /** Lower goes first; 0 unless the deployment schedules by priority. */
  priority: number
  /** Prompts share cached work only with prompts of the same text here: the caller's team and the request's `cache_salt`. */
  cacheScope: string
}

export interface TokenLogprob {
  id: number
  /** The token as text; bytes that are not whole UTF-8 characters show as U+FFFD. */
  token: string
  /** The token's own bytes. */
  bytes: number[]
  /**
   * Natural logarithm of the probability under the model, before temperature, filters and every other rule. At least
   * -9999; NaN in generated tokens where `topLogprobs` is null.
   */
  logprob: number
}

export interface GeneratedToken extends TokenLogprob {
  top: TokenLogprob[]
}

/** A prompt token and the most probable ones in its place, with their ranks from 1; the first token has none. */
export type PromptLogprob = (TokenLogprob & { rank: number })[] | null

/**
 * One part of a generation, in order: `prompt` once, then for each choice any number of `delta` and one `finish`.
 * `delta.tokens` holds every generated token exactly once (the end-of-turn token included); `delta.text` is the text that
 * may be shown so far (never half a character, never part of a stop string), so either may be empty.
 */
export type GeneratePart =
  | { type: 'prompt'; tokenIds: number[]; cachedTokens: number; logprobs: PromptLogprob[] | null }
  | { type: 'delta'; index: number; text: string; tokens: GeneratedToken[] }
  | { type: 'finish'; index: number; reason: 'stop' | 'length' | 'repetition'; stopTokenId: number | null }

export interface InferenceEngine {
  /**
   * Generates `sampling.n` choices for one prompt. Aborting the signal frees the engine within one token.
   * Throws PromptError where the request is at fault, BusyError where the queue is full.
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<GeneratePart>
  /** Resolves when the engine can answer, throws the reason when it cannot. Used by the system check. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The request cannot be turned into a prompt that fits the model: answered 422 with this place and rule. */
export class PromptError extends Error {
  override name = 'PromptError' as const
  /** Path into the request body, for example ['messages', '0', 'content']. */
  loc: string[]
  type: string
  constructor(loc: string[], message: string, type: string) {
    super(message)
    this.loc = loc
    this.type = type
  }
}

/** The queue is full: answered 429 with Retry-After. */
export class BusyError extends Error {
  override name = 'BusyError' as const
}
