import { describe, expect, test } from 'vitest'
import { type ConstraintSource, compileConstraint } from '../../../src/inference/constraint/constraint.ts'
import { ConstraintError } from '../../../src/inference/constraint/constraint-error.ts'
import { accepts, createTestRandom, start, tinyChat, writeText } from './writer.ts'

function allows(schema: unknown, text: string, options: Partial<ConstraintSource> = {}): boolean {
  return accepts({ kind: 'json_schema', schema, ...options } as ConstraintSource, text)
}

function refusal(schema: unknown): { path: string[]; message: string } {
  try {
    compileConstraint({ kind: 'json_schema', schema })
  } catch (error) {
    if (error instanceof ConstraintError) return { path: error.path, message: error.message }
    throw error
  }
  throw new Error('the schema is not refused')
}

describe('objects', () => {
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' }, tag: { const: 'x' } },
    required: ['name'],
  }

  test('write declared properties in their order, optional ones or not, and then others', () => {
    expect(allows(person, '{"name":"a"}')).toBe(true)
    expect(allows(person, '{"name":"a","tag":"x"}')).toBe(true)
    expect(allows(person, '{"name":"a","age":1,"tag":"x","more":[1],"other":null}')).toBe(true)
    expect(allows(person, '{"age":1,"name":"a"}')).toBe(false)
    expect(allows(person, '{"age":1}')).toBe(false)
    expect(allows(person, '{}')).toBe(false)
  })

  test('give a declared name no second value, however it is escaped', () => {
    expect(allows(person, '{"name":"a","age":"old"}')).toBe(false)
    expect(allows(person, '{"name":"a","\\u0061ge":"old"}')).toBe(false)
    expect(allows(person, '{"name":"a","ages":"old","ag":1,"a":1,"":1}')).toBe(true)
    expect(allows(person, '{"name":"a","tag":"x","name":1}')).toBe(false)
  })

  test('forbid others where additionalProperties or the switch says so', () => {
    const more = '{"name":"a","more":1}'
    expect(allows({ ...person, additionalProperties: false }, more)).toBe(false)
    expect(allows(person, more, { disableAdditionalProperties: true })).toBe(false)
    expect(allows({ ...person, additionalProperties: true }, more, { disableAdditionalProperties: true })).toBe(true)
    expect(allows({ ...person, additionalProperties: { type: 'string' } }, more)).toBe(false)
    expect(allows({ ...person, additionalProperties: { type: 'integer' } }, more)).toBe(true)
  })

  test('count their properties', () => {
    const bounded = {
      properties: { a: {}, b: {}, c: {} },
      minProperties: 2,
      maxProperties: 2,
      additionalProperties: false,
    }
    expect(allows(bounded, '{"a":1}')).toBe(false)
    expect(allows(bounded, '{"a":1,"c":1}')).toBe(true)
    expect(allows(bounded, '{"a":1,"b":1,"c":1}')).toBe(false)
    const open = { type: 'object', minProperties: 1, maxProperties: 2, additionalProperties: { type: 'null' } }
    expect(allows(open, '{}')).toBe(false)
    expect(allows(open, '{"a":null}')).toBe(true)
    expect(allows(open, '{"a":null,"b":null,"c":null}')).toBe(false)
    // other names might be the same one twice, so that only one of them counts
    const atLeastThree = { properties: { a: {}, b: {} }, minProperties: 3 }
    expect(allows(atLeastThree, '{"a":1,"b":1,"c":1,"d":1}')).toBe(true)
    expect(allows(atLeastThree, '{"a":1,"c":1,"c":1}')).toBe(false)
  })
})

describe('arrays', () => {
  const pair = { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'null' }], items: { type: 'boolean' } }
  const texts = ['[]', '[1]', '[1,null]', '[1,null,true]', '[1,null,true,false]', '[null]', '[1,true]']

  test('follow prefixItems and then items, and may end before all are there', () => {
    expect(texts.map(text => allows(pair, text))).toEqual([true, true, true, true, true, false, false])
  })

  test('count their items', () => {
    const allowed = (bounds: object) => texts.slice(0, 5).map(text => allows({ ...pair, ...bounds }, text))
    expect(allowed({ minItems: 2 })).toEqual([false, false, true, true, true])
    expect(allowed({ maxItems: 2 })).toEqual([true, true, true, false, false])
    expect(allowed({ maxItems: 1 })).toEqual([true, true, false, false, false])
    expect(allowed({ minItems: 3, maxItems: 3 })).toEqual([false, false, false, true, false])
    expect(allowed({ maxItems: 0 })).toEqual([true, false, false, false, false])
  })

  test('without prefixItems count from the first', () => {
    const allowed = (bounds: object) =>
      ['[]', '[1]', '[1,2]', '[1,2,3]'].map(text => allows({ items: { type: 'integer' }, ...bounds }, text))
    expect(allowed({ minItems: 1, maxItems: 2 })).toEqual([false, true, true, false])
    expect(allowed({ maxItems: 0 })).toEqual([true, false, false, false])
  })
})

