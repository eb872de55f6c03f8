/** Everything about tiny-chat that is a number or a name. */

export const MODEL_NAME = 'tiny-chat'

/** The order is the token id. */
export const SPECIAL_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const
export const END_OF_TEXT = 0
export const TURN_START = 1
export const TURN_END = 2

export const MODEL = {
  hiddenSize: 128,
  layers: 4,
  heads: 4,
  keyValueHeads: 2,
  headSize: 32,
  feedForwardSize: 352,
  /** Tokens, the special ones and the 256 bytes included. */
  vocabularySize: 1024,
  /** Tokens. */
  contextLength: 2048,
  ropeTheta: 500_000,
  normEpsilon: 1e-5,
}

export const CORPUS_SEED = 20_260_101
/** Conversations that the tokenizer is trained on and the digest is taken of. */
export const SAMPLE_CONVERSATIONS = 6000

/** Rows of one training step. */
export interface StepShape {
  rows: number
  /** Tokens in a row. */
  length: number
  /** Fewest and most turns of a conversation in them. */
  turns: [least: number, most: number]
  /** Share of the run after which these steps come up, and then how often: every so many steps. */
  from: number
  every: number
}

export const TRAINING = {
  seed: 7,
  steps: 2600,
  /**
   * Single questions first: copying, which most answers are made of, is learnt about twice as fast from them. Longer rows come
   * in later, so that answers stay right far into the context; attention over 2,048 tokens costs about five times as much
   * for each token as over 128. The first shape that is due is taken.
   */
  shapes: [
    { rows: 1, length: 2048, turns: [20, 60], from: 0.6, every: 12 },
    { rows: 4, length: 512, turns: [4, 16], from: 0.5, every: 5 },
    { rows: 16, length: 128, turns: [1, 3], from: 0.4, every: 1 },
    { rows: 16, length: 128, turns: [1, 1], from: 0, every: 1 },
  ] satisfies StepShape[],
  peakLearningRate: 6e-3,
  warmUpSteps: 50,
  /** What the cosine schedule ends on, as a share of the peak. */
  finalShare: 0.02,
  /** Both cores of a small machine. Active waiting of idle threads would be ruinous while anything else runs. */
  session: { threads: 2, spinning: false },
}
