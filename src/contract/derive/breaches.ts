/** Values that break one rule of a schema, and values that come close to breaking it. */
import type { SchemaObject } from '../../spec/document.ts'
import type { Rule } from './derived-case.ts'
import { typesOf } from './sample-value.ts'

export interface Breach {
  rule: Rule
  what: string
  /** The keyword that is tried. */
  keyword: string
  value: unknown
  rank: number
  /** Only a strict validator finds it. */
  isSubtle?: boolean
}

/** Outside of the Basic Multilingual Plane: one character, two UTF-16 units, four bytes. */
const ASTRAL = '\u{1F682}'
/** Longer texts are not made to try a limit. */
const MOST_LENGTH = 20_000
const UUID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'

/** Values of each type that nothing could take for one of another. */
const OF_TYPE: Readonly<Record<string, unknown>> = {
  object: { not: 'expected' },
  array: ['x'],
  string: 'text',
  number: 12.5,
  boolean: true,
}

/** What is taken for a value of the type where types are converted. */
const LOOKALIKES: Readonly<Record<string, unknown[]>> = {
  integer: ['1'],
  number: ['1'],
  boolean: ['true', 1],
  string: [7],
}

/** What is near a format without being of it. */
const NOT_OF_FORMAT: Readonly<Record<string, [what: string, value: string][]>> = {
  uuid: [
    ['no UUID', 'no-uuid'],
    ['a UUID as a URN', `urn:uuid:${UUID}`],
    ['a UUID in braces', `{${UUID}}`],
    ['a UUID without hyphens', UUID.replaceAll('-', '')],
    ['a UUID that is cut', UUID.slice(0, -1)],
  ],
  date: [
    ['a day that does not exist', '2026-02-30'],
    ['no leap day', '2026-02-29'],
    ['a time instead of a day', '2026-01-02T03:04:05Z'],
    ['a day of one digit', '2026-1-2'],
  ],
  'date-time': [
    ['a time with a space', '2026-01-02 03:04:05Z'],
    ['a time without a zone', '2026-01-02T03:04:05'],
    ['hour 24', '2026-01-02T24:00:00Z'],
    ['a time on no leap day', '2026-02-29T00:00:00Z'],
    ['a day without a time', '2026-01-02'],
  ],
  uri: [
    ['a path instead of a URI', '/no/scheme'],
    ['a URI with a space', 'http://example.test/a b'],
    ['a URI with half an escape', 'http://example.test/%2'],
  ],
}

const OF_FORMAT: Readonly<Record<string, [what: string, value: string][]>> = {
  uuid: [['a UUID in upper case', UUID.toUpperCase()]],
  date: [['a leap day', '2024-02-29']],
  'date-time': [
    ['a time on a leap day', '2024-02-29T23:59:59Z'],
    ['a time in another zone', '2026-01-02T03:04:05.123456+05:30'],
    ['a time in lower case', '2026-01-02t03:04:05z'],
  ],
}

/** Values that must be refused where the schema holds; those of a union may fit another of its branches. */
export function breachesOf(schema: SchemaObject): Breach[] {
  return [
    ...ofType(schema),
    ...ofNumbers(schema, -1),
    ...ofLengths(schema, -1),
    ...ofValues(schema),
    ...ofFormat(schema),
  ]
}

/** Values at the limits, which must be accepted. */
export function allowedValuesOf(schema: SchemaObject): Breach[] {
  const types = typesOf(schema)
  const values = (schema.enum as unknown[] | undefined) ?? (types.includes('boolean') ? [true, false] : [])
  const formats = OF_FORMAT[String(schema.format)] ?? []
  const allowed = (what: string, keyword: string, value: unknown, rank: number): Breach => {
    return { rule: 'allowed', what, keyword, value, rank }
  }
  return [
    ...ofNumbers(schema, 1),
    ...ofLengths(schema, 1),
    ...values
      .filter(value => value !== null)
      .map(value => allowed(`as ${JSON.stringify(value)}`, schema.enum ? 'enum' : 'type', value, 2)),
    ...formats.map(([what, value], index) => allowed(`as ${what}`, 'format', value, 1 + index)),
    ...(types.includes('number') ? [allowed('with a fraction', 'type', 0.5, 2)] : []),
  ]
}

