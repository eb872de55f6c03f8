import { describe, expect, test } from 'vitest'
import {
  type ConstraintSource,
  ConstraintState,
  compileConstraint,
} from '../../../src/inference/constraint/constraint.ts'
import { ConstraintError } from '../../../src/inference/constraint/constraint-error.ts'
import { CONSTRAINT_LIMITS } from '../../../src/inference/constraint/limits.ts'
import { accepts, acceptsFrom, byteTokens, createTestRandom, start, tinyChat, writeText } from './writer.ts'

/** No rule may hold its caller for longer than this, compiled and followed for a while; generous, for slow machines. */
const MOST_MILLISECONDS = 8_000

const nested = (depth: number, inner: unknown, wrap: (inner: unknown) => unknown) =>
  Array.from({ length: depth }).reduce(wrap, inner)

/** Compiles the rule, writes some text under it, and tells what came of it. */
function outcome(source: ConstraintSource): string {
  const begun = performance.now()
  let result = 'written'
  try {
    writeText(new ConstraintState(compileConstraint(source), tinyChat), tinyChat, createTestRandom(1), 200)
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error
    result = error.message
  }
  expect(performance.now() - begun).toBeLessThan(MOST_MILLISECONDS)
  return result
}

describe('large rules that can be followed', () => {
  test('nested counts', () => {
    expect(accepts({ kind: 'regex', pattern: '(((a{1,500}){1,500}){1,500})' }, 'a'.repeat(2_000))).toBe(true)
    expect(accepts({ kind: 'regex', pattern: '((a{3}){100}){5,6}' }, 'a'.repeat(1_500))).toBe(true)
    expect(accepts({ kind: 'regex', pattern: '((a{3}){100}){5,6}' }, 'a'.repeat(1_503))).toBe(false)
    expect(accepts({ kind: 'regex', pattern: '(a{3,4}){0,2}' }, 'aa')).toBe(false)
    expect(accepts({ kind: 'regex', pattern: '(a{2,}){0,3}' }, 'a')).toBe(false)
  })

  test('large counts', () => {
    expect(outcome({ kind: 'regex', pattern: '[ab]{1,1000000000}x{1000000}' })).toBe('written')
    expect(outcome({ kind: 'json_schema', schema: { type: 'string', minLength: 1e9, maxLength: 1e15 } })).toBe(
      'written',
    )
  })

  test('an enum of 100 000 values', () => {
    const values = Array.from({ length: 100_000 }, (_, index) => `v${index}`)
    expect(outcome({ kind: 'json_schema', schema: { enum: values } })).toBe('written')
    expect(outcome({ kind: 'choice', choices: values })).toBe('written')
    const state = start({ kind: 'choice', choices: values })
    expect(['v99999', 'v100000', 'v', 'v01'].map(text => acceptsFrom(state, text))).toEqual([true, false, false, false])
  })

  test('many optional properties', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`property${index}`, { type: 'null' }]),
    )
    const source: ConstraintSource = { kind: 'json_schema', schema: { type: 'object', properties } }
    expect(outcome(source)).toBe('written')
    expect(accepts(source, '{"property0":null,"property999":null,"more":1}')).toBe(true)
    expect(accepts(source, '{"property999":null,"property0":null}')).toBe(false)
  })

  test('patterns that make a backtracking matcher slow', () => {
    expect(accepts({ kind: 'regex', pattern: '(a*)*b|(a|aa)+c|(a?){40}a{40}' }, 'a'.repeat(60))).toBe(true)
    expect(accepts({ kind: 'regex', pattern: '(x+x+)+y' }, 'x'.repeat(3_000))).toBe(false)
    expect(accepts({ kind: 'regex', pattern: '((a?){1,300}b?){1,300}' }, 'aab'.repeat(100))).toBe(true)
  })

  test('long literals', () => {
    const text = 'lorem ipsum '.repeat(5_000)
    expect(accepts({ kind: 'regex', pattern: text }, text)).toBe(true)
    expect(accepts({ kind: 'json_schema', schema: { const: text } }, JSON.stringify(text))).toBe(true)
  })

  test('references in a long row', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [
        `d${index}`,
        { properties: { next: { $ref: `#/$defs/d${(index + 1) % 500}` } } },
      ]),
    )
    expect(outcome({ kind: 'json_schema', schema: { $defs, $ref: '#/$defs/d0' } })).toBe('written')
  })
})

