/** From messages to token sequences: what RL and SFT data have in common. */
import { type Prompt, PromptError, type PromptMessage } from '../inference/engine.ts'
import { DataError } from './engine.ts'
import { isObject, type JsonObject, toArray, toObject } from './json-values.ts'
import { toMessage } from './message.ts'
import type { Renderer } from './rows.ts'

/** An element of `messages_and_choices` or `messages`: the message as the template sees it, and the choice it came in. */
export interface Element {
  message: PromptMessage
  /** Null for a plain message. */
  choice: JsonObject | null
}

/** A list of elements with its tools, and the place of both. */
export interface History {
  elements: Element[]
  tools: unknown[] | null
  /** Path to the object that holds the list. */
  loc: string[]
  /** The list's name in that object. */
  key: string
}

/** A prompt and the assistant's tokens after it. */
export interface Turn {
  prompt: readonly number[]
  /** The assistant's tokens, with the one that ended the turn. */
  completion: readonly number[]
  /** Log-probability of each completion token when it was sampled, NaN where missing; null for turns that were not sampled. */
  logprobs: readonly number[] | null
}

/** Tokens that are trained on in one piece. All three arrays are as long as each other. */
export interface TokenSequence {
  ids: number[]
  trainable: boolean[]
  /** NaN where missing or not trainable. */
  oldLogprobs: number[]
}

/** Reads `{[key]: [message or choice...], tools}`. A missing list is an empty one. Throws DataError. */
export function toHistory(holder: JsonObject, key: string, loc: string[]): History {
  const elements = toArray(holder[key], [...loc, key]).map((value, i) => toElement(value, [...loc, key, String(i)]))
  const tools = toArray(holder.tools, [...loc, 'tools'])
  tools.forEach((tool, i) => {
    toObject(tool, [...loc, 'tools', String(i)])
  })
  return { elements, tools: tools.length === 0 ? null : tools, loc, key }
}

/** A choice is told by its `message`, a message by its `role`. */
function toElement(value: unknown, loc: string[]): Element {
  const element = toObject(value, loc)
  if (isObject(element.message) && typeof element.role !== 'string') {
    return { message: toMessage(element.message, [...loc, 'message']), choice: element }
  }
  return { message: toMessage(element, loc), choice: null }
}

/** Renders the history's elements before `end`. A template's refusal becomes a DataError at the element it names. */
export function renderHistory(
  renderer: Renderer,
  history: History,
  end: number,
  addGenerationPrompt: boolean,
): number[] {
  const messages = history.elements.slice(0, end).map(({ message }) => message)
  const { tools } = history
  try {
    return renderer.render({
      messages,
      tools,
      addGenerationPrompt,
      continueFinalMessage: false,
      addSpecialTokens: false,
      chatTemplate: null,
      templateVariables: {},
      truncateTokens: null,
    })
  } catch (error) {
    if (error instanceof PromptError) throw new DataError(toElementLoc(history, error.loc), error.message)
    throw error
  }
}

/** From ['messages', '2', 'content'] in the prompt to the place in the data. */
function toElementLoc(history: History, [first, index, ...rest]: string[]): string[] {
  if (first !== 'messages')
    return first === undefined ? history.loc : [...history.loc, first, ...toPath(index), ...rest]
  const inChoice = index !== undefined && history.elements[Number(index)]?.choice
  return [...history.loc, history.key, ...toPath(index), ...(inChoice ? ['message'] : []), ...rest]
}

function toPath(index: string | undefined): string[] {
  return index === undefined ? [] : [index]
}

/** Rollouts of a group share their prompts: the same prompt is rendered once. Holds the last `capacity` prompts or so. */
export function createCachedRenderer(renderer: Renderer, capacity = 256): Renderer {
  const cache = new Map<string, number[]>()
  const render = (prompt: Prompt): number[] => {
    const key = JSON.stringify(prompt)
    const known = cache.get(key)
    if (known !== undefined) return known
    if (cache.size >= capacity) cache.clear()
    const ids = renderer.render(prompt)
    cache.set(key, ids)
    return ids
  }
  return {
    render,
    contextLength: renderer.contextLength,
    vocabularySize: renderer.vocabularySize,
    endOfTurnIds: renderer.endOfTurnIds,
    tokenId: bytes => renderer.tokenId(bytes),
  }
}

/**
 * Joins the turns of one history: a turn whose prompt begins with everything so far goes on, any other starts a new
 * sequence with its whole prompt (the rule of the clients' newest tokeniser). So each completion is trained once, after
 * exactly the prompt that the model saw.
 */
export function toSequences(turns: readonly Turn[]): TokenSequence[] {
  const sequences: TokenSequence[] = []
  for (const turn of turns) {
    let sequence = sequences.at(-1)
    if (sequence === undefined || countCommon(sequence.ids, turn.prompt) < sequence.ids.length) {
      sequence = { ids: [], trainable: [], oldLogprobs: [] }
      sequences.push(sequence)
    }
    for (const id of turn.prompt.slice(sequence.ids.length)) append(sequence, id, false, Number.NaN)
    for (const [i, id] of turn.completion.entries()) {
      // A sequence's very first token has nothing to be predicted from.
      append(sequence, id, sequence.ids.length > 0, turn.logprobs?.[i] ?? Number.NaN)
    }
  }
  return sequences
}

function append(sequence: TokenSequence, id: number, trainable: boolean, oldLogprob: number): void {
  sequence.ids.push(id)
  sequence.trainable.push(trainable)
  sequence.oldLogprobs.push(oldLogprob)
}

/** How many tokens at the start of both lists are the same. */
export function countCommon(a: readonly number[], b: readonly number[]): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) if (a[i] !== b[i]) return i
  return shorter
}

export function countTrainable(sequences: readonly TokenSequence[]): number {
  return sequences.reduce((count, { trainable }) => count + trainable.filter(Boolean).length, 0)
}
