/** Replies whose JSON means one thing to one reader and another to the next: keys given twice, integers that are not written as such. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { unescapePointer } from '../spec/document.ts'
import type { Violation } from './conform.ts'
import { readLexemes } from './json-lexemes.ts'

/** Where the contract lays down how bodies and headers are written. */
export const ON_THE_WIRE = '/info/description#On the wire'

const INT64_MAX = 2n ** 63n - 1n
const DIGITS = /^-?(?:0|[1-9]\d*)$/

/** `judge` gives the errors of a value under the schema, which tells where integers stand. */
export function checkLexemes(text: string, value: unknown, judge: (value: unknown) => ErrorObject[]): Violation[] {
  const { duplicates, numbers } = readLexemes(text)
  const violations: Violation[] = duplicates.map(at => violation('duplicate-key', 'the key is given twice', at))
  for (const [at, lexeme] of numbers) {
    const fault = faultOf(lexeme)
    if (fault !== null && isIntegerPlace(value, at, judge))
      violations.push(violation('number', `${fault}: ${lexeme}`, at))
  }
  return violations
}

/** Null where the number is an integer as it should be. */
function faultOf(lexeme: string): string | null {
  if (!DIGITS.test(lexeme)) return 'an integer is written with a fraction or an exponent'
  if (lexeme === '-0') return 'an integer is written as minus zero'
  const whole = BigInt(lexeme)
  return whole > INT64_MAX || whole < -INT64_MAX - 1n ? 'an integer does not fit into 64 bits' : null
}

/** Whether the schema would take offence at a fraction there. */
function isIntegerPlace(value: unknown, at: string, judge: (value: unknown) => ErrorObject[]): boolean {
  const copy = structuredClone({ value })
  const steps = ['value', ...at.split('/').slice(1).map(unescapePointer)]
  let node: Record<string, unknown> = copy
  for (const step of steps.slice(0, -1)) node = node[step] as Record<string, unknown>
  node[steps.at(-1)!] = 0.5
  return judge(copy.value).some(
    ({ instancePath, keyword, params }) =>
      instancePath === at && keyword === 'type' && [params.type].flat().includes('integer'),
  )
}

function violation(rule: 'duplicate-key' | 'number', message: string, instancePath: string): Violation {
  return { rule, message, pointer: ON_THE_WIRE, instancePath }
}
