/** Sets of Unicode characters, and the UTF-8 bytes that write them. */
import { alternatives, byteClass, type Node, sequence } from './grammar.ts'

/** Code points as sorted ranges that neither overlap nor touch; both ends belong to a range. */
export type CharacterSet = readonly (readonly [from: number, to: number])[]

const LAST_CODE_POINT = 0x10ffff

export const anyCharacter: CharacterSet = [[0, LAST_CODE_POINT]]

/** The characters of the text. */
export function charactersOf(text: string): CharacterSet {
  return unionOf([...text].map(character => [character.codePointAt(0)!, character.codePointAt(0)!] as const))
}

/** Any ranges, in any order, as one set. */
export function unionOf(ranges: Iterable<readonly [number, number]>): CharacterSet {
  const union: [number, number][] = []
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = union.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else union.push([from, to])
  }
  return union
}

export function complementOf(set: CharacterSet): CharacterSet {
  const gaps: [number, number][] = []
  let next = 0
  for (const [from, to] of set) {
    if (from > next) gaps.push([next, from - 1])
    next = to + 1
  }
  return next <= LAST_CODE_POINT ? [...gaps, [next, LAST_CODE_POINT]] : gaps
}

export function without(set: CharacterSet, removed: CharacterSet): CharacterSet {
  return complementOf(unionOf([...complementOf(set), ...removed]))
}

export function contains(set: CharacterSet, codePoint: number): boolean {
  return set.some(([from, to]) => from <= codePoint && codePoint <= to)
}

/** One character of the set, as UTF-8. Surrogates, which UTF-8 cannot write, are left out. */
export function toUtf8(set: CharacterSet): Node {
  const spellings = without(set, [[0xd800, 0xdfff]]).flatMap(([from, to]) => spell(from, to))
  return joinSpellings(spellings)
}

/** A range of bytes for each place of a character's spelling. */
type Spelling = readonly (readonly [number, number])[]

/** The last code points that 1, 2, 3 and 4 bytes can write. */
const LAST_BY_LENGTH = [0x7f, 0x7ff, 0xffff, LAST_CODE_POINT]

/**
 * Splits a range of code points where the number of bytes changes, and then wherever the later bytes would not run
 * through all of their values for each value of an earlier one.
 */
function spell(from: number, to: number): Spelling[] {
  const length = LAST_BY_LENGTH.findIndex(last => from <= last) + 1
  const last = LAST_BY_LENGTH[length - 1]
  if (to > last) return [...spell(from, last), ...spell(last + 1, to)]
  for (let place = 1; place < length; place++) {
    const block = 64 ** place
    if (Math.floor(from / block) === Math.floor(to / block)) continue
    if (from % block !== 0) {
      const end = from - (from % block) + block - 1
      return [...spell(from, end), ...spell(end + 1, to)]
    }
    if (to % block !== block - 1) {
      const start = to - (to % block)
      return [...spell(from, start - 1), ...spell(start, to)]
    }
  }
  const [first, second] = [toBytes(from), toBytes(to)]
  return [Array.from(first, (byte, place) => [byte, second[place]] as const)]
}

function toBytes(codePoint: number): Uint8Array {
  return Buffer.from(String.fromCodePoint(codePoint))
}

/** Spellings that begin alike share their first byte, so that few readings are open at any time. */
function joinSpellings(spellings: readonly Spelling[]): Node {
  const tails = new Map<string, Spelling[]>()
  for (const [first, ...rest] of spellings) {
    const key = first.join('-')
    tails.set(key, [...(tails.get(key) ?? []), rest])
  }
  return alternatives(
    ...[...tails].map(([key, rest]) => {
      const [from, to] = key.split('-').map(Number)
      return sequence(byteRange(from, to), rest[0].length === 0 ? sequence() : joinSpellings(rest))
    }),
  )
}

const ranges = new Map<number, Node>()

/** One byte of a range. The same range is the same node, so that grammars stay small. */
export function byteRange(from: number, to: number): Node {
  const key = from * 256 + to
  const known = ranges.get(key)
  if (known) return known
  const node = byteClass(Uint8Array.from({ length: 256 }, (_, byte) => (byte >= from && byte <= to ? 1 : 0)))
  ranges.set(key, node)
  return node
}
