/** RL jobs: from the request body to packed rows (rules: facts on the clients' trainer, which the interface serves). */
import { readFile } from 'node:fs/promises'
import { toAdvantages, toRewardSummary, toTokenScales } from './advantages.ts'
import {
  countTrainable,
  createCachedRenderer,
  renderHistory,
  type TokenSequence,
  type Turn,
  toSequences,
} from './conversation.ts'
import { DataError, type RlConfig } from './engine.ts'
import { packRows, shuffle, toRowLength, toSequenceLimit, truncate } from './packing.ts'
import type { PackedRow, Renderer } from './rows.ts'
import {
  type ChoiceTokens,
  type SampledHistory,
  type SampledToken,
  type TrajectoryGroup,
  toTrajectoryGroups,
} from './trajectories.ts'

export interface RlRows {
  /** In the order in which to train, one optimiser step each; empty where there is nothing to learn. */
  rows: PackedRow[]
  /** See readRlRows; fit for the `training_started` event and the checkpoint's metrics. */
  summary: { num_sequences: number } & Record<string, number>
}

/** A trajectory that trains, before weights. */
interface LearningTrajectory {
  group: number
  advantage: number
  /** Trainable tokens before truncation. */
  trainableTokens: number
  sequences: TokenSequence[]
}

/**
 * Reads the request body kept in `inputFile` and makes the job's rows. Summary: the statistics of toRewardSummary, and
 * num_sequences (rows), num_groups_skipped (groups that give no row anything), num_trainable_tokens,
 * num_truncated_sequences and num_truncated_tokens (cut off beyond the longest sequence that fits).
 * Throws DataError where the data is at fault. The same seed gives the same rows.
 */
export async function readRlRows(
  inputFile: string,
  renderer: Renderer,
  config: RlConfig,
  seed: number,
): Promise<RlRows> {
  return toRlRows(await readBody(inputFile), renderer, config, seed)
}

/** readRlRows for a body that is at hand. */
export function toRlRows(body: unknown, renderer: Renderer, config: RlConfig, seed: number): RlRows {
  const groups = toTrajectoryGroups(body)
  const trajectories = toLearningTrajectories(groups, createCachedRenderer(renderer), config.scaleRewards)
  const limit = toSequenceLimit(renderer.contextLength)
  const kept = trajectories.map(({ sequences }) =>
    sequences.map(sequence => truncate(sequence, limit)).filter(sequence => sequence !== null),
  )
  const scales = toTokenScales(
    trajectories.map(({ advantage, trainableTokens }, i) => {
      return { advantage, trainableTokens, keptTokens: countTrainable(kept[i]!) }
    }),
    config.advantageBalance,
  )
  const weighted = (scales ?? []).flatMap((scale, trajectory) =>
    kept[trajectory]!.map(tokens => ({ tokens, ...scale, trajectory })),
  )
  const rows = shuffle(packRows(weighted, toRowLength(weighted)), seed)
  const used = new Set(weighted.map(({ trajectory }) => trajectories[trajectory]!.group))
  const overlong = trajectories.flatMap(({ sequences }) => sequences).filter(({ ids }) => ids.length > limit)
  return {
    rows,
    summary: {
      num_sequences: rows.length,
      ...toRewardSummary(groups.map(toGroupRewards)),
      num_groups_skipped: groups.length - used.size,
      num_trainable_tokens: rows.reduce((sum, row) => sum + row.trainableTokens, 0),
      num_truncated_sequences: overlong.length,
      num_truncated_tokens: overlong.reduce((sum, { ids }) => sum + ids.length - limit, 0),
    },
  }
}

/**
 * Everything that could stop an RL job for its data, before it starts: throws the first DataError, or resolves with the
 * number of trajectories. Without renderer only what can be seen without the model is checked.
 */
export async function checkRlFile(inputFile: string, renderer?: Renderer): Promise<number> {
  return checkRlData(await readBody(inputFile), renderer)
}

/** checkRlFile for a body that is at hand. */
export function checkRlData(body: unknown, renderer?: Renderer): number {
  const groups = toTrajectoryGroups(body)
  if (renderer !== undefined) toLearningTrajectories(groups, createCachedRenderer(renderer), true)
  return groups.reduce((count, { trajectories }) => count + trajectories.length, 0)
}

async function readBody(inputFile: string): Promise<unknown> {
  const text = await readFile(inputFile, 'utf8')
  try {
    // A byte order mark is no part of JSON, and clients may send one.
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new DataError([], `the request body is not JSON: ${(error as Error).message}`)
  }
}

function toGroupRewards({ trajectories, exceptions }: TrajectoryGroup): { rewards: number[]; exceptions: number } {
  return { rewards: trajectories.map(({ reward }) => reward), exceptions }
}

/** Trajectories with an advantage other than 0 and at least one sampled token. Token ids of the others are checked too. */
function toLearningTrajectories(
  groups: readonly TrajectoryGroup[],
  renderer: Renderer,
  scaleRewards: boolean,
): LearningTrajectory[] {
  return groups.flatMap(({ trajectories }, group) => {
    const rewards = trajectories.map(({ reward }) => reward)
    const advantages = toAdvantages(rewards, scaleRewards)
    return trajectories.flatMap(({ histories }, i) => {
      const advantage = advantages[i]!
      const sequences = histories.flatMap(history => toSequences(toTurns(history, renderer, advantage !== 0)))
      const trainableTokens = countTrainable(sequences)
      return advantage === 0 || trainableTokens === 0 ? [] : [{ group, advantage, trainableTokens, sequences }]
    })
  })
}

/** One turn for each choice with sampled tokens; what comes after the last of them is never rendered. */
function toTurns(history: SampledHistory, renderer: Renderer, learns: boolean): Turn[] {
  return history.choices.flatMap((choice, i) => {
    if (choice === null) return []
    const completion = toTokenIds(choice, renderer)
    if (!learns) return []
    const logprobs = choice.tokens.map(({ logprob }) => logprob)
    return [{ prompt: renderHistory(renderer, history, i, true), completion, logprobs }]
  })
}

/** The ids that were sampled: the choice's own, else those that its tokens are written as, else those of their bytes. */
function toTokenIds({ tokens, ids, loc }: ChoiceTokens, renderer: Renderer): number[] {
  const found = ids ?? tokens.map((token, i) => toTokenId(token, renderer, [...loc, String(i), 'token']))
  const unknown = found.findIndex(id => id >= renderer.vocabularySize)
  if (unknown === -1) return found
  const place = ids === null ? [...loc, String(unknown), 'token'] : [...loc.slice(0, -2), 'token_ids', String(unknown)]
  throw new DataError(place, `token id ${found[unknown]} is not in the base model's vocabulary`)
}

function toTokenId({ text, bytes }: SampledToken, renderer: Renderer, loc: string[]): number {
  const written = /^token_id:(\d+)$/.exec(text)
  if (written) return Number(written[1])
  const id = renderer.tokenId(bytes ?? [...Buffer.from(text)])
  if (id === null) throw new DataError(loc, 'is not one token of the base model; send token_ids on the choice')
  return id
}