/** Values that are far beyond what anybody sends and break no rule: any answer will do but a failure. */
export function hugeValuesOf(schema: SchemaObject): Breach[] {
  const types = typesOf(schema)
  const huge = (what: string, value: unknown): Breach => ({ rule: 'huge', what, keyword: 'type', value, rank: 3 })
  if (types.includes('string')) return [huge('a very long text', ASTRAL.repeat(MOST_LENGTH)), huge('empty', '')]
  if (types.includes('integer') || types.includes('number')) return [huge('a very large number', 1e300)]
  if (types.includes('array')) return [huge('an empty list', [])]
  if (types.includes('object')) return [huge('an object of many keys', manyKeys())]
  return []
}

function manyKeys(): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, index]))
}

function ofType(schema: SchemaObject): Breach[] {
  const types = typesOf(schema)
  if (types.length === 0) return []
  const isNumber = types.includes('integer') || types.includes('number')
  const has = (type: string) => types.includes(type) || (type === 'number' && isNumber)
  const others = Object.entries(OF_TYPE).filter(([type]) => !has(type))
  // An object for what is not one, and the other way round, is what validators disagree about least.
  const far = has('object') ? others.toReversed() : others
  const wrong = far.map(
    ([type, value], index): Breach => ({
      ...{ rule: 'type', what: `of the type ${type}`, keyword: 'type', value },
      rank: 1 + index * 2,
    }),
  )
  const fraction: Breach = { rule: 'type', what: 'with a fraction', keyword: 'type', value: 1.5, rank: 1 }
  const nothing: Breach = { rule: 'null', what: 'null', keyword: 'type', value: null, rank: 0 }
  const alike = types
    .flatMap(type => LOOKALIKES[type] ?? [])
    .filter(value => !has(typeof value))
    .map((value): Breach => {
      return { rule: 'lookalike', what: `as ${JSON.stringify(value)}`, keyword: 'type', value, rank: 2 }
    })
  return [
    ...wrong,
    ...(isNumber && !types.includes('number') ? [fraction] : []),
    ...(types.includes('null') ? [] : [nothing]),
    ...alike,
  ]
}

/** `side` -1: just outside of each limit; 1: at the limit, and just inside. */
function ofNumbers(schema: SchemaObject, side: -1 | 1): Breach[] {
  const isWhole = typesOf(schema).includes('integer')
  const breaches: Breach[] = []
  const add = (keyword: string, what: string, value: number, rank = 0) => {
    const rule = side < 0 ? 'bounds' : 'allowed'
    breaches.push({ rule, what, keyword, value, rank: side < 0 ? rank : rank + 1 })
  }
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (typeof minimum === 'number') {
    if (side < 0) add('minimum', 'below its minimum', step(minimum, -1, isWhole))
    else add('minimum', 'at its minimum', minimum)
    if (side > 0) add('minimum', 'above its minimum', step(minimum, 1, isWhole), 1)
  }
  if (typeof maximum === 'number') {
    if (side < 0) add('maximum', 'above its maximum', step(maximum, 1, isWhole))
    else add('maximum', 'at its maximum', maximum)
    if (side > 0) add('maximum', 'below its maximum', step(maximum, -1, isWhole), 1)
  }
  if (typeof exclusiveMinimum === 'number') {
    if (side < 0) add('exclusiveMinimum', 'at its exclusive minimum', exclusiveMinimum)
    else add('exclusiveMinimum', 'above its exclusive minimum', step(exclusiveMinimum, 1, isWhole))
  }
  if (typeof exclusiveMaximum === 'number') {
    if (side < 0) add('exclusiveMaximum', 'at its exclusive maximum', exclusiveMaximum)
    else add('exclusiveMaximum', 'below its exclusive maximum', step(exclusiveMaximum, -1, isWhole))
  }
  return breaches
}

