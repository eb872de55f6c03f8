import type { AutomationRow, ThresholdOperator } from '../storage/tables.ts'

/** What decides, but for the run's name, whether a value fires an automation of RUN_METRIC. */
export type ThresholdWatch = Pick<AutomationRow, 'id' | 'metric' | 'operator' | 'threshold' | 'filter_user'>

const IS_MET: Record<ThresholdOperator, (value: number, threshold: number) => boolean> = {
  '>': (value, threshold) => value > threshold,
  '>=': (value, threshold) => value >= threshold,
  '<': (value, threshold) => value < threshold,
  '<=': (value, threshold) => value <= threshold,
}
const OPERATORS = Object.keys(IS_MET) as ThresholdOperator[]

/** Thresholds by user, metric and operator, sorted so that those that a value meets are found without looking at the others. */
export class Thresholds {
  readonly #sorted: ReadonlyMap<string, ThresholdWatch[]>

  constructor(watches: readonly ThresholdWatch[]) {
    // The easiest to meet first.
    const sorted = watches.toSorted((a, b) =>
      a.operator!.startsWith('>') ? a.threshold! - b.threshold! : b.threshold! - a.threshold!,
    )
    this.#sorted = Map.groupBy(sorted, ({ filter_user, metric, operator }) => toKey(filter_user, metric!, operator!))
  }

  /** Ids of the automations whose threshold a value of a run of this user meets. */
  metBy(user: string, metric: string, value: number): string[] {
    const ids: string[] = []
    for (const filter of [null, user]) {
      for (const operator of OPERATORS) {
        for (const { id, threshold } of this.#sorted.get(toKey(filter, metric, operator)) ?? []) {
          if (!IS_MET[operator](value, threshold!)) break
          ids.push(id)
        }
      }
    }
    return ids
  }
}

function toKey(user: string | null, metric: string, operator: ThresholdOperator): string {
  return JSON.stringify([user, metric, operator])
}
