/** A JSON body from its bytes, with the place of the first fault: UTF-8, JSON syntax, and how deep it may nest. */
import { isUtf8 } from 'node:buffer'
import type { ValidationDetail } from './validation-detail.ts'

/** Deepest nesting of lists and objects: far above what any client sends, far below what exhausts a stack. */
export const MAXIMUM_DEPTH = 256

/** A byte order mark may be ignored (RFC 8259, section 8.1), and this decoder drops it. */
const decoder = new TextDecoder()

export type ParsedBody = { ok: true; value: unknown; text: string } | { ok: false; detail: ValidationDetail[] }

/** Faults are of the type json_invalid with the loc ['body', '<offset in characters>']. */
export function parseJsonBody(bytes: Uint8Array): ParsedBody {
  if (!isUtf8(bytes)) return invalid(findUtf8Fault(bytes), 'the body is not valid UTF-8')
  const text = decoder.decode(bytes)
  const tooDeep = findTooDeep(text)
  if (tooDeep >= 0) return invalid(tooDeep, `lists and objects nest deeper than ${MAXIMUM_DEPTH}`)
  try {
    return { ok: true, value: JSON.parse(text), text }
  } catch {
    return invalid(findSyntaxFault(text), 'the body is not valid JSON')
  }
}

function invalid(offset: number, reason: string): ParsedBody {
  return {
    ok: false,
    detail: [{ loc: ['body', String(offset)], msg: `JSON decode error: ${reason}`, type: 'json_invalid' }],
  }
}

function findUtf8Fault(bytes: Uint8Array): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  // U+FFFD stands for a fault unless the body holds that very character; up to the first fault, lengths agree.
  for (let at = text.indexOf('\uFFFD'); at >= 0; at = text.indexOf('\uFFFD', at + 1)) {
    const offset = Buffer.byteLength(text.slice(0, at))
    if (buffer.toString('hex', offset, offset + 3) !== 'efbfbd') return at
  }
  return text.length
}

function findTooDeep(text: string): number {
  if (text.length <= MAXIMUM_DEPTH) return -1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MAXIMUM_DEPTH) return at
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  return -1
}

/** Index of the closing quote of the string that opens at `start`, or the text's length. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** One token of JSON other than a string, or white space, at the place where it is tried. */
const TOKEN = /[ \t\n\r]+|[[\]{}:,]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const FIRST_PRINTABLE = 0x20

type Expected = 'value' | 'value or ]' | 'key or }' | 'key' | ':' | ', or close' | 'end'

/** Offset of the first character at which the text stops being the beginning of some JSON text. */
function findSyntaxFault(text: string): number {
  const open: string[] = []
  let expects: Expected = 'value'
  for (let at = 0; at < text.length; ) {
    const first = text[at]!
    const end = endOfToken(text, at)
    if (end.fault !== undefined) return end.fault
    const after: Expected = open.length > 0 ? ', or close' : 'end'
    if (/\s/.test(first)) {
      // White space may stand between any two tokens.
    } else if (first === ']' || first === '}') {
      const mayClose = expects === ', or close' || expects === (first === ']' ? 'value or ]' : 'key or }')
      if (!mayClose || open.pop() !== first) return at
      expects = open.length > 0 ? ', or close' : 'end'
    } else if (first === ',') {
      if (expects !== ', or close') return at
      expects = open.at(-1) === '}' ? 'key' : 'value'
    } else if (first === ':') {
      if (expects !== ':') return at
      expects = 'value'
    } else if (expects === 'key' || expects === 'key or }') {
      if (first !== '"') return at
      expects = ':'
    } else if (expects !== 'value' && expects !== 'value or ]') {
      return at
    } else if (first === '[' || first === '{') {
      open.push(first === '[' ? ']' : '}')
      expects = first === '[' ? 'value or ]' : 'key or }'
    } else expects = after
    at = end.at
  }
  return text.length
}

/** Where the token that starts here ends, or the place within it that is at fault. */
function endOfToken(text: string, start: number): { at: number; fault?: number } {
  if (text[start] !== '"') {
    TOKEN.lastIndex = start
    const token = TOKEN.exec(text)
    return token ? { at: TOKEN.lastIndex } : { at: start, fault: start }
  }
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return { at: at + 1 }
    if (code < FIRST_PRINTABLE) return { at, fault: at }
    if (code !== BACKSLASH) continue
    ESCAPE.lastIndex = at
    if (!ESCAPE.test(text)) return { at, fault: at }
    at = ESCAPE.lastIndex - 1
  }
  return { at: text.length, fault: text.length }
}
