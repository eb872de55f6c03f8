import { toRewardSummary } from './advantages.ts'
import { DataError } from './engine.ts'
import { isObject, type JsonObject } from './json-values.ts'
import { toTrajectoryGroups } from './trajectories.ts'

/** Of the trajectories' own metrics, as many names as are averaged, and as long: what they are put on is listed whole. */
const MAX_METRICS = 1000
const MAX_NAME_LENGTH = 200

/** What the server needs to know of trajectories without keeping them in memory. */
export interface TrajectorySummary {
  groups: number
  trajectories: number
  /** Means over the trajectories: `reward`, `reward_std_dev`, `exception_rate`, and each of the trajectories' own metrics. */
  metrics: Record<string, number>
  /** The first thing that keeps them from being trained on. */
  fault: { loc: string[]; message: string } | null
}

export function hasTrajectories(body: unknown): body is JsonObject & { trajectory_groups: unknown[] } {
  return isObject(body) && Array.isArray(body.trajectory_groups)
}

/** Reads a validated body's `trajectory_groups`. */
export function summariseTrajectories(trajectory_groups: unknown[]): TrajectorySummary {
  const trajectories = trajectory_groups.flatMap(group =>
    isObject(group) && Array.isArray(group.trajectories) ? group.trajectories : [],
  )
  const summary = { groups: trajectory_groups.length, trajectories: trajectories.length }
  try {
    const groups = toTrajectoryGroups({ trajectory_groups })
    const rewards = groups.map(group => ({
      rewards: group.trajectories.map(one => one.reward),
      exceptions: group.exceptions,
    }))
    const { reward, reward_std_dev, exception_rate } = toRewardSummary(rewards)
    const means = toMeans(trajectories.map(one => (isObject(one) && isObject(one.metrics) ? one.metrics : {})))
    const metrics = { ...means, reward: reward!, reward_std_dev: reward_std_dev!, exception_rate: exception_rate! }
    return { ...summary, metrics: onlyFinite(metrics), fault: null }
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    return { ...summary, metrics: {}, fault: { loc: error.loc, message: error.message } }
  }
}

/** JSON has no infinity: a mean that overflowed is left out. */
function onlyFinite(metrics: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)))
}

/** The mean of each metric over the trajectories that have it; true counts as 1. */
function toMeans(all: JsonObject[]): Record<string, number> {
  const sums = new Map<string, { sum: number; count: number }>()
  for (const metrics of all) {
    for (const [name, value] of Object.entries(metrics)) {
      const number = typeof value === 'boolean' ? Number(value) : value
      if (typeof number !== 'number' || !Number.isFinite(number)) continue
      if (name.length > MAX_NAME_LENGTH || (sums.size >= MAX_METRICS && !sums.has(name))) continue
      const known = sums.get(name) ?? { sum: 0, count: 0 }
      sums.set(name, { sum: known.sum + number, count: known.count + 1 })
    }
  }
  return Object.fromEntries([...sums].map(([name, { sum, count }]) => [name, sum / count]))
}
