/**
 * Pairs of requests that mean the same: null and left out, the default and left out, keys in another order, with and without keys that
 * nobody knows. Not of updates, where leaving out means "as it was".
 */

import type { Operation, Schema } from '../../spec/document.ts'
import { resolveSchema } from '../../spec/document.ts'
import type { CallOptions } from '../client.ts'
import type { FieldRules, Twins } from './derived-case.ts'
import { isObject, REMOVED, replaceAt, reverseKeys } from './json-place.ts'
import { fits, typesOf } from './sample-value.ts'
import { type Place, placesOf } from './schema-places.ts'
import { selectCases } from './select-cases.ts'

/** Properties that are also tried one by one, of those that are tried all at once. */
const MOST_ALONE = 8
const UNKNOWN = { 'x-unknown': { a: [1, null] }, 'another-unknown': null }

/** `good` is a request that changes nothing, best one that succeeds. */
export function deriveTwins(operation: Operation, good: CallOptions, rules: FieldRules): Twins[] {
  const schema = operation.requestBody?.content.get('application/json')?.schema
  if (!schema || !isObject(good.body)) return []
  const pointer = `${operation.pointer}/requestBody/content/application~1json/schema`
  const places = placesOf(good.body, schema, pointer, operation.components).filter(
    place => place.isRequired === false && place.at.length === 1 && !place.isBranch,
  )
  const isUpdate = operation.method === 'PATCH'
  const context = { operation, good, schema, rules }
  return [
    ...(isUpdate ? [] : omissionTwins(context, 'null', places.filter(takesNull), () => null)),
    ...(isUpdate ? [] : omissionTwins(context, 'default', places.filter(hasDefault), place => place.schema.default)),
    ...wholeTwins(context, pointer),
  ]
}

/** Twins that share a first request, which is sent twice: that tells what differs by itself. */
export function groupTwins(twins: readonly Twins[]): Twins[][] {
  return [...Map.groupBy(twins, ({ one }) => JSON.stringify(one.body)).values()]
}

/** How many requests they are. */
export function countTwinRequests(twins: readonly Twins[]): number {
  return twins.length + REPEATS * groupTwins(twins).length
}

/** Of the first request of each group. */
const REPEATS = 2

interface Context {
  operation: Operation
  good: CallOptions
  schema: Schema
  rules: FieldRules
}

function takesNull(place: Place): boolean {
  return typesOf(place.schema).includes('null')
}

function hasDefault(place: Place): boolean {
  return place.schema.default !== undefined && place.schema.default !== null
}

function omissionTwins(
  { operation, good, schema, rules }: Context,
  rule: 'null' | 'default',
  places: Place[],
  valueAt: (place: Place) => unknown,
): Twins[] {
  const what = rule === 'null' ? 'null' : 'its default'
  const toTwins = (chosen: Place[], name: string, isAll: boolean): Twins => {
    const set = (value: (place: Place) => unknown) =>
      chosen.reduce((body, place) => replaceAt(body, place.at, value(place)), good.body)
    const [first] = chosen as [Place]
    return {
      ...{ rule, name },
      one: { ...good, body: set(() => REMOVED) },
      other: { ...good, body: set(valueAt) },
      pointer: isAll
        ? `${operation.pointer}/requestBody/content/application~1json/schema`
        : rule === 'null'
          ? first.pointer
          : `${first.pointer}/default`,
    }
  }
  const fitting = places.filter(place => !(rules[place.at.join('.')]?.isUncertain && rule === 'default'))
  const absent = fitting.filter(place => !place.isGiven)
  const ranked = fitting.map(place => ({ place, name: place.at.join('.'), rank: place.isGiven ? 0 : 1 }))
  const alone = selectCases(ranked, MOST_ALONE).map(({ place, name }) => toTwins([place], `${name} as ${what}`, false))
  const all = absent.length > 1 ? [toTwins(absent, `every property that is left out as ${what}`, true)] : []
  return [...all, ...alone].filter(twins => fits(twins.one.body, schema, operation.components))
}

function wholeTwins({ operation, good, schema }: Context, pointer: string): Twins[] {
  const body = good.body as Record<string, unknown>
  const resolved = resolveSchema(schema, operation.components)
  // Where all keys are kept, none is unknown.
  const isOpen = typeof resolved === 'object' && resolved.additionalProperties === true
  const twins = (rule: Twins['rule'], name: string, other: unknown): Twins => {
    return { rule, name, one: good, other: { ...good, body: other }, pointer }
  }
  return [
    ...(Object.keys(body).length > 1 ? [twins('key-order', 'keys in the opposite order', reverseKeys(body))] : []),
    ...(isOpen ? [] : [twins('unknown-key', 'keys that the contract does not name', { ...body, ...UNKNOWN })]),
  ]
}
