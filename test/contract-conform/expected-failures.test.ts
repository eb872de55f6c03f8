import { describe, expect, it } from 'vitest'
import { parseExpectedFailures } from '../../src/contract/expected-failures.ts'

const known = new Set(['a/one', 'a/two', 'a/three'])

describe('the file of expected failures', () => {
  it('has an id and a reason on each line, and comments', () => {
    const text = '# known\n\na/one\n  a/two   since 1.2, ticket #7 is open\r\na/three # soon\n #a/one\n'
    expect([...parseExpectedFailures(text, known)]).toEqual([
      ['a/one', ''],
      ['a/two', 'since 1.2, ticket #7 is open'],
      ['a/three', 'soon'],
    ])
  })

  it.each([
    ['a/one\na/onne', 'Line 2 of the expected failures names no check: a/onne'],
    ['a/one\na/one again', 'Line 2 of the expected failures names a/one again'],
  ])('is refused: %j', (text, message) => expect(() => parseExpectedFailures(text, known)).toThrow(message))
})
