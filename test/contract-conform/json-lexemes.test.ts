import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLexemes } from '../../src/contract/json-lexemes.ts'

describe('what JSON.parse does not tell', () => {
  it.each([
    ['{"a":1,"a":2}', ['/a']],
    ['{"a":{"b":1},"c":[{"b":1,"b":2}]}', ['/c/0/b']],
    ['{"a":1,"\\u0061":2}', ['/a']],
    ['[{"a":1},{"a":1}]', []],
    ['{"a":"a","b":"a"}', []],
    ['{"a/b":1,"a/b":1,"a":{},"a":0}', ['/a~1b', '/a']],
    ['{"x":{"a":1},"a":1}', []],
  ])('finds keys that are given twice in %s', (text, places) => {
    expect(readLexemes(text).duplicates).toEqual(places)
  })

  it.each([
    ['{"n":1.0}', { '/n': '1.0' }],
    ['[1e3, -0, 0, 10, -5]', { '/0': '1e3', '/1': '-0' }],
    ['9223372036854775808', { '': '9223372036854775808' }],
    ['[1.5, -0.25, 1e-3]', {}],
    ['{"a":[[2.50, 2.00]]}', { '/a/0/1': '2.00' }],
    ['{"1.0":"1.0"}', {}],
  ])('finds unusual whole numbers in %s', (text, numbers) => {
    expect(Object.fromEntries(readLexemes(text).numbers)).toEqual(numbers)
  })

  it('finds nothing in what JSON.stringify writes', () => {
    const ordinary = fc.jsonValue().map(value => JSON.stringify(value))
    const property = fc.property(ordinary, text => {
      const { duplicates, numbers } = readLexemes(text)
      expect(duplicates).toEqual([])
      // Numbers from 1e21 on have an exponent there as well, and those of 16 digits are looked at.
      expect([...numbers.values()].filter(one => Math.abs(Number(one)) < 1e15)).toEqual([])
    })
    fc.assert(property, { numRuns: 300 })
  })
})
