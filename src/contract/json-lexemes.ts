/** What JSON.parse does not tell about a text: keys given twice, and how unusual numbers are written. */
import { escapePointer } from '../spec/document.ts'

export interface Lexemes {
  /** JSON pointers of keys that their object holds more than once. */
  duplicates: string[]
  /** By JSON pointer, the numbers whose value is whole and which are not plain digits, or too many to be exact. */
  numbers: Map<string, string>
}

/** White space, a string, a number, a word, or a sign. */
const TOKEN = /[ \t\n\r]+|"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{}:,]/gy
/** Any integer of so many digits is exact as a double. */
const PLAIN_INTEGER = /^-?[1-9]\d{0,14}$|^0$/

interface Level {
  at: string
  /** Null in a list. */
  keys: Set<string> | null
  /** Key or index of the value that comes next. */
  step: string | number
  expectsKey: boolean
}

/** Of a text that is valid JSON. */
export function readLexemes(text: string): Lexemes {
  const duplicates: string[] = []
  const numbers = new Map<string, string>()
  const levels: Level[] = []
  const here = () => {
    const level = levels.at(-1)
    return level ? `${level.at}/${escapePointer(String(level.step))}` : ''
  }
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1)
    const first = token[0]!
    if (first === '{') levels.push({ at: here(), keys: new Set(), step: '', expectsKey: true })
    else if (first === '[') levels.push({ at: here(), keys: null, step: 0, expectsKey: false })
    else if (first === '}' || first === ']') levels.pop()
    else if (first === ',' && level) {
      if (level.keys) level.expectsKey = true
      else level.step = Number(level.step) + 1
    } else if (first === '"' && level?.keys && level.expectsKey) {
      level.step = JSON.parse(token) as string
      level.expectsKey = false
      if (level.keys.has(level.step)) duplicates.push(here())
      level.keys.add(level.step)
    } else if (/[-\d]/.test(first) && Number.isInteger(Number(token)) && !PLAIN_INTEGER.test(token))
      numbers.set(here(), token)
  }
  return { duplicates, numbers }
}
