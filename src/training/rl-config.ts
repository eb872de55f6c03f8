/** The seed's experimental_config of RL jobs, from wire to RlConfig. Defaults: those of the trainer the clients come from. */
import { DataError, type RlConfig } from './engine.ts'
import { describe, type JsonObject, toFiniteNumber, toObject } from './json-values.ts'

/** CISPO clips at 1 - 1 and 1 + 4, PPO at 1 - 0.2 and 1 + 0.2. */
const CISPO_EPSILON = 1
const CISPO_EPSILON_HIGH = 4
const PPO_EPSILON = 0.2

const IMPORTANCE_SAMPLING_LEVELS: readonly RlConfig['importanceSamplingLevel'][] = [
  'token',
  'sequence',
  'average',
  'geometric_average',
]

/**
 * `wire` is the request's `experimental_config`: missing, null, or an object whose every key may be missing or null.
 * Unknown keys are ignored. Throws DataError with loc ['experimental_config', key].
 */
export function toRlConfig(wire: unknown, defaultLearningRate: number): RlConfig {
  const values = toObject(wire ?? {}, ['experimental_config'])
  const ppo = toPpo(values)
  const epsilon = toNumberFromZero(values, 'epsilon') ?? (ppo ? PPO_EPSILON : CISPO_EPSILON)
  const advantageBalance = toFiniteNumber(values.advantage_balance ?? 0, toLoc('advantage_balance'))
  if (Math.abs(advantageBalance) > 1) throw new DataError(toLoc('advantage_balance'), 'must be between -1 and 1')
  const learningRate = toFiniteNumber(values.learning_rate ?? defaultLearningRate, toLoc('learning_rate'))
  if (learningRate <= 0) throw new DataError(toLoc('learning_rate'), 'must be greater than 0')
  return {
    learningRate,
    ppo,
    epsilon,
    epsilonHigh: toNumberFromZero(values, 'epsilon_high') ?? (ppo ? epsilon : CISPO_EPSILON_HIGH),
    advantageBalance,
    scaleRewards: toBoolean(values, 'scale_rewards', toBoolean(values, 'normalize_advantages', true)),
    maskProbRatio: toBoolean(values, 'mask_prob_ratio', false),
    // 0 turns these two off, as null does.
    maxNegativeAdvantageImportanceSamplingWeight:
      toNumberFromZero(values, 'max_negative_advantage_importance_sampling_weight') || null,
    k2Tau: toK2Tau(values) || null,
    precalculateLogprobs: toBoolean(values, 'precalculate_logprobs', false),
    importanceSamplingLevel: toImportanceSamplingLevel(values),
  }
}

function toLoc(key: string): string[] {
  return ['experimental_config', key]
}

function toBoolean(values: JsonObject, key: string, otherwise: boolean): boolean {
  const value = values[key] ?? otherwise
  if (typeof value !== 'boolean') throw new DataError(toLoc(key), `must be true or false, not ${describe(value)}`)
  return value
}

function toNumberFromZero(values: JsonObject, key: string): number | null {
  const value = values[key] ?? null
  if (value === null) return null
  const number = toFiniteNumber(value, toLoc(key))
  if (number < 0) throw new DataError(toLoc(key), 'must be at least 0')
  return number
}

/** `ppo`, or what newer clients send in its place: the name of the loss. */
function toPpo(values: JsonObject): boolean {
  const loss = values.loss_fn ?? 'cispo'
  if (loss !== 'cispo' && loss !== 'ppo') throw new DataError(toLoc('loss_fn'), 'must be cispo or ppo')
  return toBoolean(values, 'ppo', loss === 'ppo')
}

/** One setting under two names: the interface's and the one that clients send. */
function toK2Tau(values: JsonObject): number | null {
  const vendor = toNumberFromZero(values, 'vendor_k2_tau')
  const kimi = toNumberFromZero(values, 'kimi_k2_tau')
  if (vendor !== null && kimi !== null && vendor !== kimi) {
    throw new DataError(toLoc('kimi_k2_tau'), 'must equal vendor_k2_tau, which is the same setting')
  }
  return vendor ?? kimi
}

function toImportanceSamplingLevel(values: JsonObject): RlConfig['importanceSamplingLevel'] {
  const value = values.importance_sampling_level ?? 'token'
  const level = IMPORTANCE_SAMPLING_LEVELS.find(known => known === value)
  if (level === undefined) {
    const rule = `must be one of ${IMPORTANCE_SAMPLING_LEVELS.join(', ')}`
    throw new DataError(toLoc('importance_sampling_level'), rule)
  }
  return level
}
