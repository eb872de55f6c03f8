/** Which checks a run is about. */
import { type Check, toTag } from './check.ts'

export interface Selection {
  /** A check is chosen whose id holds one of these texts; none: every check. */
  filters: readonly string[]
  /** And that has one of these tags, in any letter case; none: every check. */
  tags: readonly string[]
}

export const EVERYTHING: Selection = { filters: [], tags: [] }

/** Why each check that was not chosen is left out, by id. What builds upon others brings them along. */
export function findLeftOut(checks: readonly Check[], { filters, tags }: Selection): Map<string, string> {
  const wanted = tags.map(toTag)
  const reasons = new Map<string, string>()
  for (const { id, tag } of checks) {
    if (filters.length > 0 && !filters.some(text => id.includes(text))) reasons.set(id, 'left out by --filter')
    else if (wanted.length > 0 && !wanted.includes(tag)) reasons.set(id, 'left out by --tag')
  }
  const flows = new Set<number>()
  for (const { id, flow } of checks.toReversed()) {
    if (flow === null) continue
    if (flows.has(flow)) reasons.delete(id)
    else if (!reasons.has(id)) flows.add(flow)
  }
  return reasons
}

/** The tags that checks have, in their order. */
export function tagsOf(checks: readonly Check[]): string[] {
  return [...new Set(checks.map(({ tag }) => tag))]
}
