import { describe, expect, test } from 'vitest'
import { compileConstraint } from '../../../src/inference/constraint/constraint.ts'
import { accepts, createTestRandom, start, tinyChat, writeText } from './writer.ts'

const allows = (text: string, answer: string) => accepts({ kind: 'grammar', text }, answer)

const arithmetic = `
# sums and products
root   ::= sum "\\n"?
sum    ::= product (("+" | "-") product)*
product::= factor ([*/] factor)*
factor ::= number | "(" sum ")"
number ::= "-"? [0-9]{1,3} ("." [0-9]+)?   # three digits at most
`

describe('examples', () => {
  test('arithmetic', () => {
    for (const text of ['1', '1+2*(3-4)', '((-1.25))/100', '1\n']) expect(allows(arithmetic, text), text).toBe(true)
    for (const text of ['', '1+', '(1', '1)', '1234', '1.', '+1']) expect(allows(arithmetic, text), text).toBe(false)
  })

  test('SQL, as in the documentation of other servers', () => {
    const sql = `
root ::= select_statement
select_statement ::= "SELECT " column " from " table " where " condition
column ::= "col_1 " | "col_2 "
table ::= "table_1 " | "table_2 "
condition ::= column "= " number
number ::= "1 " | "2 "
`
    expect(allows(sql, 'SELECT col_1  from table_2  where col_2 = 1 ')).toBe(true)
    expect(allows(sql, 'SELECT col_3  from table_2  where col_2 = 1 ')).toBe(false)
  })

  test('nesting that no regular expression can follow', () => {
    const brackets = 'root ::= "[" root "]" | "(" root ")" | ""'
    expect(allows(brackets, '[([])]')).toBe(true)
    expect(allows(brackets, '[(])')).toBe(false)
    expect(allows(brackets, `${'['.repeat(500)}${']'.repeat(500)}`)).toBe(true)
    expect(allows(brackets, `${'['.repeat(500)}${']'.repeat(499)}`)).toBe(false)
  })

  test('literals, classes and escapes, over several lines', () => {
    const notation = `root ::=
      "a\\"\\x62\\u00e9\\U0001F600\\\\"
      [^a-z\\]\\n] |
      .
      [a-] other-rule_2 {2,}
    other-rule_2 ::= ("x" | "y"?) "z"`
    expect(allows(notation, 'a"bé😀\\-')).toBe(true)
    expect(allows(notation, 'a"bé😀\\a')).toBe(false)
    expect(allows(notation, '\n-zxzyz')).toBe(true)
    expect(allows(notation, 'é-z')).toBe(false)
  })

  test('a model without sense writes what the grammar says', () => {
    const random = createTestRandom(3)
    const state = start({ kind: 'grammar', text: arithmetic }, tinyChat)
    const texts = Array.from({ length: 60 }, () => writeText(state, tinyChat, random, 80)).filter(text => text !== null)
    expect(texts.length).toBeGreaterThan(20)
    for (const text of texts) expect(text).toMatch(/^[-+*/().0-9]+\n?$/)
    for (const text of texts)
      expect(() => new Function(`return ${text.replace(/\b0+(?=\d)/g, '').replaceAll('--', '- -')}`)).not.toThrow()
  })
})

describe('refused', () => {
  const faults: [string, string][] = [
    ['root ::= root "a" | "b"', 'the rule root begins with itself'],
    ['root ::= a\na ::= "b"? a', 'the rule a begins with itself'],
    ['root ::= a\na ::= ("x"? b)*\nb ::= "" a', 'begins with itself'],
    ['root ::= other', 'the rule other is not defined (at character 10)'],
    ['start ::= "a"', 'has no rule root'],
    ['', 'has no rule root'],
    ['root ::= "a"\nroot ::= "b"', 'the rule root is defined twice (at character 14)'],
    ['root ::= "a', 'the closing " of a literal is missing'],
    ['root ::= ("a"', 'has a ( without its )'],
    ['root ::= "a")', 'has a ) without its ('],
    ['root = "a"', 'needs ::='],
    ['root ::= "a" @', '"@" is not part of this notation'],
    ["root ::= 'a'", `"'" is not part of this notation`],
    ['root ::= "a"**', '"*" is not part of this notation'],
    ['root ::= (?="a") "b"', 'look-ahead is not supported'],
    ['root ::= "\\d"', 'this escape is not one character'],
    ['root ::= "(" root ")"', 'cannot be met by any text'],
  ]

  test.for(faults)('%s', ([text, message]) => {
    expect(() => compileConstraint({ kind: 'grammar', text })).toThrow(message)
  })
})
