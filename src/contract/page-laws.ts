/** The laws of cursor pages, on every page that comes. */

import { walkPointer } from '../spec/pointer.ts'
import type { Violation } from './conform.ts'
import type { Exchange } from './conforming-fetch.ts'
import { isSame, type Json, toBreach } from './law-breach.ts'

const LISTS = '/info/description#Lists'
const DEFAULT_LIMIT = 20
/** Its pages may end early. */
const LOOSE_LENGTH = 'listTrajectories'
/** A query parameter of these names narrows a list to the items that have the value in the property of the same name. */
const FILTERS = ['entity', 'project', 'status', 'split', 'model_id']

export function checkPage(
  { operation, url }: Exchange,
  { object, data, first_id, last_id, has_more }: Json,
): Violation[] {
  const { operationId, parameters, pointer } = operation!
  const isPaged = parameters.some(({ name, in: place }) => name === 'after' && place === 'query')
  if (!isPaged || object !== 'list' || !Array.isArray(data)) return []
  const query = new URL(url).searchParams
  const items = data as Json[]
  const ids = items.map(item => item?.id)
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  const found: Violation[] = []
  const demand = (holds: boolean, message: string, at: string) => {
    if (!holds) found.push(toBreach(LISTS, message, at))
  }
  demand(ids.length <= limit, `a page of ${limit} has ${ids.length} items`, '/data')
  demand(new Set(ids).size === ids.length, 'an item is twice on a page', '/data')
  demand(first_id === (ids[0] ?? ''), `first_id is ${first_id}, the first item ${ids[0]}`, '/first_id')
  demand(last_id === (ids.at(-1) ?? ''), `last_id is ${last_id}, the last item ${ids.at(-1)}`, '/last_id')
  const after = query.get('after')
  demand(!ids.some(id => isSame(id, after)), 'the page holds the item of `after`', '/data')
  const isFull = ids.length === limit || operationId === LOOSE_LENGTH
  demand(has_more !== true || isFull, `more is to come after a page of ${limit} with ${ids.length} items`, '/has_more')
  for (const name of FILTERS) {
    const wanted = query.get(name)
    const other =
      wanted === null ? undefined : items.find(item => typeof item[name] === 'string' && !isSame(item[name], wanted))
    demand(other === undefined, `a page of those with ${name} ${wanted} holds one with ${other?.[name]}`, '/data')
  }
  const source = parameters.some(({ name }) => name === 'order') ? findOrderByAge(pointer) : null
  if (source !== null) found.push(...checkOrder(items, query.get('order') === 'desc', source))
  const aliases = operationId === 'listArtifactVersions' ? items.flatMap(({ aliases }) => aliases as string[]) : []
  demand(new Set(aliases).size === aliases.length, 'an alias is on two versions', '/data')
  return found
}

function checkOrder(items: readonly Json[], isBackwards: boolean, source: string): Violation[] {
  const times = items.map(({ created_at }) => Date.parse(String(created_at))).filter(time => !Number.isNaN(time))
  const forwards = isBackwards ? times.toReversed() : times
  const isOrdered = forwards.every((time, index) => index === 0 || time >= forwards[index - 1]!)
  return isOrdered
    ? []
    : [toBreach(source, `the items are not the ${isBackwards ? 'newest' : 'oldest'} first`, '/data')]
}

/** An operation that says nothing of its order has that of the parameter. */
const ORDER = '/components/parameters/Order/description'
const OWN_ORDER = /\bby (?:step|name)\b|\bin the order\b/
const byAge = new Map<string, string | null>()

/** By the pointer of an operation: where the contract says that its items come by age; null where it does not. */
function findOrderByAge(pointer: string): string | null {
  const known = byAge.get(pointer)
  if (known !== undefined) return known
  const own = `${pointer}/description`
  const text = textAt(own)
  const said = [own, ORDER].find(place => textAt(place).includes('oldest first')) ?? null
  const source = OWN_ORDER.test(text) ? null : said
  byAge.set(pointer, source)
  return source
}

function textAt(pointer: string): string {
  return String(walkPointer(pointer).places.at(-1)!.value)
}
