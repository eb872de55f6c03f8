/** The seed's config of SFT jobs, from wire to SftConfig. */
import { DataError, type SftConfig } from './engine.ts'
import { describe, toFiniteNumber, toObject } from './json-values.ts'

/** Conversations per step where a job names none or "auto". */
const DEFAULT_BATCH_SIZE = 2

/**
 * `wire` is the request's `config`: missing, null, or an object with `batch_size` (integer, "auto" or null) and
 * `learning_rate` (number, array with one number per step, or null). Unknown keys are ignored.
 * Throws DataError with loc ['config', key].
 */
export function toSftConfig(wire: unknown, defaultLearningRate: number): SftConfig {
  const values = toObject(wire ?? {}, ['config'])
  return {
    batchSize: toBatchSize(values.batch_size ?? 'auto'),
    learningRate: toLearningRate(values.learning_rate ?? defaultLearningRate),
  }
}

function toBatchSize(value: unknown): number {
  if (value === 'auto') return DEFAULT_BATCH_SIZE
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw new DataError(['config', 'batch_size'], `must be an integer of at least 1 or "auto", not ${describe(value)}`)
  }
  return value
}

/** A schedule may hold zeros (warm-up and decay reach 0), a single rate may not. */
function toLearningRate(value: unknown): number | number[] {
  const loc = ['config', 'learning_rate']
  if (Array.isArray(value)) {
    if (value.length === 0) throw new DataError(loc, 'must hold at least one rate')
    return value.map((entry, index) => {
      const rate = toFiniteNumber(entry, [...loc, String(index)])
      if (rate < 0) throw new DataError([...loc, String(index)], 'must be at least 0')
      return rate
    })
  }
  const rate = toFiniteNumber(value, loc)
  if (rate <= 0) throw new DataError(loc, 'must be greater than 0')
  return rate
}
