/** Cursor pages as the contract has them: `after` is exclusive, ids are ordered by time. */
export interface PageQuery {
  after?: string
  limit?: number
  order?: 'asc' | 'desc'
}

export interface Page<Item> {
  object: 'list'
  data: Item[]
  first_id: string
  last_id: string
  has_more: boolean
}

export const DEFAULT_LIMIT = 20

/** The part of Kysely's select builder that paging needs; the column types are the caller's. */
interface Pageable<Row> {
  where(column: never, operator: '>' | '<', value: never): Pageable<Row>
  orderBy(column: never, direction: 'asc' | 'desc'): Pageable<Row>
  limit(count: number): Pageable<Row>
  execute(): Promise<Row[]>
}

/**
 * Runs a select as one page, ordered by an id column: a UUID of version 7, which is the same in any case, or a name.
 * One row more than asked is read, which tells `has_more` without counting.
 */
export async function selectPage<Row, Item extends { id: string }>(
  select: unknown,
  column: string,
  query: PageQuery,
  toItem: (row: Row) => Item,
  kind: 'uuid' | 'name' = 'uuid',
): Promise<Page<Item>> {
  const { limit = DEFAULT_LIMIT, order = 'asc' } = query
  const after = kind === 'uuid' ? query.after?.toLowerCase() : query.after
  let builder = select as Pageable<Row>
  if (after) builder = builder.where(column as never, order === 'asc' ? '>' : '<', after as never)
  const rows = await builder
    .orderBy(column as never, order)
    .limit(limit + 1)
    .execute()
  return toPage(rows.slice(0, limit).map(toItem), rows.length > limit)
}

export function toPage<Item extends { id: string }>(data: Item[], has_more: boolean): Page<Item> {
  return { object: 'list', data, first_id: data[0]?.id ?? '', last_id: data.at(-1)?.id ?? '', has_more }
}
