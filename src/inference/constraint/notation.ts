/** What regular expressions and EBNF write alike: escapes, character classes and counts. */
import { type CharacterSet, charactersOf, complementOf, unionOf } from './character-set.ts'
import type { TextReader } from './text-reader.ts'

const digits: CharacterSet = [[0x30, 0x39]]
const wordCharacters = unionOf([...digits, [0x41, 0x5a], [0x61, 0x7a], ...charactersOf('_')])
const spaces = unionOf([
  ...charactersOf('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
  [0x2000, 0x200a],
])

/** Escapes that stand for many characters. */
const classEscapes: Record<string, CharacterSet> = {
  d: digits,
  D: complementOf(digits),
  w: wordCharacters,
  W: complementOf(wordCharacters),
  s: spaces,
  S: complementOf(spaces),
}

const singleEscapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' }

/** Number of hexadecimal digits after these escapes. */
const hexadecimalEscapes: Record<string, number> = { x: 2, u: 4, U: 8 }

/** Reads what follows a backslash that has been taken. */
export function readEscape(reader: TextReader): CharacterSet {
  const at = reader.position - 1
  const letter = reader.take('the character after \\')
  if (classEscapes[letter]) return classEscapes[letter]
  if (singleEscapes[letter]) return charactersOf(singleEscapes[letter])
  if (letter === '0' && !/\d/.test(reader.peek())) return charactersOf('\0')
  if (/\d/.test(letter) || letter === 'k') reader.fail('back-references are not supported', at)
  if (letter === 'b' || letter === 'B') reader.fail('word boundaries are not supported', at)
  if (letter === 'p' || letter === 'P') reader.fail(`the Unicode property escape \\${letter} is not supported`, at)
  const length = hexadecimalEscapes[letter]
  if (length) return toSet(readCodePoint(reader, letter, length, at))
  if (/[a-z0-9]/i.test(letter)) reader.fail(`the escape \\${letter} is not supported`, at)
  return charactersOf(letter)
}

function readCodePoint(reader: TextReader, letter: string, length: number, at: number): number {
  if (letter === 'u' && reader.takeIf('{')) {
    const codePoint = Number.parseInt(reader.takeWhile(/[0-9a-f]/i), 16)
    reader.expect('}')
    if (!(codePoint <= 0x10ffff)) reader.fail('is not a Unicode character', at)
    return codePoint
  }
  const codePoint = readHexadecimal(reader, length, at)
  if (letter !== 'u' || codePoint < 0xd800 || codePoint > 0xdbff || !reader.takeIf('\\u')) return codePoint
  const low = readHexadecimal(reader, 4, at)
  if (low < 0xdc00 || low > 0xdfff) reader.fail('is half a surrogate pair', at)
  return 0x10000 + (codePoint - 0xd800) * 0x400 + (low - 0xdc00)
}

function readHexadecimal(reader: TextReader, length: number, at: number): number {
  let text = ''
  while (text.length < length && /[0-9a-f]/i.test(reader.peek())) text += reader.take('a digit')
  const codePoint = Number.parseInt(text, 16)
  if (text.length < length || codePoint > 0x10ffff) reader.fail(`needs ${length} hexadecimal digits of a character`, at)
  return codePoint
}

/** Reads a class in brackets, of which the first has been taken. */
export function readCharacterClass(reader: TextReader): CharacterSet {
  const at = reader.position - 1
  const isNegated = reader.takeIf('^')
  const ranges: (readonly [number, number])[] = []
  while (!reader.takeIf(']')) {
    const from = readClassMember(reader)
    const isRange = reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== ''
    if (!isRange) {
      ranges.push(...from)
      continue
    }
    reader.expect('-')
    const to = readClassMember(reader)
    const isOrdered = isOneCharacter(from) && isOneCharacter(to) && from[0][0] <= to[0][0]
    if (!isOrdered) reader.fail('a range needs a first and a last character, in this order', at)
    ranges.push([from[0][0], to[0][0]])
  }
  const set = unionOf(ranges)
  return isNegated ? complementOf(set) : set
}

function readClassMember(reader: TextReader): CharacterSet {
  const character = reader.take('the ] of a character class')
  if (character !== '\\') return charactersOf(character)
  // within a class \b is the backspace character
  return reader.takeIf('b') ? charactersOf('\b') : readEscape(reader)
}

function isOneCharacter(set: CharacterSet): boolean {
  return set.length === 1 && set[0][0] === set[0][1]
}

function toSet(codePoint: number): CharacterSet {
  return [[codePoint, codePoint]]
}

/** How often the part before may come. */
export interface Count {
  min: number
  max: number | null
}

/** Reads *, +, ?, {m}, {m,} or {m,n} if one comes next. A brace that opens no count is left alone. */
export function readCount(reader: TextReader): Count | null {
  if (reader.takeIf('*')) return { min: 0, max: null }
  if (reader.takeIf('+')) return { min: 1, max: null }
  if (reader.takeIf('?')) return { min: 0, max: 1 }
  const start = reader.position
  if (!reader.takeIf('{')) return null
  const first = reader.takeWhile(/\d/)
  const last = reader.takeIf(',') ? reader.takeWhile(/\d/) : first
  if (first === '' || !reader.takeIf('}')) {
    reader.position = start
    return null
  }
  const count = { min: Number(first), max: last === '' ? null : Number(last) }
  if (count.max !== null && count.min > count.max) reader.fail('a count must not fall', start)
  return count
}
