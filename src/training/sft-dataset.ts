/** SFT jobs: from a JSON lines file of conversations to batches of packed rows. */
import { basename } from 'node:path'
import { countCommon, type History, renderHistory, type Turn, toHistory, toSequences } from './conversation.ts'
import { DataError, type SftConfig } from './engine.ts'
import { readJsonLines } from './json-lines.ts'
import { toObject } from './json-values.ts'
import { packRows, shuffle, toRowLength, toSequenceLimit, type WeightedSequence } from './packing.ts'
import type { PackedRow, Renderer } from './rows.ts'

/** One optimiser step. */
export interface SftBatch {
  /** At least one; gradients add up over them, the loss is divided by `trainableTokens`. */
  rows: PackedRow[]
  /** The step size of this batch, from the config's rate or its place in the config's list. */
  learningRate: number
  trainableTokens: number
  /** Conversations in this batch. */
  trajectories: number
}

export interface SftBatches {
  batches: SftBatch[]
  /** num_sequences (steps), num_trajectories (read), num_trajectories_dropped (too long to train on), num_trainable_tokens. */
  summary: { num_sequences: number } & Record<string, number>
}

/** RL's name for the list, taken in SFT data too; a choice in it counts by its message. */
const HISTORY_KEY = 'messages_and_choices'
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** What every trainable token of a conversation carries: the loss is plain cross-entropy. */
const PLAIN = { weight: 1, advantage: 1 }

/**
 * Consecutive slices of `config.batchSize` conversations, in the file's order; the last may be short. Clients shuffle,
 * repeat and schedule themselves, so the slices are counted before conversations that are too long are dropped: each keeps
 * its place in a list of learning rates. Slices that are left empty are skipped. All rows of the job have the same length;
 * the seed only orders rows within a batch. Throws DataError with loc [fileName, line number from 1, field...].
 */
export async function readSftBatches(
  inputFile: string,
  renderer: Renderer,
  config: SftConfig,
  seed: number,
  fileName: string = basename(inputFile),
): Promise<SftBatches> {
  const limit = toSequenceLimit(renderer.contextLength)
  const kept: WeightedSequence[] = []
  let conversations = 0
  let dropped = 0
  for await (const history of readConversations(inputFile, fileName)) {
    const sequences = toSequences(toTurns(history, renderer))
    if (sequences.some(({ ids }) => ids.length > limit)) dropped++
    else for (const tokens of sequences) kept.push({ tokens, ...PLAIN, trajectory: conversations })
    conversations++
  }
  const length = toRowLength(kept)
  const slices = Map.groupBy(kept, ({ trajectory }) => Math.floor(trajectory / config.batchSize))
  const batches = [...slices]
    .map(([step, slice]) => toBatch(slice, length, toLearningRate(config.learningRate, step), seed + step))
    .filter(({ rows }) => rows.length > 0)
  return {
    batches,
    summary: {
      num_sequences: batches.length,
      num_trajectories: conversations,
      num_trajectories_dropped: dropped,
      num_trainable_tokens: batches.reduce((sum, { trainableTokens }) => sum + trainableTokens, 0),
    },
  }
}

/**
 * Throws the first DataError of the file, or resolves with the number of conversations. With a renderer it also finds what
 * the chat template refuses, at the price of rendering the whole file.
 */
export async function checkSftFile(
  inputFile: string,
  renderer?: Renderer,
  fileName: string = basename(inputFile),
): Promise<number> {
  let conversations = 0
  for await (const history of readConversations(inputFile, fileName)) {
    if (renderer !== undefined) renderHistory(renderer, history, history.elements.length, false)
    conversations++
  }
  return conversations
}

async function* readConversations(inputFile: string, fileName: string): AsyncGenerator<History> {
  let empty = true
  for await (const { value, loc } of readJsonLines(inputFile, fileName)) {
    empty = false
    yield toConversation(value, loc)
  }
  if (empty) throw new DataError([fileName], 'the file holds no conversation')
}

function toConversation(value: unknown, loc: string[]): History {
  const line = toObject(value, loc)
  const key = (line.messages ?? null) === null && Array.isArray(line.messages_and_choices) ? HISTORY_KEY : 'messages'
  if (line[key] === undefined) throw new DataError([...loc, key], 'is missing')
  const history = toHistory(line, key, loc)
  const { elements } = history
  const place = [...loc, key]
  if (elements.length === 0) throw new DataError(place, 'must hold at least one message')
  elements.forEach(({ message, choice }, i) => {
    const at = [...place, String(i), ...(choice === null ? [] : ['message'])]
    if (!ROLES.includes(message.role)) {
      throw new DataError([...at, 'role'], `must be one of ${ROLES.join(', ')}`)
    }
    const calls = message.role === 'assistant' && (message.tool_calls ?? message.function_call) !== undefined
    if (message.content === null && !calls) {
      throw new DataError([...at, 'content'], 'must be a string, unless an assistant message calls tools')
    }
  })
  if (elements[0]!.message.role === 'assistant') {
    throw new DataError([...place, '0', 'role'], 'the first message must be of another role than assistant')
  }
  const last = elements.length - 1
  if (elements[last]!.message.role !== 'assistant') {
    throw new DataError([...place, String(last), 'role'], 'the last message must be the assistant’s')
  }
  return history
}

/** One turn for each assistant message: what its text adds to the prompt that asks for it, up to the end of the turn. */
function toTurns(history: History, renderer: Renderer): Turn[] {
  return history.elements.flatMap(({ message }, i) => {
    if (message.role !== 'assistant') return []
    const asking = renderHistory(renderer, history, i, true)
    const answered = renderHistory(renderer, history, i + 1, false)
    const start = countCommon(asking, answered)
    const end = toTurnEnd(answered, start, renderer.endOfTurnIds)
    return [{ prompt: answered.slice(0, start), completion: answered.slice(start, end), logprobs: null }]
  })
}

/** Templates may write more after the end of the turn, such as a line break, which the model never has to produce. */
function toTurnEnd(ids: readonly number[], start: number, endOfTurnIds: readonly number[]): number {
  const last = ids.findLastIndex(id => endOfTurnIds.includes(id))
  return last >= start ? last + 1 : ids.length
}

function toBatch(slice: readonly WeightedSequence[], length: number, learningRate: number, seed: number): SftBatch {
  const rows = shuffle(packRows(slice, length), seed)
  return {
    rows,
    learningRate,
    trainableTokens: rows.reduce((sum, row) => sum + row.trainableTokens, 0),
    trajectories: new Set(slice.map(({ trajectory }) => trajectory)).size,
  }
}

/** A list shorter than the steps goes on with its last value. */
function toLearningRate(learningRate: number | number[], step: number): number {
  return typeof learningRate === 'number' ? learningRate : learningRate[Math.min(step, learningRate.length - 1)]!
}
