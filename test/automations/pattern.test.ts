import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findPatternFault, isFound } from '../../src/automations/pattern.ts'
import { toLiterals } from '../../src/automations/pattern-literals.ts'
import { PatternSet } from '../../src/automations/pattern-set.ts'

describe('a pattern', () => {
  test.each([
    ['prod', 'my-production', true],
    ['^prod$', 'production', false],
    ['^prod', 'production', true],
    ['PROD', 'production', false],
    ['(?i)PROD', 'production', true],
    ['^step[0-9]+$', 'step12', true],
    ['^(a|b)$', 'b', true],
    ['', 'anything', true],
  ])('%s in %s: %s', (pattern, text, expected) => {
    expect(findPatternFault(pattern)).toBe(null)
    expect(isFound(pattern, text)).toBe(expected)
  })

  test.each(['(', '[a', 'a{2,1}', '*a', 'a**', '(?=a)', '(?<!a)b', '(a)\\1', 'a{1001}', '\\p{Nothing}', '(?P<x'])(
    '%s is refused',
    pattern => {
      expect(findPatternFault(pattern)).toMatch(/RE2/)
    },
  )

  test.each([
    'a{1000}b{1000}c{1000}'.repeat(20),
    '[^a]{1000}'.repeat(40),
    '((a{0,30}){0,30}){0,30}',
    '(?:(?:x{10}){10}){10}(?:(?:x{10}){10}){10}y{10}',
  ])('one that writes out too much is refused: %s', pattern => {
    expect(findPatternFault(pattern)).not.toBe(null)
  })

  // With a backtracking engine the first of these takes longer than the age of the universe.
  test.each([
    '^(a+)+$',
    '^(a|aa)+$',
    '^(a|a?)+$',
    '(.*)*x',
    '(?:a?){300}a{300}',
    '(x+x+)+y',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ])('hostile, and yet it ends: %s', pattern => {
    expect(findPatternFault(pattern)).toBe(null)
    expect(isFound(pattern, `${'a'.repeat(127)}!`)).toBe(false)
  })
})

test.each([
  ['^production$', ['production']],
  ['^release-\\d+-[a-z]+\\.eu$', ['release-', '-', '.eu']],
  ['abc?d', ['ab', 'd']],
  ['ab+c', ['ab', 'c']],
  ['ab{0}c', ['a', 'c']],
  ['x(abc)*y[z(]w', ['x', 'y', 'w']],
  ['a[]b]c', ['a', 'c']],
  ['a[^]b]c[[:alpha:]]d', ['a', 'c', 'd']],
  ['a|b', []],
  ['(?i)abc', []],
  ['\\Qa|b\\E', []],
  ['\\x41b', []],
  ['a\\x41', []],
])('texts that %s needs: %j', (pattern, expected) => {
  expect(toLiterals(pattern)).toEqual(expected)
})

const CHARACTERS = 'ab1-.$('
const atoms = fc.letrec<{ pattern: string }>(tie => ({
  pattern: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      'a',
      'b',
      '1',
      '-',
      'ab',
      'a1',
      '\\.',
      '\\$',
      '\\(',
      '{',
      '.',
      '^',
      '$',
      '\\d',
      '\\w',
      '\\b',
      '[ab]',
      '[^a]',
    ),
    fc.constantFrom('[]a]', '[[:digit:]a]', '[\\]a]', '(?i:a)', '(?i)', '\\Qa.b\\E', '\\x61', '\\pL', 'é', '😀'),
    tie('pattern').map(inner => `(${inner})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{0,1}', '{1,}', '*?', '+?'))
      .map(([atom, repeat]) => atom + repeat),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => one + other),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}|${other}`),
  ),
})).pattern
const patterns = atoms.filter(pattern => findPatternFault(pattern) === null)
const texts = fc.oneof(
  fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 8 }).map(parts => parts.join('')),
  fc.constantFrom('A', 'aA1', 'é', '😀a', 'a.b'),
)

test('a set finds exactly the patterns that are found one by one', () => {
  fc.assert(
    fc.property(
      fc.array(patterns, { maxLength: 20 }),
      fc.array(texts, { minLength: 1, maxLength: 5 }),
      (sources, inputs) => {
        const set = new PatternSet(sources.map((source, index) => [source, index]))
        for (const text of [...inputs, ...inputs]) {
          const expected = sources.flatMap((source, index) => (isFound(source, text) ? [index] : []))
          expect([...set.match(text)].sort((a, b) => a - b)).toEqual(expected)
        }
      },
    ),
    { numRuns: 1000 },
  )
})
