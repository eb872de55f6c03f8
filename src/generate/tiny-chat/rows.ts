/** Conversations as rows of tokens: several in one row, each seeing only itself. */
import type { PackedRow } from '../../training/rows.ts'
import { type Conversation, createConversation } from './corpus/conversation.ts'
import type { Random } from './random.ts'
import { type StepShape, TURN_END, TURN_START } from './settings.ts'

export interface EncodedConversation {
  ids: number[]
  /** How much predicting each token counts; the first one is never predicted. */
  weights: number[]
}

/** Tokens that the model will not have to write still teach it the language, at this weight beside an answer's 1. */
const CONTEXT_WEIGHT = 0.1

/** What the chat template renders for a conversation, as tokens. */
export function encodeConversation(
  conversation: Conversation,
  encode: (text: string) => number[],
): EncodedConversation {
  const ids: number[] = []
  const weights: number[] = []
  const add = (tokens: number[], weight: number) => {
    for (const token of tokens) {
      ids.push(token)
      weights.push(ids.length === 1 ? 0 : weight)
    }
  }
  for (const { role, content } of toRendered(conversation)) {
    add([TURN_START, ...encode(`${role}\n`)], CONTEXT_WEIGHT)
    const isAnswer = role === 'assistant'
    add([...encode(content), TURN_END], isAnswer ? 1 : CONTEXT_WEIGHT)
    add(encode('\n'), CONTEXT_WEIGHT)
  }
  return { ids, weights }
}

/** The messages with the tools put where the chat template puts them. */
function toRendered({ messages, tools }: Conversation): { role: string; content: string }[] {
  if (!tools) return messages
  const [first, ...rest] = messages
  const leading = first?.role === 'system'
  const list = ['Tools:', ...tools.map(tool => toSpacedJson(tool.function))].join('\n')
  return [{ role: 'system', content: leading ? `${first.content}\n${list}` : list }, ...(leading ? rest : messages)]
}

/** JSON with a space after each comma and colon, as the template's tojson filter writes it. */
function toSpacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSpacedJson).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${toSpacedJson(item)}`)
    .join(', ')}}`
}

/**
 * Rows of the given shape full of fresh conversations; what does not fit is cut off.
 * The weights of all rows have a mean of 1, so that the loss is a weighted mean over tokens.
 */
export function createRows(
  random: Random,
  encode: (text: string) => number[],
  shape: Pick<StepShape, 'rows' | 'length' | 'turns'>,
): PackedRow[] {
  const rows = Array.from({ length: shape.rows }, () => createRow(random, encode, shape))
  const sum = (values: Iterable<number>) => Iterator.from(values).reduce((total, value) => total + value, 0)
  const tokens = sum(rows.map(row => row.trainableTokens))
  const scale = tokens / sum(rows.map(row => sum(row.weight)))
  for (const row of rows) row.weight = row.weight.map(weight => weight * scale)
  return rows
}

function createRow(
  random: Random,
  encode: (text: string) => number[],
  { length, turns }: Pick<StepShape, 'length' | 'turns'>,
): PackedRow {
  const row: PackedRow = {
    length,
    ids: new Int32Array(length),
    target: new Int32Array(length),
    weight: new Float32Array(length),
    advantage: new Float32Array(length),
    oldLogprob: new Float32Array(length).fill(Number.NaN),
    sequence: new Int32Array(length),
    position: new Int32Array(length),
    trainableTokens: 0,
    trajectories: 0,
  }
  for (let start = 0; start < length; row.trajectories++) {
    const { ids, weights } = encodeConversation(createConversation(random, random.between(...turns)), encode)
    const fitting = Math.min(ids.length, length - start)
    for (let position = 0; position < fitting; position++) {
      const place = start + position
      row.ids[place] = ids[position]!
      row.sequence[place] = row.trajectories
      row.position[place] = position
      if (position + 1 === fitting) continue
      row.target[place] = ids[position + 1]!
      row.weight[place] = weights[position + 1]!
      row.advantage[place] = 1
      row.trainableTokens++
    }
    start += fitting
  }
  return row
}
