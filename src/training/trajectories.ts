/** `trajectory_groups` of the wire, read and checked without a model. */
import { type History, toHistory } from './conversation.ts'
import { DataError } from './engine.ts'
import { describe, type JsonObject, toArray, toFiniteNumber, toObject } from './json-values.ts'

export interface TrajectoryGroup {
  trajectories: Trajectory[]
  /** Rollouts that failed on the client's side and have no trajectory. */
  exceptions: number
}

export interface Trajectory {
  /** 0 where the client left it out, as some do with values equal to their default. */
  reward: number
  /** The trajectory's own history, then `additional_histories`. */
  histories: SampledHistory[]
}

export interface SampledHistory extends History {
  /** For each element its sampled tokens; null for those that do not train. */
  choices: (ChoiceTokens | null)[]
}

/** One sampled token as the choice's logprobs have it. */
export interface SampledToken {
  text: string
  /** Null where the client kept none. */
  bytes: number[] | null
  /** Natural logarithm, NaN where missing. */
  logprob: number
}

export interface ChoiceTokens {
  tokens: SampledToken[]
  /** As many as `tokens`; null where the choice has none. */
  ids: number[] | null
  /** Path to the list of tokens. */
  loc: string[]
}

/** The interface's placeholder for "practically impossible": no token was sampled with it, so the value is unknown. */
const MISSING_LOGPROB = -9999
/** Log-probabilities may exceed 0 by rounding. */
const LOGPROB_ROUNDING = 1e-3

const HISTORY_KEY = 'messages_and_choices'

/**
 * Reads the request body's `trajectory_groups`, every choice's tokens included. Missing or null lists are empty; unknown
 * keys are ignored. Throws DataError with a loc such as
 * ['trajectory_groups', '0', 'trajectories', '1', 'messages_and_choices', '2'].
 */
export function toTrajectoryGroups(body: unknown): TrajectoryGroup[] {
  const groups = toObject(body, []).trajectory_groups
  const loc = ['trajectory_groups']
  if (!Array.isArray(groups)) throw new DataError(loc, `must be an array, not ${describe(groups)}`)
  return groups.map((group, i) => toGroup(toObject(group, [...loc, String(i)]), [...loc, String(i)]))
}

function toGroup(group: JsonObject, loc: string[]): TrajectoryGroup {
  const trajectories = toArray(group.trajectories, [...loc, 'trajectories'])
  return {
    trajectories: trajectories.map((trajectory, i) => {
      const place = [...loc, 'trajectories', String(i)]
      return toTrajectory(toObject(trajectory, place), place)
    }),
    exceptions: toArray(group.exceptions, [...loc, 'exceptions']).length,
  }
}

function toTrajectory(trajectory: JsonObject, loc: string[]): Trajectory {
  const additional = toArray(trajectory.additional_histories, [...loc, 'additional_histories'])
  return {
    reward: toFiniteNumber(trajectory.reward ?? 0, [...loc, 'reward']),
    histories: [
      toSampledHistory(trajectory, loc),
      ...additional.map((history, i) => {
        const place = [...loc, 'additional_histories', String(i)]
        return toSampledHistory(toObject(history, place), place)
      }),
    ],
  }
}

function toSampledHistory(holder: JsonObject, loc: string[]): SampledHistory {
  const history = toHistory(holder, HISTORY_KEY, loc)
  const choices = history.elements.map(({ choice }, i) => toChoiceTokens(choice, [...loc, HISTORY_KEY, String(i)]))
  if (choices[0]) throw new DataError([...loc, HISTORY_KEY, '0'], 'a choice must come after at least one message')
  return { ...history, choices }
}

/** `logprobs.content`, else `logprobs.refusal`; null for messages and for choices that carry none, which are context. */
function toChoiceTokens(choice: JsonObject | null, loc: string[]): ChoiceTokens | null {
  if (choice === null || choice.logprobs === undefined || choice.logprobs === null) return null
  const logprobs = toObject(choice.logprobs, [...loc, 'logprobs'])
  const key = toArray(logprobs.content, [...loc, 'logprobs', 'content']).length > 0 ? 'content' : 'refusal'
  const place = [...loc, 'logprobs', key]
  const entries = toArray(logprobs[key], place)
  if (entries.length === 0) return null
  const tokens = entries.map((entry, i) =>
    toSampledToken(toObject(entry, [...place, String(i)]), [...place, String(i)]),
  )
  const ids = choice.token_ids === undefined || choice.token_ids === null ? null : toIds(choice.token_ids, loc)
  if (ids !== null && ids.length !== tokens.length) {
    const counts = `token_ids has ${ids.length} entries, logprobs.${key} has ${tokens.length}`
    throw new DataError([...loc, 'token_ids'], `must have one entry for each log-probability: ${counts}`)
  }
  return { tokens, ids, loc: place }
}

function toIds(value: unknown, loc: string[]): number[] {
  const place = [...loc, 'token_ids']
  return toArray(value, place).map((id, i) => {
    if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) return id
    throw new DataError([...place, String(i)], `must be an integer of at least 0, not ${describe(id)}`)
  })
}

function toSampledToken(entry: JsonObject, loc: string[]): SampledToken {
  const { token, bytes = null, logprob } = entry
  if (typeof token !== 'string') throw new DataError([...loc, 'token'], `must be a string, not ${describe(token)}`)
  return {
    text: token,
    bytes: bytes === null ? null : toBytes(bytes, [...loc, 'bytes']),
    logprob: toLogprob(logprob, [...loc, 'logprob']),
  }
}

function toBytes(value: unknown, loc: string[]): number[] {
  return toArray(value, loc).map((byte, i) => {
    if (typeof byte === 'number' && Number.isInteger(byte) && byte >= 0 && byte <= 255) return byte
    throw new DataError([...loc, String(i)], `must be an integer from 0 to 255, not ${describe(byte)}`)
  })
}

function toLogprob(value: unknown, loc: string[]): number {
  if (value === undefined || value === null) return Number.NaN
  const logprob = toFiniteNumber(value, loc)
  if (logprob > LOGPROB_ROUNDING) throw new DataError(loc, 'must be at most 0, as the logarithm of a probability')
  return logprob <= MISSING_LOGPROB ? Number.NaN : logprob
}