describe('combinations', () => {
  test('allOf holds together, through references', () => {
    const schema = {
      $defs: { named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
      allOf: [{ $ref: '#/$defs/named' }, { properties: { name: { maxLength: 2 } } }],
      additionalProperties: false,
    }
    // additionalProperties speaks of its own schema's properties alone, of which there are none
    expect(() => allows(schema, '{}')).toThrow('cannot be met by any text')
    expect(allows({ ...schema, additionalProperties: true }, '{"name":"ab"}')).toBe(true)
    expect(allows({ ...schema, additionalProperties: true }, '{"name":"abc"}')).toBe(false)
  })

  test('anyOf and oneOf hold together with what stands beside them', () => {
    const schema = {
      type: ['string', 'integer'],
      anyOf: [{ maxLength: 1 }, { minimum: 5, maximum: 6 }, { type: 'null' }],
    }
    expect(allows(schema, '"a"')).toBe(true)
    expect(allows(schema, '"ab"')).toBe(true)
    expect(allows({ ...schema, type: 'string', anyOf: [{ maxLength: 1 }] }, '"ab"')).toBe(false)
    expect(allows(schema, 'null')).toBe(false)
    const tagged = {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' }, x: { type: 'integer' } }, required: ['kind', 'x'] },
        { type: 'object', properties: { kind: { const: 'b' }, y: { type: 'string' } }, required: ['kind', 'y'] },
      ],
    }
    expect(allows(tagged, '{"kind":"b","y":"1"}')).toBe(true)
    expect(allows(tagged, '{"kind":"b","x":1}')).toBe(false)
  })

  test('a schema may contain itself', () => {
    const list = { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false }
    expect(allows(list, '{"next":{"next":{}}}')).toBe(true)
    expect(allows(list, '{"next":{"next":1}}')).toBe(false)
  })

  test('references decode JSON pointers', () => {
    expect(allows({ $defs: { 'a/b ~': { const: 1 } }, $ref: '#/$defs/a~1b%20~0' }, '1')).toBe(true)
  })

  test('true allows any value, false none', () => {
    expect(allows(true, '[{"a":[null,true,-1.5e9,"\\u00e9\\ud83d\\ude00"]}]')).toBe(true)
    expect(allows({ type: 'array', items: false }, '[]')).toBe(true)
    expect(allows({ type: 'array', items: false }, '[1]')).toBe(false)
    expect(() => allows(false, '1')).toThrow('cannot be met by any text')
  })
})

describe('numbers', () => {
  const cases: [Record<string, unknown>, string[], string[]][] = [
    [{ type: 'integer' }, ['0', '-0', '-12', '123456789012345'], ['01', '1.0', '1e3', '+1', '']],
    [{ type: 'integer', minimum: -3, maximum: 120 }, ['-3', '0', '9', '99', '120'], ['-4', '-0', '121', '1200', '012']],
    [{ type: 'integer', exclusiveMinimum: 9, exclusiveMaximum: 11 }, ['10'], ['9', '11']],
    [{ type: 'integer', minimum: 0.5, maximum: 2.5 }, ['1', '2'], ['0', '3']],
    [{ type: 'integer', maximum: 9_007_199_254_740_991 }, ['-5', '999999999999999'], ['9007199254740992']],
    [{ type: 'integer', format: 'int32' }, ['2147483647', '-2147483648'], ['2147483648', '-2147483649']],
    [{ type: 'number' }, ['0', '-0.5', '1e9', '2.25E-07'], ['.5', '5.', '1e100', '--1']],
    [{ type: 'number', minimum: 0.5 }, ['0.5', '0.50', '0.51', '1', '10.25'], ['0.4', '0.49', '0', '-1', '1e3']],
    [{ type: 'number', exclusiveMinimum: 0, maximum: 1 }, ['0.001', '1', '1.00'], ['0', '0.0', '1.01', '-0.5', '2']],
    [
      { type: 'number', minimum: -1.25, exclusiveMaximum: -0.5 },
      ['-1.25', '-0.51', '-1'],
      ['-1.26', '-0.5', '0', '-2'],
    ],
    [{ type: 'number', maximum: 1e-7, minimum: -1e-7 }, ['0', '0.0000001', '-0.00000005'], ['0.0000002', '1', '-1']],
    [{ type: 'number', minimum: 99.5, maximum: 1000 }, ['99.5', '100', '999.99', '1000'], ['99.4', '1000.1', '9999']],
  ]

  test.for(cases)('%j', ([schema, allowed, forbidden]) => {
    for (const text of allowed) expect(allows(schema, text), text).toBe(true)
    for (const text of forbidden) expect(allows(schema, text), text).toBe(false)
  })
})

