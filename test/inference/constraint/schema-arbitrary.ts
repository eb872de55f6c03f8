/** JSON schemas of every supported kind, each with a value that matches it and is written in the schema's order. */
import fc from 'fast-check'

export interface SchemaWithValue {
  schema: Record<string, unknown>
  value: unknown
}

type SchemaArbitrary = fc.Arbitrary<SchemaWithValue>

/** Patterns with a text that each matches. */
const patterns: [string, string][] = [
  ['^[a-z]+$', 'abc'],
  ['^(foo|bar){1,3}$', 'foobar'],
  ['[0-9]{2}', 'x42'],
  ['^\\d{3}-\\d{4}$', '555-1234'],
  ['^[^"\\\\]*"$', 'a"'],
  ['^\\w+(\\.\\w+)*$|^-$', 'a.b'],
  ['é+\\s', ' éé\n'],
]

const text = fc.string({ unit: 'grapheme', maxLength: 6 }).filter(value => value.isWellFormed())
const name = fc.oneof(fc.constantFrom('a', 'b', 'ab', 'id', 'name', 'é', '"', 'x\\y'), text)
const lengthOf = (value: string) => [...value].length
const scalar = fc.oneof(
  fc.integer({ min: -999, max: 999 }),
  fc.constantFrom(0.5, -1.25, 1e21, null),
  fc.boolean(),
  text,
)

const anyString: SchemaArbitrary = fc
  .record({ value: text, below: fc.nat(2), above: fc.nat(3), bounds: fc.nat(3) })
  .map(({ value, below, above, bounds }) => ({
    schema: {
      type: 'string',
      ...(bounds & 1 && { minLength: Math.max(0, lengthOf(value) - below) }),
      ...(bounds & 2 && { maxLength: lengthOf(value) + above }),
    },
    value,
  }))

const patterned: SchemaArbitrary = fc
  .constantFrom(...patterns)
  .map(([pattern, value]) => ({ schema: { type: 'string', pattern }, value }))

const boundedPattern: SchemaArbitrary = fc
  .record({ value: fc.stringMatching(/^[a-z0-9]{1,8}$/), above: fc.nat(3) })
  .map(({ value, above }) => ({
    schema: { type: 'string', pattern: '^[a-z0-9]+$', minLength: 1, maxLength: value.length + above },
    value,
  }))

/** Bounds around a value, each inclusive or exclusive or not there. */
function withBounds(type: string, value: number, kinds: number, gap: number): SchemaWithValue {
  const [lower, upper] = [kinds % 3, Math.floor(kinds / 3)]
  const bounds = {
    ...(lower === 1 && { minimum: value - gap }),
    ...(lower === 2 && { exclusiveMinimum: value - gap - 1 }),
    ...(upper === 1 && { maximum: value + gap }),
    ...(upper === 2 && { exclusiveMaximum: value + gap + 0.5 }),
  }
  return { schema: { type, ...bounds }, value }
}

const integer: SchemaArbitrary = fc
  .tuple(fc.oneof(fc.integer(), fc.integer({ min: -20, max: 20 })), fc.nat(8), fc.nat(150))
  .map(([value, kinds, gap]) => withBounds('integer', value, kinds, gap))

const number: SchemaArbitrary = fc
  .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.nat(3), fc.nat(8), fc.nat(30))
  .map(([digits, places, kinds, gap]) => withBounds('number', digits / 10 ** places, kinds, gap / 8))

const literals: SchemaArbitrary = fc.oneof(
  fc.array(scalar, { minLength: 1, maxLength: 5 }).map(values => ({ schema: { enum: values }, value: values[0] })),
  scalar.map(value => ({ schema: { const: value }, value })),
  fc.constant({ schema: { const: { a: [1, {}], b: null } }, value: { a: [1, {}], b: null } }),
  fc.constant({ schema: { type: 'string', enum: [1, 'x', null, 'yy'], minLength: 2 }, value: 'yy' }),
  fc.constant({ schema: { type: 'boolean' }, value: true }),
  fc.constant({ schema: { type: 'null' }, value: null }),
)

const anything: SchemaArbitrary = fc.jsonValue({ maxDepth: 2 }).map(value => ({ schema: {}, value: toPlain(value) }))

