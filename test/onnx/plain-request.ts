/** A prompt and a sampling that ask for nothing special, to be changed in what a test is about. */
import type { Prompt, PromptMessage, Sampling } from '../../src/inference/engine.ts'

export const plainSampling: Sampling = {
  maxTokens: null,
  minTokens: 0,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  logitBias: [],
  allowedTokenIds: null,
  badWords: [],
  constraint: null,
  seed: 1,
  n: 1,
  beam: null,
  stop: [],
  stopTokenIds: [],
  includeStop: false,
  ignoreEos: false,
  skipSpecialTokens: true,
  spacesBetweenSpecialTokens: true,
  repetitionDetection: null,
  topLogprobs: null,
  promptLogprobs: null,
}

export function promptOf(messages: PromptMessage[], changes: Partial<Prompt> = {}): Prompt {
  return {
    messages,
    tools: null,
    addGenerationPrompt: true,
    continueFinalMessage: false,
    addSpecialTokens: false,
    chatTemplate: null,
    templateVariables: {},
    truncateTokens: null,
    ...changes,
  }
}
