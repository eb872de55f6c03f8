/**
 * The inference port: what a chat completion needs of an engine, whoever computes it.
 * An engine gets data and gives back a stream of parts; it never sees HTTP or the database.
 */

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
  continueFinalMessage: boolean
  /** Extra variables for the template, such as `documents` or `enable_thinking`. */
  templateVariables: Record<string, unknown>
}

/** How the next token is drawn. Every value is resolved: no nulls that mean a default, except where said. */
export interface Sampling {
  /** Most tokens to generate for each choice; null: as many as the context has room for. */
  maxTokens: number | null
  /** 0 is greedy. */
  temperature: number
  /** In (0, 1]; 1 keeps everything. */
  topP: number
  /** 0 keeps everything. */
  topK: number
  /** In [0, 1], relative to the most probable token; 0 keeps everything. */
  minP: number
  /** Null: a random seed. Choice i draws from a stream seeded with (seed, i), whatever else is in the batch. */
  seed: number | null
  /** Number of choices. */
  n: number
  stop: string[]
  /** Null: no log-probabilities; else how many alternatives go with each token (0: only the token itself). */
  topLogprobs: number | null
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
}

export interface TokenLogprob {
  id: number
  /** The token as text; bytes that are not whole UTF-8 characters show as U+FFFD. */
  token: string
  /** The token's own bytes. */
  bytes: number[]
  /** Natural logarithm of the probability under the model, before temperature and filters. At least -9999. */
  logprob: number
}

export interface GeneratedToken extends TokenLogprob {
  top: TokenLogprob[]
}

/**
 * One part of a generation, in order: `prompt` once, then for each choice any number of `delta` and one `finish`.
 * `delta.tokens` holds every generated token exactly once (the end-of-turn token included); `delta.text` is the text that
 * may be shown so far (never half a character, never part of a stop string), so either may be empty.
 */
export type GeneratePart =
  | { type: 'prompt'; tokenIds: number[] }
  | { type: 'delta'; index: number; text: string; tokens: GeneratedToken[] }
  | { type: 'finish'; index: number; reason: 'stop' | 'length'; stopTokenId: number | null }

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