/** A share of the limit, or of 1, that no double loses. */
const SMALL_STEP = 1 / 1024

/** The next number that differs even where doubles are coarse. */
function step(limit: number, direction: -1 | 1, isWhole: boolean): number {
  if (Math.abs(limit) >= Number.MAX_SAFE_INTEGER) return direction * Math.sign(limit) > 0 ? limit * 1.5 : limit / 2
  return limit + direction * (isWhole ? 1 : SMALL_STEP)
}

/** Lengths count characters, so texts of astral ones are tried at the limit too. */
function ofLengths(schema: SchemaObject, side: -1 | 1): Breach[] {
  const breaches: Breach[] = []
  const add = (keyword: string, what: string, value: unknown, rank = 0) => {
    const rule = side < 0 ? 'bounds' : 'allowed'
    breaches.push({ rule, what, keyword, value, rank: side < 0 ? rank : rank + 1 })
  }
  const { minLength, maxLength, minItems, maxItems } = schema as Record<string, number | undefined>
  const item = Array.isArray(schema.example) ? schema.example[0] : 'x'
  if (minLength) {
    if (side < 0) add('minLength', 'too short', 'x'.repeat(minLength - 1))
    else add('minLength', 'as short as it may be', 'x'.repeat(minLength))
  }
  if (maxLength && maxLength <= MOST_LENGTH) {
    const length = side < 0 ? maxLength + 1 : maxLength
    add('maxLength', side < 0 ? 'too long' : 'as long as it may be', 'x'.repeat(length))
    add(
      'maxLength',
      `${side < 0 ? 'too long' : 'as long as it may be'} in characters of two units`,
      ASTRAL.repeat(length),
      2,
    )
  }
  if (minItems && side < 0) add('minItems', 'with too few items', Array(minItems - 1).fill(item))
  if (maxItems && side < 0) add('maxItems', 'with too many items', Array(maxItems + 1).fill(item), 1)
  if (maxItems && side > 0) add('maxItems', 'with as many items as there may be', Array(maxItems).fill(item), 1)
  return breaches
}

function ofValues(schema: SchemaObject): Breach[] {
  const keyword = 'const' in schema ? 'const' : 'enum'
  const values = 'const' in schema ? [schema.const] : ((schema.enum as unknown[] | undefined) ?? [])
  const [text] = values.filter(value => typeof value === 'string')
  if (text === undefined) return []
  const other = (what: string, value: string, rank: number): Breach => ({ rule: 'values', what, keyword, value, rank })
  return [
    other('of another value', 'no-such-value', 0),
    other('in another case', text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase(), 2),
    other('with a space after it', `${text} `, 3),
    other('empty', '', 3),
  ]
}

function ofFormat(schema: SchemaObject): Breach[] {
  const formats = (NOT_OF_FORMAT[String(schema.format)] ?? []).map(
    ([what, value], index): Breach => ({
      ...{ rule: 'format', what: `as ${what}`, keyword: 'format', value, rank: index },
      isSubtle: true,
    }),
  )
  if (typeof schema.pattern !== 'string') return formats
  const texts = ['/', 'a\u0000b', ' ', 'ünï', ':', '%']
  const pattern = new RegExp(schema.pattern, 'u')
  const not = texts.filter(text => !pattern.test(text) && text.length >= Number(schema.minLength ?? 0)).slice(0, 2)
  return [
    ...formats,
    ...not.map((value, index): Breach => {
      const what = `as ${JSON.stringify(value)}, which its pattern excludes`
      return { rule: 'format', what, keyword: 'pattern', value, rank: index * 2 }
    }),
  ]
}
