/**
 * The arithmetic of RL jobs up to the loss: rewards to advantages, token weights, and the statistics of a job's groups.
 * Formulas: those of the open-source trainer that the interface's clients come from (group-relative advantages).
 */

/** Added to a group's standard deviation, so that nearly equal rewards do not blow up. */
const DEVIATION_EPSILON = 1e-6
/** Added to a trajectory's token count. */
const COUNT_EPSILON = 1e-6
/** Deviations from the mean below this part of the largest reward are rounding errors and count as 0. */
const ROUNDING = 1e-12

/**
 * A_i = (r_i - mean) / (std + 1e-6) with the population standard deviation, or r_i - mean without `scale`.
 * All 0 where the group holds one trajectory or equal rewards.
 */
export function toAdvantages(rewards: readonly number[], scale: boolean): number[] {
  const mean = toMean(rewards)
  const deviation = toStandardDeviation(rewards)
  const rounding = ROUNDING * rewards.reduce((largest, reward) => Math.max(largest, Math.abs(reward)), 0)
  return rewards.map(reward => {
    const difference = reward - mean
    if (Math.abs(difference) <= rounding) return 0
    return scale ? difference / (deviation + DEVIATION_EPSILON) : difference
  })
}

/** One trajectory of a job. */
export interface TrajectoryTokens {
  advantage: number
  /** Trainable tokens of all its histories. */
  trainableTokens: number
  /** Those of them that are still there after truncation: the ones that means are taken over. */
  keptTokens: number
}

/** What each trainable token of a trajectory carries into the loss. */
export interface TokenScale {
  weight: number
  advantage: number
}

/**
 * Weights 1 / (trainable tokens + 1e-6), scaled to mean 1 over the job's tokens; advantages balanced, then scaled so that
 * the mean of |advantage| * weight over the job's tokens is 1. Null where nothing is left to learn from.
 *
 * `balance` b in [-1, 1]: b > 0 multiplies negative advantages by 1 - b, b < 0 positive ones by 1 + b. Tokens whose advantage
 * becomes 0 stay in all means and counts, since the correction by tau gives them an advantage again.
 */
export function toTokenScales(trajectories: readonly TrajectoryTokens[], balance: number): TokenScale[] | null {
  const weights = trajectories.map(({ trainableTokens }) => 1 / (trainableTokens + COUNT_EPSILON))
  const advantages = trajectories.map(({ advantage }) => toBalanced(advantage, balance))
  const tokens = toSum(trajectories.map(({ keptTokens }) => keptTokens))
  if (tokens === 0) return null
  const meanWeight = toSum(trajectories.map(({ keptTokens }, i) => keptTokens * weights[i]!)) / tokens
  const scaled = weights.map(weight => weight / meanWeight)
  const size =
    toSum(trajectories.map(({ keptTokens }, i) => keptTokens * Math.abs(advantages[i]!) * scaled[i]!)) / tokens
  if (size === 0) return null
  return scaled.map((weight, i) => ({ weight, advantage: advantages[i]! / size }))
}

function toBalanced(advantage: number, balance: number): number {
  if (balance > 0 && advantage < 0) return advantage * (1 - balance)
  if (balance < 0 && advantage > 0) return advantage * (1 + balance)
  return advantage
}

/** The rewards of one submitted group, and how many of its rollouts failed with an exception. */
export interface GroupRewards {
  rewards: readonly number[]
  exceptions: number
}

/**
 * The statistics of a job's groups, in the names of the interface's metrics. `reward` is the mean over all trajectories;
 * `reward_std_dev` the mean of the groups' population standard deviations, groups of one or none left out;
 * `exception_rate` the failed part of all rollouts. A group is trainable when it has more than one distinct reward.
 */
export function toRewardSummary(groups: readonly GroupRewards[]): Record<string, number> {
  const rewards = groups.flatMap(group => group.rewards)
  const exceptions = toSum(groups.map(group => group.exceptions))
  const deviations = groups.filter(group => group.rewards.length > 1).map(group => toStandardDeviation(group.rewards))
  return {
    num_groups_submitted: groups.length,
    num_groups_trainable: groups.filter(group => new Set(group.rewards).size > 1).length,
    num_trajectories: rewards.length,
    reward: toMean(rewards),
    reward_std_dev: toMean(deviations),
    exception_rate: exceptions === 0 ? 0 : exceptions / (rewards.length + exceptions),
  }
}

function toSum(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** 0 for no values: metrics are always numbers. */
function toMean(values: readonly number[]): number {
  return values.length === 0 ? 0 : toSum(values) / values.length
}

function toStandardDeviation(values: readonly number[]): number {
  const mean = toMean(values)
  return Math.sqrt(toMean(values.map(value => (value - mean) ** 2)))
}
