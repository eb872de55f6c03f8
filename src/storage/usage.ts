import { v7 as uuid } from 'uuid'
import type { Database, Queries } from './database.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import type { UsageRow } from './tables.ts'

/** What usage is summed by. */
export type UsageKey = Pick<UsageRow, 'day' | 'entity' | 'project' | 'model' | 'api_key_id'>
export type UsageCounts = Pick<UsageRow, 'requests' | 'prompt_tokens' | 'completion_tokens' | 'cached_tokens'>
/** What is added to one line, which begins with it where there is none yet. */
export type UsageAddition = UsageKey & UsageCounts

export interface UsageFilter {
  teams: string[]
  project?: string | undefined
  model?: string | undefined
  /** First and last day, both included. */
  from?: string | undefined
  to?: string | undefined
}

/** Adds to lines of usage in one transaction: all of it or nothing. */
export async function addUsage(database: Database, additions: Iterable<UsageAddition>): Promise<void> {
  await database.transaction().execute(async transaction => {
    // One by one: so the statement's text is always the same, and prepared once.
    for (const addition of additions) await addToLine(transaction, addition)
  })
}

async function addToLine(queries: Queries, addition: UsageAddition): Promise<void> {
  const { requests, prompt_tokens, completion_tokens, cached_tokens } = addition
  await queries
    .insertInto('usage')
    .values({ id: uuid(), ...addition })
    .onConflict(conflict =>
      conflict.columns(['day', 'entity', 'project', 'model', 'api_key_id']).doUpdateSet(({ eb, ref }) => ({
        requests: eb(ref('usage.requests'), '+', requests),
        prompt_tokens: eb(ref('usage.prompt_tokens'), '+', prompt_tokens),
        completion_tokens: eb(ref('usage.completion_tokens'), '+', completion_tokens),
        cached_tokens: eb(ref('usage.cached_tokens'), '+', cached_tokens),
      })),
    )
    .execute()
}

export function listUsageRows<Item extends { id: string }>(
  queries: Queries,
  { teams, project, model, from, to }: UsageFilter,
  page: PageQuery,
  toItem: (row: UsageRow) => Item,
): Promise<Page<Item>> {
  let select = queries.selectFrom('usage').selectAll().where('entity', 'in', teams)
  if (project !== undefined) select = select.where('project', '=', project)
  if (model !== undefined) select = select.where('model', '=', model)
  if (from !== undefined) select = select.where('day', '>=', from)
  if (to !== undefined) select = select.where('day', '<=', to)
  return selectPage(select, 'id', page, toItem)
}
