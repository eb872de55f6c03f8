/** Cases of a JSON body, or of the JSON part of a form: for each place, each rule of its schema. */
import type { Components, Schema, SchemaObject } from '../../spec/document.ts'
import { allowedValuesOf, type Breach, breachesOf, hugeValuesOf } from './breaches.ts'
import type { DerivedCase, FieldRules } from './derived-case.ts'
import { isObject, REMOVED, replaceAt } from './json-place.ts'
import { fits } from './sample-value.ts'
import { type Place, placesOf } from './schema-places.ts'

/** Which team a request names is for authorization to judge. */
export const TEAM = 'entity'

export type BodyCase = Omit<DerivedCase, 'options'> & { body: unknown }

/** `rules` say what a schema cannot; null: no case is to be accepted. */
export function bodyCasesOf(
  good: unknown,
  schema: Schema,
  pointer: string,
  components: Components,
  rules: FieldRules | null,
): BodyCase[] {
  const cases = placesOf(good, schema, pointer, components).flatMap(place => [
    ...removalsOf(place, rules),
    ...breachesOf(place.schema).map(breach => toCase(place, breach, place.root)),
    ...(rules ? acceptedOf(place, rules) : []),
  ])
  const seen = new Set<string>()
  return cases.filter(one => {
    const body = JSON.stringify(one.body)
    const isNew = !seen.has(body)
    seen.add(body)
    // The schema has the last word: what is wrong in one branch of a union may be right in another.
    return isNew && fits(one.body, schema, components) !== (one.loc !== null)
  })
}

function removalsOf(place: Place, rules: FieldRules | null): BodyCase[] {
  if (place.isRequired === null || place.value === undefined || place.isBranch) return []
  const isWanted = place.isRequired || (place.isGiven && rules && !ruleOf(place, rules)?.isUncertain)
  if (!isWanted) return []
  const breach: Breach = {
    ...{ rule: place.isRequired ? 'required' : 'optional', what: 'removed', value: REMOVED, rank: 0 },
    keyword: place.isRequired ? 'required' : '',
  }
  const one = toCase(place, breach, place.root)
  return [{ ...one, pointer: place.isRequired ? `${place.parent}/required` : place.pointer }]
}

function acceptedOf(place: Place, rules: FieldRules): BodyCase[] {
  const rule = ruleOf(place, rules)
  // What is refused by name although its schema has it; only nothing is sure to be taken.
  const isUncertain = rule?.isUncertain || place.schema['x-supported'] === false || place.at.at(-1) === TEAM
  if (isUncertain) return []
  const root = isObject(place.root) ? { ...place.root, ...rule?.beside } : place.root
  const asSampled: Breach = { rule: 'allowed', what: 'as an example', keyword: '', value: place.value, rank: 3 }
  const sample = !place.isGiven && place.value !== undefined && place.isRequired !== null ? [asSampled] : []
  return [...allowedValuesOf(place.schema), ...sample, ...hugeValuesOf(place.schema)].map(breach =>
    toCase(place, breach, root),
  )
}

/** Of the place, or of the nearest one above it that has a rule. */
function ruleOf(place: Place, rules: FieldRules): FieldRules[string] | undefined {
  const steps = place.at.map(step => (/^\d+$/.test(step) ? '*' : step))
  for (let length = steps.length; length > 0; length--) {
    const rule = rules[steps.slice(0, length).join('.')]
    if (rule) return rule
  }
  return undefined
}

function toCase(place: Place, { rule, what, keyword, value, rank, isSubtle }: Breach, root: unknown): BodyCase {
  const isWrong = rule !== 'allowed' && rule !== 'optional' && rule !== 'huge'
  // The id of something else might name it.
  const own = rule === 'allowed' && place.schema.format === 'uuid' && typeof place.value === 'string'
  return {
    rule,
    name: `${place.at.join('.') || 'the body'} ${what}${place.isBranch ? ` (${place.pointer})` : ''}`,
    body: replaceAt(root, place.at, own ? String(place.value).toUpperCase() : value),
    loc: isWrong ? ['body', ...place.at] : null,
    pointer: keyword === '' ? place.pointer : `${place.pointer}/${keywordOf(place.schema, keyword)}`,
    isSubtle: isSubtle === true || (place.at.length === 0 && value === null),
    rank: place.rank + rank,
  }
}

/** A union has the types of its branches. */
function keywordOf(schema: SchemaObject, keyword: string): string {
  if (keyword !== 'type' || !(schema.oneOf ?? schema.anyOf)) return keyword
  return schema.oneOf ? 'oneOf' : 'anyOf'
}