/** Any JSON but for numbers that would need more digits than are written. */
function toPlain(value: unknown): unknown {
  if (typeof value === 'number') return Math.round(value % 1000)
  if (Array.isArray(value)) return value.map(toPlain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toPlain(inner)]))
}

function arrayOf(item: SchemaArbitrary): SchemaArbitrary {
  return fc
    .record({ item, count: fc.nat(3), below: fc.nat(2), above: fc.nat(2), bounds: fc.nat(3) })
    .map(({ item, count, below, above, bounds }) => ({
      schema: {
        type: 'array',
        items: item.schema,
        ...(bounds & 1 && { minItems: Math.max(0, count - below) }),
        ...(bounds & 2 && { maxItems: count + above }),
      },
      value: Array.from({ length: count }, () => item.value),
    }))
}

function tupleOf(item: SchemaArbitrary): SchemaArbitrary {
  return fc
    .record({ prefix: fc.array(item, { minLength: 1, maxLength: 3 }), rest: fc.option(item), cut: fc.nat(1) })
    .map(({ prefix, rest, cut }) => ({
      schema: {
        type: 'array',
        prefixItems: prefix.map(({ schema }) => schema),
        items: rest?.schema ?? false,
        minItems: 1,
      },
      value: [...prefix.map(({ value }) => value), ...(rest ? [rest.value] : [])].slice(0, prefix.length + 1 - cut),
    }))
}

function objectOf(item: SchemaArbitrary): SchemaArbitrary {
  return fc
    .record({
      members: fc.uniqueArray(fc.tuple(name, item, fc.nat(3)), { selector: ([key]) => key, maxLength: 4 }),
      extra: fc.option(fc.tuple(name, item)),
      isClosed: fc.boolean(),
      counts: fc.nat(3),
    })
    .map(({ members, extra, isClosed, counts }) => {
      // bit 1: required, bit 2: optional but there
      const present = members.filter(([, , flags]) => flags !== 0)
      const other = !isClosed && extra && members.every(([key]) => key !== extra[0]) ? extra : null
      const entries = [
        ...present.map(([key, { value }]) => [key, value]),
        ...(other ? [[other[0], other[1].value]] : []),
      ]
      return {
        schema: {
          type: 'object',
          properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])),
          required: members.filter(([, , flags]) => flags & 1).map(([key]) => key),
          ...(isClosed ? { additionalProperties: false } : extra && { additionalProperties: extra[1].schema }),
          ...(counts & 1 && { minProperties: Math.min(present.length, entries.length) }),
          ...(counts & 2 && { maxProperties: entries.length }),
        },
        value: Object.fromEntries(entries),
      }
    })
}

function combined(item: SchemaArbitrary): SchemaArbitrary {
  return fc.oneof(
    fc.tuple(item, item).map(([first, second]) => ({
      schema: { anyOf: [first.schema, second.schema], description: 'either' },
      value: second.value,
    })),
    fc.tuple(item, item).map(([first, second]) => ({
      schema: {
        allOf: [
          { type: 'object', properties: { a: first.schema }, required: ['b'] },
          { properties: { b: second.schema }, required: ['a'] },
        ],
        minProperties: 2,
        maxProperties: 3,
      },
      value: { a: first.value, b: second.value },
    })),
    fc.constant({ schema: { type: ['integer', 'null'], minimum: 3 }, value: null }),
    fc.constant({
      schema: { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      value: { b: 1 },
    }),
  )
}

const nested = fc.letrec<{ node: SchemaWithValue }>(tie => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    anyString,
    patterned,
    boundedPattern,
    integer,
    number,
    literals,
    anything,
    arrayOf(tie('node')),
    tupleOf(tie('node')),
    objectOf(tie('node')),
    combined(tie('node')),
  ),
})).node

/** Half of them within a tree that refers to itself. */
export const schemaWithValue: SchemaArbitrary = fc.oneof(
  nested,
  nested.map(({ schema, value }) => ({
    schema: {
      $defs: {
        tree: {
          type: 'object',
          properties: { value: schema, left: { $ref: '#/$defs/tree' }, rest: { type: 'array', items: { $ref: '#' } } },
          required: ['value'],
          additionalProperties: false,
        },
      },
      $ref: '#/$defs/tree',
    },
    value: { value, left: { value, rest: [{ value }] }, rest: [] },
  })),
)
