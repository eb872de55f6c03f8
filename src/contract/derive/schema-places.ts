/** Every place of a request's JSON, with the schema that holds there: those of the good body, and those of parts that it lacks. */
import type { Components, Schema, SchemaObject } from '../../spec/document.ts'
import { escapePointer } from '../../spec/document.ts'
import { isObject, replaceAt } from './json-place.ts'
import { fits, sampleOf, typesOf } from './sample-value.ts'

export interface Place {
  at: readonly string[]
  /** References followed; of a union, the types of its branches. */
  schema: SchemaObject
  /** Where the schema stands in the contract. */
  pointer: string
  value: unknown
  /** The whole, with that value at the place. */
  root: unknown
  /** The value stands in the good body. */
  isGiven: boolean
  /** A property, which its object must have, may have, or (null) no property. */
  isRequired: boolean | null
  /** Where the list of required properties stands. */
  parent: string
  /** A further form of a union: the place itself is no news, only that form. */
  isBranch: boolean
  /** Distance from the good body. */
  rank: number
}

type Start = Omit<Place, 'schema' | 'isBranch'> & { schema: Schema; isBranch?: boolean }

/** Ranks of a part that the good body lacks, of another form of a union, and of each step deeper than a property of an item. */
const ABSENT_RANK = 2
const BRANCH_RANK = 4
const FLAT_DEPTH = 1
const MOST_DEPTH = 8

/** Of a body under its schema; `pointer` says where the schema stands. */
export function placesOf(body: unknown, schema: Schema, pointer: string, components: Components): Place[] {
  return walk(
    {
      at: [],
      schema,
      pointer,
      value: body,
      root: body,
      isGiven: true,
      isRequired: null,
      parent: pointer,
      rank: 0,
    },
    components,
  )
}

function walk(start: Start, components: Components): Place[] {
  if (start.at.length > MOST_DEPTH) return []
  const { schema, pointer } = follow(start.schema, start.pointer, components)
  if (typeof schema === 'boolean') return []
  const place: Place = { ...start, schema, pointer, isBranch: start.isBranch ?? false }
  const keyword = schema.oneOf ? 'oneOf' : 'anyOf'
  const branches = schema[keyword] as Schema[] | undefined
  return branches ? walkUnion(place, branches, keyword, components) : [place, ...walkInner(place, components)]
}

function walkUnion(place: Place, schemas: Schema[], keyword: string, components: Components): Place[] {
  const branches = schemas.map((schema, index) => ({ schema, pointer: `${place.pointer}/${keyword}/${index}` }))
  const known = branches.map(branch => follow(branch.schema, branch.pointer, components).schema)
  const types = known.map(schema => (typeof schema === 'boolean' ? [] : typesOf(schema)))
  const union = types.every(list => list.length > 0)
    ? { ...place.schema, type: [...new Set(types.flat())] }
    : place.schema
  const meant = branches.findIndex(({ schema }) => fits(place.value, schema, components))
  const inner = branches.flatMap((branch, index) => {
    const start = { ...place, ...branch, isBranch: true }
    if (index === meant) return walk(start, components)
    const value = sampleOf(branch.schema, components)
    if (value === undefined) return []
    const root = replaceAt(place.root, place.at, value)
    return walk({ ...start, value, root, isGiven: false, rank: place.rank + BRANCH_RANK }, components)
  })
  return [{ ...place, schema: union }, ...inner]
}

function walkInner(place: Place, components: Components): Place[] {
  if (Array.isArray(place.value) || (place.schema.items && !isObject(place.value))) return walkItem(place, components)
  const properties = Object.entries((place.schema.properties as Record<string, Schema> | undefined) ?? {})
  if (!isObject(place.value)) return []
  const required = (place.schema.required as string[] | undefined) ?? []
  return properties.flatMap(([name, schema]) => walkProperty(place, name, schema, required.includes(name), components))
}

function walkItem(place: Place, components: Components): Place[] {
  const schema = (place.schema.items as Schema | undefined) ?? true
  const given = Array.isArray(place.value) ? place.value[0] : undefined
  const value = given ?? sampleOf(schema, components)
  if (value === undefined) return []
  const root = given === undefined ? replaceAt(place.root, place.at, [value]) : place.root
  return walk(
    {
      ...place,
      ...{ at: [...place.at, '0'], schema, pointer: `${place.pointer}/items`, value, root },
      ...{ isRequired: null, isGiven: place.isGiven && given !== undefined, isBranch: false },
      rank: place.rank + (given === undefined ? ABSENT_RANK : 0),
    },
    components,
  )
}

function walkProperty(
  place: Place,
  name: string,
  schema: Schema,
  isRequired: boolean,
  components: Components,
): Place[] {
  const given = (place.value as Record<string, unknown>)[name]
  const value = given === undefined ? sampleOf(schema, components) : given
  const at = [...place.at, name]
  const isGiven = place.isGiven && given !== undefined
  const depth = Math.max(0, at.length - FLAT_DEPTH)
  return walk(
    {
      ...{ at, schema, value, isGiven, isRequired, isBranch: false },
      pointer: `${place.pointer}/properties/${escapePointer(name)}`,
      parent: place.pointer,
      root: given === undefined && value !== undefined ? replaceAt(place.root, at, value) : place.root,
      // What the good body has stands in front; so do its own optional properties.
      rank: place.rank + (isGiven || depth === 0 ? 0 : ABSENT_RANK) + (depth > 0 && !isGiven ? 1 : 0),
    },
    components,
  )
}

/** The schema behind references, and where it stands. */
function follow(schema: Schema, pointer: string, components: Components): { schema: Schema; pointer: string } {
  let current = { schema, pointer }
  while (typeof current.schema === 'object' && typeof current.schema.$ref === 'string') {
    const name = current.schema.$ref.slice(current.schema.$ref.lastIndexOf('/') + 1)
    const next = components[name]
    if (next === undefined) throw new Error(`The contract has no schema ${current.schema.$ref}`)
    current = { schema: next, pointer: `/components/schemas/${name}` }
  }
  return current
}
