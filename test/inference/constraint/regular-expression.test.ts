import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileConstraint } from '../../../src/inference/constraint/constraint.ts'
import { accepts, acceptsFrom, byteTokens, createTestRandom, start, tinyChat, writeText } from './writer.ts'

const matches = (pattern: string, text: string) => new RegExp(`^(?:${pattern})$`, 'u').test(text)

const leaf = fc.constantFrom(
  ...['a', 'b', 'ab', 'é', '😀', '.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\.', '\\n', '\\t', '\\\\', '\\/'],
  ...[
    '[ab]',
    '[^ab]',
    '[a-c\\d]',
    '[^\\s\\w]',
    '[é-ü]',
    '[^é]',
    '[-a]',
    '[\\]b]',
    '[^]',
    '\\x61',
    '\\u00e9',
    '\\u{1F600}',
  ],
  ...['\\ud83d\\ude00', '\\0', '[\\b]', ''],
)
const count = fc.constantFrom(
  '',
  '',
  '*',
  '+',
  '?',
  '{2}',
  '{1,}',
  '{0,2}',
  '{1,3}',
  '*?',
  '+?',
  '??',
  '{2}?',
  '{1,2}?',
)

const pattern = fc.letrec<{ part: string }>(tie => ({
  part: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    leaf,
    fc.tuple(tie('part'), tie('part')).map(parts => parts.join('')),
    fc.tuple(tie('part'), tie('part')).map(parts => `(${parts.join('|')})`),
    fc.tuple(tie('part'), count).map(([part, count]) => `(?:${part})${count}`),
    tie('part').map(part => `(?<name${part.length}>${part})`),
  ),
})).part
/** Without the names that a pattern has twice, which JavaScript does not allow. */
const validPattern = pattern.filter(text => {
  const names = text.match(/\(\?<\w+>/g) ?? []
  return new Set(names).size === names.length
})

const letters = ['a', 'b', 'c', 'é', 'z', '0', '_', ' ', '\n', '.', '\\', '😀', '\u2028', '\0', '\b', '-', ']', '/']

describe('generated expressions', () => {
  test('allow what JavaScript matches from beginning to end, and nothing else', { timeout: 60_000 }, () => {
    const counts = { true: 0, false: 0 }
    const texts = fc.array(fc.array(fc.constantFrom(...letters), { maxLength: 6 }), { minLength: 8, maxLength: 8 })
    const property = fc.property(validPattern, texts, fc.nat(), (text, others, seed) => {
      const beginning = start({ kind: 'regex', pattern: text })
      const random = createTestRandom(seed)
      const written = Array.from({ length: 4 }, () => writeText(beginning, byteTokens, random, 60))
      const changed = written.map(text => text && [...text].slice(1).join(''))
      for (const candidate of [...others.map(parts => parts.join('')), ...written, ...changed]) {
        if (candidate === null) continue
        const expected = matches(text, candidate)
        counts[`${expected}`] += 1
        if (acceptsFrom(beginning, candidate) !== expected)
          throw new Error(`${JSON.stringify(candidate)}: ${!expected}`)
      }
    })
    fc.assert(property, { numRuns: 400, seed: 1 })
    expect(counts.true).toBeGreaterThan(1000)
    expect(counts.false).toBeGreaterThan(1000)
  })

  test('can be written with the tokens of a model', { timeout: 60_000 }, () => {
    const property = fc.property(validPattern, fc.nat(), (text, seed) => {
      const written = writeText(start({ kind: 'regex', pattern: text }, tinyChat), tinyChat, createTestRandom(seed), 60)
      if (written !== null && !matches(text, written)) throw new Error(JSON.stringify(written))
    })
    fc.assert(property, { numRuns: 200, seed: 2 })
  })
})

describe('anchors', () => {
  test('at the ends of an alternative change nothing', () => {
    for (const pattern of ['^ab$', '^(ab)$', '(^ab$)', '^ab|^x$', 'ab', '^^ab$$']) {
      expect(accepts({ kind: 'regex', pattern }, 'ab'), pattern).toBe(true)
      expect(accepts({ kind: 'regex', pattern }, 'cab'), pattern).toBe(false)
    }
  })
})

test('braces that are no count stand for themselves', () => {
  expect(accepts({ kind: 'regex', pattern: '{"a": \\d{1,2}}' }, '{"a": 12}')).toBe(true)
  expect(accepts({ kind: 'regex', pattern: 'a{,2}' }, 'a{,2}')).toBe(true)
})

describe('refused', () => {
  const unsupported: [string, string][] = [
    ['(a)\\1', 'back-references are not supported (at character 4)'],
    ['(?<x>a)\\k<x>', 'back-references are not supported'],
    ['(?P=x)', 'back-references are not supported'],
    ['a(?=b)', 'look-ahead is not supported (at character 2)'],
    ['a(?!b)', 'look-ahead is not supported'],
    ['(?<=a)b', 'look-behind is not supported'],
    ['(?<!a)b', 'look-behind is not supported'],
    ['(?>a)', 'atomic groups are not supported'],
    ['(?(1)a|b)', 'conditional groups are not supported'],
    ['(?i)a', 'flags within an expression are not supported'],
    ['\\bword', 'word boundaries are not supported'],
    ['\\p{L}', 'the Unicode property escape \\p is not supported'],
    ['\\y', 'the escape \\y is not supported'],
    ['a^b', '^ is supported only where an alternative begins or ends (at character 2)'],
    ['(a$)*', '$ is supported only where'],
    ['^*', 'an anchor cannot be repeated'],
    ['a**', 'there is nothing for * to repeat (at character 3)'],
    ['+a', 'there is nothing for + to repeat'],
    ['a{3,2}', 'a count must not fall'],
    ['(a', 'has a ( without its )'],
    ['a)', 'has a ) without its ('],
    ['[a', 'ends where the ] of a character class is missing'],
    ['[b-a]', 'a range needs a first and a last character'],
    ['[a-\\d]', 'a range needs a first and a last character'],
    ['\\x4', 'needs 2 hexadecimal digits'],
    ['\\ud83d\\u0041', 'is half a surrogate pair'],
    ['\\u{110000}', 'is not a Unicode character'],
    ['a\\', 'ends where the character after \\ is missing'],
    ['[]', 'cannot be met by any text'],
  ]

  test.for(unsupported)('%s', ([pattern, message]) => {
    expect(() => compileConstraint({ kind: 'regex', pattern })).toThrow(message)
  })
})