describe('refused in time', () => {
  const cases: [string, ConstraintSource, string][] = [
    ['a long pattern', { kind: 'regex', pattern: 'a'.repeat(1_048_577) }, 'too long'],
    ['a long grammar', { kind: 'grammar', text: `root ::= "${'a'.repeat(1_048_576)}"` }, 'too long'],
    ['long choices', { kind: 'choice', choices: ['a'.repeat(1_048_577)] }, 'too long'],
    ['a long schema', { kind: 'json_schema', schema: { enum: ['a'.repeat(1_048_577)] } }, 'too long'],
    ['no choices', { kind: 'choice', choices: [] }, 'at least one'],
    ['groups in groups', { kind: 'regex', pattern: `${'('.repeat(5_000)}a${')'.repeat(5_000)}` }, 'nested too deeply'],
    [
      'brackets in a grammar',
      { kind: 'grammar', text: `root ::= ${'('.repeat(5_000)}"a"${')'.repeat(5_000)}` },
      'nested too deeply',
    ],
    [
      'schemas in schemas',
      { kind: 'json_schema', schema: nested(5_000, {}, items => ({ items })) },
      'nested too deeply',
    ],
    [
      'unions in unions',
      {
        kind: 'json_schema',
        schema: {
          allOf: Array.from({ length: 30 }, (_, index) => ({
            anyOf: [{ minLength: index }, { maxLength: 99 - index }],
          })),
        },
      },
      'too large',
    ],
    [
      'many classes',
      {
        kind: 'regex',
        pattern: Array.from({ length: 30_000 }, (_, index) => `[^${String.fromCodePoint(0x4e00 + index)}]`).join(''),
      },
      'too large',
    ],
    [
      'more members than can be counted',
      {
        kind: 'json_schema',
        schema: { type: 'object', minProperties: 1e6, properties: {}, additionalProperties: false },
      },
      'too large',
    ],
    ['readings that double', { kind: 'grammar', text: 'root ::= "a" root "x" | "a" root "y" | ""' }, 'too ambiguous'],
    ['counts that mix', { kind: 'regex', pattern: '(((a|aa){1,500}b?){1,500}c?){1,500}' }, 'too ambiguous'],
  ]

  test.for(cases)('%s', ([, source, message]) => {
    // on a slow machine the clock may come first
    expect(outcome(source)).toMatch(new RegExp(`${message}|takes too long`))
  })

  test('what only shows while the text is written', () => {
    const limits = { ...CONSTRAINT_LIMITS, readings: 300 }
    const state = new ConstraintState(
      compileConstraint({ kind: 'regex', pattern: '(a?b?){500}a{500}' }, limits),
      byteTokens,
    )
    const write = () => {
      for (let count = 0; count < 1_000; count++) state.advance(0x61)
    }
    expect(write).toThrow('too ambiguous')
  })

  test('by the clock where nothing else is reached', () => {
    const compile = () =>
      compileConstraint({ kind: 'regex', pattern: 'a' }, { ...CONSTRAINT_LIMITS, compileMilliseconds: -1 })
    expect(compile).toThrow('takes too long to compile')
  })
})

test('a grammar that has to forget what it knows goes on as before, and stays small', () => {
  const source: ConstraintSource = { kind: 'json_object' }
  const remembering = compileConstraint(source)
  const forgetful = compileConstraint(source, { ...CONSTRAINT_LIMITS, rememberedStacks: 100, maskBytes: 500 })
  const [random, again] = [createTestRandom(4), createTestRandom(4)]
  for (let round = 0; round < 40; round++) {
    const text = writeText(new ConstraintState(remembering, tinyChat), tinyChat, random, 60)
    expect(writeText(new ConstraintState(forgetful, tinyChat), tinyChat, again, 60)).toBe(text)
  }
  expect(remembering.automaton.size).toBeGreaterThan(1_500)
  expect(forgetful.automaton.size).toBeLessThan(750)
})
