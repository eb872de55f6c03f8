/** Lines of a large file, one at a time. node:readline is not used, since it also breaks at U+2028, which JSON text may hold. */
import { createReadStream } from 'node:fs'
import { DataError } from './engine.ts'

/** Longest line taken, in bytes: a file without line breaks must not fill the memory. */
const MAX_LINE_BYTES = 64 * 2 ** 20
const LINE_FEED = 0x0a

export interface JsonLine {
  value: unknown
  /** [file name, line number from 1]. */
  loc: string[]
}

/** Parses every line that is not blank. Throws DataError at a line that is not UTF-8, not JSON or too long. */
export async function* readJsonLines(file: string, fileName: string): AsyncGenerator<JsonLine> {
  let number = 0
  for await (const line of readLines(file, fileName)) {
    number++
    const loc = [fileName, String(number)]
    const text = decode(line, loc)
    if (text.trim() !== '') yield { value: parse(text, loc), loc }
  }
}

async function* readLines(file: string, fileName: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  let number = 1
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)])
      pieces = []
      size = 0
      number++
      start = end + 1
    }
    pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > MAX_LINE_BYTES) {
      throw new DataError([fileName, String(number)], `the line is longer than ${MAX_LINE_BYTES} bytes`)
    }
  }
  yield Buffer.concat(pieces)
}

function decode(line: Buffer, loc: string[]): string {
  try {
    // Also drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(line)
  } catch {
    throw new DataError(loc, 'the line is not UTF-8 text')
  }
}

function parse(text: string, loc: string[]): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DataError(loc, `the line is not JSON: ${(error as Error).message}`)
  }
}