describe('strings', () => {
  test('lengths count characters, not bytes or halves', () => {
    const two = { type: 'string', minLength: 2, maxLength: 2 }
    for (const text of ['"ab"', '"éé"', '"😀😀"', '"\\u00e9\\n"', '"\\ud83d\\ude00a"'])
      expect(allows(two, text), text).toBe(true)
    for (const text of ['"a"', '"abc"', '"\\u00e9"', '"\\ud83da"', '"\\ude00a"', '"a\nb"'])
      expect(allows(two, text), text).toBe(false)
  })

  test('patterns match anywhere unless they are anchored, in the escaped text', () => {
    expect(allows({ pattern: 'b' }, '"abc"')).toBe(true)
    expect(allows({ pattern: '^b' }, '"abc"')).toBe(false)
    expect(allows({ pattern: '^a.c$' }, '"abc"')).toBe(true)
    expect(allows({ pattern: '^"\\\\\\n$' }, '"\\"\\\\\\n"')).toBe(true)
    expect(allows({ pattern: '^a|c$' }, '"bc"')).toBe(true)
    expect(allows({ pattern: '^a|c$' }, '"cb"')).toBe(false)
  })

  test('a pattern takes in a length where its own count can', () => {
    const slug = { type: 'string', pattern: '^x[a-z]+$', minLength: 3, maxLength: 4 }
    expect(['"xa"', '"xab"', '"xabc"', '"xabcd"'].map(text => allows(slug, text))).toEqual([false, true, true, false])
  })

  const formats: [string, string[], string[]][] = [
    ['date', ['2024-02-28', '1999-12-31'], ['2024-02-30', '2024-13-01', '24-01-01']],
    ['time', ['23:59:59Z', '00:00:00.5+01:30'], ['24:00:00Z', '12:00:00']],
    ['date-time', ['2024-01-31T00:00:00Z'], ['2024-01-31', '2024-01-31 00:00:00Z']],
    ['duration', ['P3D', 'PT2H30M', 'P1DT2H'], ['P', 'PT', '3D']],
    ['email', ['a.b@example.org'], ['a@b', '@example.org', 'a..b@example.org']],
    ['hostname', ['example.org', 'localhost'], ['-a.org', 'a..b']],
    ['ipv4', ['127.0.0.1', '255.249.19.0'], ['256.0.0.1', '1.2.3', '01.2.3.4']],
    ['ipv6', ['2001:db8:0:0:0:0:0:1'], ['2001:db8', '1:2:3:4:5:6:7:8:9']],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000']],
    ['uri', ['https://example.org/a?b=c#d'], ['example.org', 'https://']],
  ]

  test.for(formats)('format %s', ([format, allowed, forbidden]) => {
    for (const text of allowed) expect(allows({ type: 'string', format }, `"${text}"`), text).toBe(true)
    for (const text of forbidden) expect(allows({ type: 'string', format }, `"${text}"`), text).toBe(false)
  })
})

describe('white space', () => {
  const schema = { type: 'array', items: { type: 'object', properties: { a: { const: 1 } } }, maxItems: 3 }
  const compact = '[{"a":1},{}]'
  const spaced = '[{"a": 1}, {}]'
  const indented = '[\n  {\n    "a": 1\n  },\n  {}\n]'

  test('is a space, or a line break with indentation, or nothing', () => {
    for (const text of [compact, spaced, indented, '[ ]']) expect(allows(schema, text), text).toBe(true)
    for (const text of ['[  {}]', '[\n\n{}]', '[{} ,{}]', ' []', '[] ', `[\n${' '.repeat(41)}]`, '[{"a":\n1}]']) {
      expect(allows(schema, text), text).toBe(false)
    }
  })

  test('can be left out altogether', () => {
    const options = { disableAnyWhitespace: true }
    expect([compact, spaced, indented].map(text => allows(schema, text, options))).toEqual([true, false, false])
  })

  test('can follow a pattern', () => {
    const options = { whitespacePattern: '[ \\t]{0,2}' }
    expect(allows(schema, compact, options)).toBe(true)
    expect(allows(schema, '[ \t{ "a" :  1 } , {\t} ]', options)).toBe(true)
    expect(allows(schema, '[   {}]', options)).toBe(false)
    expect(allows(schema, indented, options)).toBe(false)
  })

  test('is all that a white space pattern may match', () => {
    const compile = () => compileConstraint({ kind: 'json_object', whitespacePattern: '\\s*|,' })
    expect(compile).toThrow(expect.objectContaining({ path: ['whitespace_pattern'] }))
  })

  test('applies to json_object and to objects in enum, too', () => {
    expect(accepts({ kind: 'json_object', disableAnyWhitespace: true }, '{"a": 1}')).toBe(false)
    expect(accepts({ kind: 'json_object' }, '{"a": [1, {}]}')).toBe(true)
    expect(accepts({ kind: 'json_object' }, '[1]')).toBe(false)
    expect(allows({ enum: [{ a: [] }] }, '{"a": [ ]}', { disableAnyWhitespace: true })).toBe(false)
    expect(allows({ enum: [{ a: [] }] }, '{"a": [ ]}')).toBe(true)
  })
})

