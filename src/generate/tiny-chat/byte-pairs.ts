/**
 * A byte-level byte-pair encoding: trained here, written as Hugging Face's tokenizer.json, and used to encode the corpus.
 * The pieces that merges stay within are those of GPT-2's pre-tokenizer, with every digit on its own.
 */
import { SPECIAL_TOKENS } from './settings.ts'

export interface BytePairs {
  /** Token to id, ids counting up in insertion order. */
  vocabulary: Map<string, number>
  /** The pairs in the order in which they are merged. */
  merges: [string, string][]
}

/** GPT-2's pattern. */
const PIECE = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu

/**
 * GPT-2's table of one visible character per byte: printable Latin-1 bytes stand for themselves, the others for characters
 * from U+0100 on, in order of the byte.
 */
export const BYTE_CHARACTERS: string[] = (() => {
  const isVisible = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isVisible(byte) ? byte : next++))
})()

/** Cuts a text into the pieces that are encoded one by one, each as a string of byte characters. */
export function toPieces(text: string): string[] {
  return text
    .split(/([0-9])/)
    .flatMap(part => part.match(PIECE) ?? [])
    .map(piece => Array.from(Buffer.from(piece, 'utf8'), byte => BYTE_CHARACTERS[byte]).join(''))
}

/** Learns merges until the vocabulary has `size` tokens. Ties go to the pair whose tokens are older, so the result is fixed by the texts. */
export function trainBytePairs(texts: Iterable<string>, size: number): BytePairs {
  const counts = new Map<string, number>()
  for (const text of texts) for (const piece of toPieces(text)) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  const vocabulary = new Map<string, number>()
  for (const token of [...SPECIAL_TOKENS, ...[...BYTE_CHARACTERS].sort()]) vocabulary.set(token, vocabulary.size)
  const tokens = [...vocabulary.keys()]
  const pieces = [...counts].map(([piece, count]) => ({
    ids: [...piece].map(character => vocabulary.get(character)!),
    count,
  }))
  const merges: [string, string][] = []
  while (vocabulary.size < size) {
    const best = findBestPair(pieces)
    if (!best)
      throw new Error(`The texts hold only ${vocabulary.size} tokens of the ${size} asked for: add more varied texts.`)
    const pair: [string, string] = [tokens[best[0]]!, tokens[best[1]]!]
    const merged = pair[0] + pair[1]
    if (!vocabulary.has(merged)) {
      tokens.push(merged)
      vocabulary.set(merged, vocabulary.size)
    }
    merges.push(pair)
    const id = vocabulary.get(merged)!
    for (const piece of pieces) if (piece.ids.length > 1) piece.ids = mergePair(piece.ids, best, id)
  }
  return { vocabulary, merges }
}

/** A pair that occurs once is not worth a token. */
const LEAST_PAIR_COUNT = 2
/** Ids stay below this, so that a pair fits in one number. */
const PAIR_BASE = 2 ** 20

function findBestPair(pieces: { ids: number[]; count: number }[]): [number, number] | null {
  const counts = new Map<number, number>()
  for (const { ids, count } of pieces)
    for (let index = 1; index < ids.length; index++) {
      const pair = ids[index - 1]! * PAIR_BASE + ids[index]!
      counts.set(pair, (counts.get(pair) ?? 0) + count)
    }
  let best = -1
  let most = LEAST_PAIR_COUNT - 1
  for (const [pair, count] of counts)
    if (count > most || (count === most && pair < best)) {
      best = pair
      most = count
    }
  return best < 0 ? null : [Math.floor(best / PAIR_BASE), best % PAIR_BASE]
}

function mergePair(ids: number[], pair: [number, number], id: number): number[] {
  const merged: number[] = []
  for (let index = 0; index < ids.length; index++) {
    if (ids[index] === pair[0] && ids[index + 1] === pair[1]) {
      merged.push(id)
      index++
    } else merged.push(ids[index]!)
  }
  return merged
}

/** An encoder for text without special tokens; pieces are remembered, since a corpus repeats them. */
export function createEncoder(pairs: BytePairs): (text: string) => number[] {
  const ranks = new Map(pairs.merges.map((pair, rank) => [pair.join(' '), rank]))
  const remembered = new Map<string, number[]>()
  const encodePiece = (piece: string) => {
    let parts = [...piece]
    while (parts.length > 1) {
      let best = -1
      let least = Number.POSITIVE_INFINITY
      for (let index = 1; index < parts.length; index++) {
        const rank = ranks.get(`${parts[index - 1]} ${parts[index]}`) ?? Number.POSITIVE_INFINITY
        if (rank < least) {
          least = rank
          best = index
        }
      }
      if (best < 0) break
      parts = [...parts.slice(0, best - 1), parts[best - 1]! + parts[best]!, ...parts.slice(best + 1)]
    }
    return parts.map(part => pairs.vocabulary.get(part)!)
  }
  return text =>
    toPieces(text).flatMap(piece => {
      let ids = remembered.get(piece)
      if (!ids) {
        ids = encodePiece(piece)
        remembered.set(piece, ids)
      }
      return ids
    })
}
