/** A tokenizer's vocabulary as bytes and texts: what generation needs to turn token ids back into characters. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface AddedToken {
  id: number
  content: string
  special?: boolean
}

interface DecoderJson {
  type: string
  decoders?: DecoderJson[]
}

interface TokenizerJson {
  added_tokens?: AddedToken[]
  decoder?: DecoderJson | null
  model: { vocab: Record<string, number> | [string, number][] }
}

export function readJson<T>(path: string): T {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`)
  }
}

export function readJsonIfThere<T>(path: string): T | null {
  return existsSync(path) ? readJson<T>(path) : null
}

export class TokenTable {
  readonly #bytes: Uint8Array[] = []
  readonly #special = new Set<number>()
  readonly #ids = new Map<string, number>()
  /** Ids that end a turn, from generation_config.json, config.json and tokenizer_config.json together. */
  readonly eosIds: readonly number[]

  /** Reads tokenizer.json and the configurations beside it. Throws an Error naming file and rule. */
  constructor(folder: string) {
    const path = join(folder, 'tokenizer.json')
    const { added_tokens: added = [], decoder, model } = readJson<TokenizerJson>(path)
    const toBytes = bytesOfToken(path, decoder ?? null)
    for (const { id, content, special } of added) {
      this.#put(id, Buffer.from(content))
      if (special) this.#special.add(id)
    }
    const entries = Array.isArray(model.vocab)
      ? model.vocab.map(([token], id) => [token, id] as const)
      : Object.entries(model.vocab)
    for (const [token, id] of entries) if (!this.#bytes[id]) this.#put(id, toBytes(token))
    this.eosIds = this.#readEosIds(folder)
  }

  /** The token's own bytes; none for ids without a token, which padded vocabularies have. */
  bytes(id: number): Uint8Array {
    return this.#bytes[id] ?? new Uint8Array()
  }

  /** The token as text; bytes that are not whole UTF-8 characters show as U+FFFD. */
  text(id: number): string {
    return Buffer.from(this.bytes(id)).toString()
  }

  isSpecial(id: number): boolean {
    return this.#special.has(id)
  }

  /** The id of the token with exactly these bytes, or null. */
  tokenId(bytes: readonly number[]): number | null {
    return this.#ids.get(String.fromCharCode(...bytes)) ?? null
  }

  decode(ids: readonly number[], { skipSpecial }: { skipSpecial: boolean }): string {
    const shown = skipSpecial ? ids.filter(id => !this.isSpecial(id)) : ids
    return Buffer.concat(shown.map(id => this.bytes(id))).toString()
  }

  #put(id: number, bytes: Uint8Array): void {
    this.#bytes[id] = bytes
    const key = String.fromCharCode(...bytes)
    // added tokens come first and win over vocabulary entries of the same bytes
    if (!this.#ids.has(key)) this.#ids.set(key, id)
  }

  #readEosIds(folder: string): number[] {
    const found = new Set<number>()
    for (const file of ['generation_config.json', 'config.json']) {
      const ids = readJsonIfThere<{ eos_token_id?: number | number[] | null }>(join(folder, file))?.eos_token_id
      for (const id of [ids ?? []].flat()) found.add(id)
    }
    const eos = readJsonIfThere<{ eos_token?: SpecialToken }>(join(folder, 'tokenizer_config.json'))?.eos_token
    const id = eos ? this.tokenId([...Buffer.from(specialTokenText(eos))]) : null
    if (id !== null) found.add(id)
    return [...found]
  }
}

/** tokenizer_config.json writes special tokens as text or as an object with the text in it. */
export type SpecialToken = string | { content: string } | null

export function specialTokenText(token: SpecialToken): string {
  return typeof token === 'string' ? token : (token?.content ?? '')
}

function bytesOfToken(path: string, decoder: DecoderJson | null): (token: string) => Uint8Array {
  const types = decoder ? [decoder, ...(decoder.decoders ?? [])].map(({ type }) => type) : []
  if (types.includes('ByteLevel')) {
    const byteOf = byteLevelAlphabet()
    return token => Uint8Array.from([...token].flatMap(letter => byteOf.get(letter) ?? [...Buffer.from(letter)]))
  }
  if (types.includes('ByteFallback') || types.includes('Metaspace')) {
    return token => {
      const byte = /^<0x([0-9A-F]{2})>$/.exec(token)?.[1]
      return byte ? Uint8Array.of(Number.parseInt(byte, 16)) : Buffer.from(token.replaceAll('▁', ' '))
    }
  }
  throw new Error(
    `${path}: decoder ${types.join(', ') || 'none'} is not supported; supported are ByteLevel, ByteFallback, Metaspace`,
  )
}

/**
 * Byte-level BPE writes each byte as one visible letter: printable Latin-1 bytes as themselves, the others as the
 * letters from U+0100 on. @see https://github.com/openai/gpt-2/blob/master/src/encoder.py
 */
function byteLevelAlphabet(): Map<string, number> {
  const isPrintable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad)
  const alphabet = new Map<string, number>()
  let next = 0x100
  for (let byte = 0; byte <= 0xff; byte++) alphabet.set(String.fromCodePoint(isPrintable(byte) ? byte : next++), byte)
  return alphabet
}
