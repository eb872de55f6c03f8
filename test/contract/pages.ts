/** The laws of cursor pages, checked on any list. */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { SkipError } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { client } from './setup.ts'

interface Page {
  object: string
  data: { id: string }[]
  first_id: string
  last_id: string
  has_more: boolean
}

async function getPage(id: OperationId, options: CallOptions, query: CallOptions['query']): Promise<Page> {
  const page = (await client.ok(id, { ...options, query: { ...options.query, ...query } })) as Page
  expect(page.object).toBe('list')
  expect(page.first_id).toBe(page.data.at(0)?.id ?? '')
  expect(page.last_id).toBe(page.data.at(-1)?.id ?? '')
  return page
}

/** Ids of all items, page by page. */
export async function walk(id: OperationId, options: CallOptions, query: CallOptions['query']): Promise<string[]> {
  const ids: string[] = []
  for (let after = query?.after; ; after = ids.at(-1)) {
    const page = await getPage(id, options, { ...query, after })
    ids.push(...page.data.map(item => item.id))
    if (!page.has_more) return ids
    expect(page.data.length, 'a page before the last one is full').toBe(Number(query?.limit ?? 20))
  }
}

/** Readings of what others change meanwhile. */
const ATTEMPTS = 10

/**
 * Judges what belongs to the whole team, which others may change between two requests: only what is the same before and after is judged.
 * Throws a SkipError where it never stands still.
 */
export async function whileStill<Value>(
  read: () => Promise<Value>,
  judge: (value: Value) => Promise<void>,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await read()
    const fault = await judge(before).then(
      () => null,
      (error: unknown) => error,
    )
    if (!isDeepStrictEqual(await read(), before)) continue
    if (fault !== null) throw fault
    return
  }
  throw new SkipError('it changes all the time')
}

/** Checks a list that does not change meanwhile and holds `expected` items, at least three. */
export async function checkPages(id: OperationId, options: CallOptions, expected: number): Promise<void> {
  const all = await walk(id, options, { limit: 100 })
  expect(all).toHaveLength(expected)
  expect(new Set(all).size, 'no item comes twice').toBe(all.length)
  expect(await walk(id, options, { limit: 2 }), 'pages of two give the same items in the same order').toEqual(all)
  expect(await walk(id, options, { limit: 1, order: 'desc' }), 'desc is asc backwards').toEqual(all.toReversed())
  expect(await walk(id, options, { order: 'asc' }), 'asc is the default').toEqual(await walk(id, options, {}))
  const exact = await getPage(id, options, { limit: expected })
  expect(exact.has_more, 'a page that holds the last item has no more').toBe(false)
  const beyond = await getPage(id, options, { after: all.at(-1) })
  expect(beyond).toMatchObject({ data: [], has_more: false })
  const middle = await getPage(id, options, { after: all[1], limit: 1 })
  expect(middle.data[0]!.id, 'after is exclusive').toBe(all[2])
}
