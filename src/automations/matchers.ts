import { LRUCache } from 'lru-cache'
import { selectWatches } from '../storage/automation-events.ts'
import type { Queries } from '../storage/database.ts'
import type { WatchedScopeRow } from '../storage/tables.ts'
import { createMatcher, type Matcher } from './matcher.ts'

/** Automations of all scopes whose matchers are kept. */
const KEPT_AUTOMATIONS = 200_000

/** By stamp, which changes with every change of the scope: what another process, or a transaction that was rolled back, made is never met. */
const kept = new LRUCache<string, Matcher>({
  maxSize: KEPT_AUTOMATIONS,
  sizeCalculation: matcher => Math.max(1, matcher.size),
})

/** The matcher of a scope as its stamp says it is now. */
export async function readMatcher(queries: Queries, scope: WatchedScopeRow): Promise<Matcher> {
  const known = kept.get(scope.stamp)
  if (known) return known
  const matcher = createMatcher(scope.event_type, await selectWatches(queries, scope))
  kept.set(scope.stamp, matcher)
  return matcher
}
