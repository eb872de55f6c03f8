/**
 * What the training data becomes and what it needs: rows of fixed length for the training graph, and the renderer that turns
 * messages into tokens. Both are plain data or narrow interfaces, so that datasets can be tested without a model.
 */
import type { Prompt } from '../inference/engine.ts'

/**
 * Several token sequences one after another in one row of fixed length; attention never crosses from one to the next.
 * Every array has `length` entries. What stands at index i is about predicting `target[i]` from the tokens up to `ids[i]`.
 */
export interface PackedRow {
  length: number
  /** Token ids; 0 in the padding. */
  ids: Int32Array
  /** The token to predict at i: `ids[i + 1]` of the same sequence; 0 at a sequence's last token and in the padding. */
  target: Int32Array
  /** 0 where nothing trains. RL: mean 1 over the trainable tokens of the whole job. SFT: 1. */
  weight: Float32Array
  /** RL: the normalised advantage of the token's trajectory. SFT: 1. 0 where nothing trains. */
  advantage: Float32Array
  /** Natural logarithm of the probability that the target had when it was sampled; NaN where missing, and where nothing trains. */
  oldLogprob: Float32Array
  /** Number of the sequence within the row, from 0; -1 in the padding. */
  sequence: Int32Array
  /** Place of the token within its sequence, from 0; 0 in the padding. */
  position: Int32Array
  /** Number of entries of `weight` above 0: at least 1. */
  trainableTokens: number
  /** Number of different trajectories (SFT: conversations) that have a sequence in this row. */
  trajectories: number
}

/**
 * Turns messages into tokens of one base model: the part of the engine's chat renderer that datasets use.
 * It has to be the same that chat completions use, else a job would train on tokens that were never sampled.
 */
export interface Renderer {
  /** Longest sequence the model takes, in tokens. */
  contextLength: number
  /** Ids are below this. */
  vocabularySize: number
  /** Ids that end an assistant turn, such as that of `<|im_end|>`. */
  endOfTurnIds: readonly number[]
  /**
   * Applies the chat template and encodes the result. Messages are as the wire has them (content as text, parts or null;
   * tool call arguments as JSON text). Throws PromptError where the template refuses them or a content part is not text.
   */
  render(prompt: Prompt): number[]
  /** The id of the token with exactly these bytes (UTF-8 of its text for special tokens); null where there is none. */
  tokenId(bytes: readonly number[]): number | null
}
