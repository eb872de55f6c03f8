/** JSON values of any shape, and the strings and numbers that all JSON is made of. */
import {
  byteRange,
  type CharacterSet,
  charactersOf,
  complementOf,
  contains,
  toUtf8,
  unionOf,
  without,
} from './character-set.ts'
import { alternatives, createRule, literal, type Node, optional, repeat, sequence, words } from './grammar.ts'
import type { JsonStyle } from './json-style.ts'

/**
 * Digits of a number before its point, and after it: with more, numbers would change when they are read as doubles, and an
 * exponent of more than two digits would give infinity.
 */
export const MOST_DIGITS = 15
const MOST_EXPONENT_DIGITS = 2

export const digit = byteRange(0x30, 0x39)
const digitFrom1 = byteRange(0x31, 0x39)
const quote = literal('"')

/** Characters that a string must escape. */
const escaped = unionOf([[0, 0x1f], ...charactersOf('"\\')])
const plainCharacter = toUtf8(complementOf(escaped))

const hexadecimal = alternatives(digit, byteRange(0x41, 0x46), byteRange(0x61, 0x66))
const caseless = (letters: string) => words([...letters, ...letters.toUpperCase()])

/** `\uXXXX`: any but surrogates, or two surrogates that make one character. */
const unicodeEscape = sequence(
  literal('\\u'),
  alternatives(
    sequence(alternatives(digit, caseless('abcef')), repeat(hexadecimal, 3, 3)),
    sequence(caseless('d'), byteRange(0x30, 0x37), repeat(hexadecimal, 2, 2)),
    sequence(
      sequence(caseless('d'), alternatives(words(['8', '9']), caseless('ab')), repeat(hexadecimal, 2, 2)),
      sequence(literal('\\u'), caseless('d'), caseless('cdef'), repeat(hexadecimal, 2, 2)),
    ),
  ),
)

/** One character of a JSON string, in any way that JSON can write it. */
export const stringCharacter = alternatives(
  plainCharacter,
  sequence(literal('\\'), words([...'"\\/bfnrt'])),
  unicodeEscape,
)

/** One character of the set as part of a JSON string, in the way that JSON.stringify writes it. */
export function toJsonCharacter(set: CharacterSet): Node {
  const escapes = escaped.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, place) => from + place).filter(codePoint => contains(set, codePoint)),
  )
  return alternatives(
    toUtf8(without(set, escaped)),
    words(escapes.map(codePoint => JSON.stringify(String.fromCodePoint(codePoint)).slice(1, -1))),
  )
}

/** A string around characters that are escaped already. */
export function quoted(characters: Node): Node {
  return sequence(quote, characters, quote)
}

export const anyString = quoted(repeat(stringCharacter, 0, null))

export const anyInteger = sequence(
  optional(literal('-')),
  alternatives(literal('0'), sequence(digitFrom1, repeat(digit, 0, MOST_DIGITS - 1))),
)

export const anyNumber = sequence(
  anyInteger,
  optional(sequence(literal('.'), repeat(digit, 1, MOST_DIGITS))),
  optional(sequence(words(['e', 'E']), optional(words(['+', '-'])), repeat(digit, 1, MOST_EXPONENT_DIGITS))),
)

export const anyBoolean = words(['true', 'false'])
export const jsonNull = literal('null')

/** One or more of the item between commas. */
export function listOf(item: Node, style: JsonStyle): Node {
  return sequence(item, repeat(sequence(style.comma, item), 0, null))
}

/** Content that is not empty, between brackets; or, where it may be empty, nothing but one gap. */
export function bracketed(brackets: '{}' | '[]', content: Node, mayBeEmpty: boolean, style: JsonStyle): Node {
  const filled = sequence(style.gap, content, style.gap)
  const inside = mayBeEmpty ? alternatives(style.gap, filled) : filled
  return sequence(literal(brackets[0]), inside, literal(brackets[1]))
}

export function anyJsonObject(style: JsonStyle): Node {
  return createAnyJson(style).object
}

/** Values of any shape: the whole of JSON, but for the size of numbers. */
export function createAnyJson(style: JsonStyle): { value: Node; object: Node; array: Node } {
  const value = createRule('value')
  const member = sequence(anyString, style.colon, value)
  const object = bracketed('{}', listOf(member, style), true, style)
  const array = bracketed('[]', listOf(value, style), true, style)
  value.body = alternatives(object, array, anyString, anyNumber, anyBoolean, jsonNull)
  return { value, object, array }
}
