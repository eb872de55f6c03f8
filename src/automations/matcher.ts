import { LRUCache } from 'lru-cache'
import type { AutomationEventType, AutomationRow } from '../storage/tables.ts'
import { PatternSet } from './pattern-set.ts'
import { Thresholds } from './thresholds.ts'

/** What decides whether an automation of a scope fires. */
export type Watch = Pick<
  AutomationRow,
  'id' | 'alias_regex' | 'metric' | 'operator' | 'threshold' | 'filter_user' | 'filter_run_name_regex'
>

/** What one event is judged by. */
export type Occasion =
  | { type: 'ADD_ARTIFACT_ALIAS'; alias: string }
  | { type: 'ADD_ARTIFACT_TAG' | 'LINK_ARTIFACT' }
  | { type: 'RUN_METRIC'; run: { name: string; user: string }; metrics: Record<string, number> }

/** Names of runs of one scope whose thresholds are kept ready. */
const KEPT_RUN_NAMES = 100

/** Finds those automations of a scope, all of one type of event, that an event fires. */
export interface Matcher {
  /** How many automations it judges. */
  size: number
  /** Ids of the automations. */
  match(occasion: Occasion): readonly string[]
}

export function createMatcher(type: AutomationEventType, watches: readonly Watch[]): Matcher {
  const size = watches.length
  if (type === 'RUN_METRIC') {
    const matchRun = createRunMatch(watches)
    return { size, match: occasion => (occasion.type === 'RUN_METRIC' ? matchRun(occasion) : []) }
  }
  if (type === 'ADD_ARTIFACT_ALIAS') {
    const aliases = new PatternSet(watches.map(({ id, alias_regex }) => [alias_regex!, id]))
    return { size, match: occasion => (occasion.type === type ? aliases.match(occasion.alias) : []) }
  }
  const ids = watches.map(({ id }) => id)
  return { size, match: () => ids }
}

/** Automations that name no run are looked through by threshold at once, the others once those are known whose pattern is found in the name. */
function createRunMatch(watches: readonly Watch[]): (occasion: Occasion & { type: 'RUN_METRIC' }) => string[] {
  const ofAnyName = new Thresholds(watches.filter(watch => watch.filter_run_name_regex === null))
  const named = watches.filter(watch => watch.filter_run_name_regex !== null)
  const patterns = new PatternSet(named.map(watch => [watch.filter_run_name_regex!, watch]))
  const byName = new LRUCache<string, Thresholds>({ max: KEPT_RUN_NAMES })
  return ({ run, metrics }) => {
    const ofThisName = byName.get(run.name) ?? new Thresholds(patterns.match(run.name))
    byName.set(run.name, ofThisName)
    return Object.entries(metrics)
      .filter(([, value]) => Number.isFinite(value))
      .flatMap(([name, value]) =>
        [ofAnyName, ofThisName].flatMap(thresholds => thresholds.metBy(run.user, name, value)),
      )
  }
}