describe('refused', () => {
  const inside = (keyword: string, value: unknown) => ({
    type: 'object',
    properties: { a: { anyOf: [{ [keyword]: value }] } },
  })
  const unsupported: [string, unknown][] = [
    ['not', {}],
    ['if', {}],
    ['then', {}],
    ['else', {}],
    ['multipleOf', 2],
    ['uniqueItems', true],
    ['contains', {}],
    ['minContains', 1],
    ['maxContains', 1],
    ['unevaluatedItems', false],
    ['unevaluatedProperties', false],
    ['additionalItems', false],
    ['patternProperties', {}],
    ['propertyNames', {}],
    ['dependentRequired', {}],
    ['dependentSchemas', {}],
    ['dependencies', {}],
    ['$dynamicRef', '#a'],
    ['$recursiveRef', '#'],
    ['nullable', true],
    ['requird', ['a']],
  ]

  test.for(unsupported)('the keyword %s, by name and place', ([keyword, value]) => {
    expect(refusal(inside(keyword, value))).toEqual({
      path: ['properties', 'a', 'anyOf', '0', keyword],
      message: `the keyword ${keyword} is not supported`,
    })
  })

  const malformed: [string, unknown, string[], string][] = [
    ['an unknown format', { format: 'iri' }, ['format'], 'the format "iri" is not supported'],
    ['an unknown type', { type: ['string', 'int'] }, ['type'], '"int" is not a type'],
    ['a schema that is none', { items: 3 }, ['items'], 'must be a schema'],
    ['a schema that is text', '{', [], 'is not JSON'],
    ['a list as items', { items: [{}] }, ['items'], 'prefixItems'],
    ['a bound that is no number', { minimum: '3' }, ['minimum'], 'must be a number'],
    ['a count below 0', { minLength: -1 }, ['minLength'], 'at least 0'],
    ['a broken pattern', { pattern: 'a(' }, ['pattern'], '( without its ) (at character 2)'],
    ['look-ahead', { pattern: 'a(?=b)' }, ['pattern'], 'look-ahead is not supported'],
    ['two patterns', { allOf: [{ pattern: 'a' }, { pattern: 'b' }] }, ['allOf', '1', 'pattern'], 'only one pattern'],
    ['a length for a free pattern', { pattern: 'a+b+', maxLength: 3 }, ['pattern'], 'cannot be combined'],
    ['an empty enum', { enum: [] }, ['enum'], 'must be a list'],
    ['objects in enum with other keywords', { enum: [{}], minProperties: 1 }, ['enum'], 'cannot be combined'],
    ['no branches', { anyOf: [] }, ['anyOf'], 'at least one'],
    ['a reference outside', { $ref: 'other.json' }, ['$ref'], 'within the schema'],
    ['a reference to nothing', { $ref: '#/$defs/a' }, ['$ref'], 'leads to nothing'],
    ['a reference to itself', { $ref: '#' }, [], 'refers to itself'],
    ['a union of itself', { anyOf: [{ type: 'null' }, { $ref: '#' }] }, [], 'refers to itself'],
    ['an endless object', { properties: { a: { $ref: '#' } }, required: ['a'] }, [], 'cannot be met'],
    ['types that exclude each other', { allOf: [{ type: 'null' }, { type: 'string' }] }, [], 'cannot be met'],
    ['more names than can be told apart', { minProperties: 2, type: 'object' }, ['minProperties'], 'may repeat'],
  ]

  test.for(malformed)('%s', ([, schema, path, message]) => {
    expect(refusal(schema)).toEqual({ path, message: expect.stringContaining(message) })
  })

  test('but not what says nothing about the value', () => {
    const notes = {
      title: 't',
      description: 'd',
      default: 1,
      examples: [1],
      $comment: 'c',
      'x-order': 1,
      uniqueItems: false,
    }
    expect(allows({ ...notes, $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, 'null')).toBe(
      true,
    )
  })
})

test('a schema may come as JSON text', () => {
  expect(allows('{"const":"a"}', '"a"')).toBe(true)
})

test('text in the answer is written in whole characters, however the tokens cut them', () => {
  const state = start({ kind: 'json_schema', schema: { type: 'string', maxLength: 12 } }, tinyChat)
  const random = createTestRandom(5)
  for (let round = 0; round < 50; round++) expect(writeText(state, tinyChat, random)).not.toContain('\ufffd')
})
