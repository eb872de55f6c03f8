import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { schemaWithValue } from './schema-arbitrary.ts'
import { acceptsFrom, byteTokens, createTestRandom, start, tinyChat, writeText } from './writer.ts'

/** Schemas that each generated test looks at. */
const SCHEMAS = 300

function createValidator(schema: Record<string, unknown>): (value: unknown) => boolean {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
  return value => validate(value) as boolean
}

describe('generated schemas', () => {
  for (const [name, trie] of [
    ['bytes', byteTokens],
    ['tiny-chat tokens', tinyChat],
  ] as const) {
    test(`whatever is written in ${name} parses and matches`, { timeout: 120_000 }, () => {
      let finished = 0
      const property = fc.property(schemaWithValue, fc.nat(), ({ schema }, seed) => {
        const isValid = createValidator(schema)
        const beginning = start({ kind: 'json_schema', schema }, trie)
        const random = createTestRandom(seed)
        for (let round = 0; round < 3; round++) {
          const text = writeText(beginning, trie, random)
          if (text === null) continue
          finished += 1
          if (!isValid(JSON.parse(text))) throw new Error(`${text} does not match`)
        }
      })
      fc.assert(property, { numRuns: SCHEMAS, seed: 1 })
      expect(finished).toBeGreaterThan(SCHEMAS * 2)
    })
  }

  test('values that match are allowed, compact and indented', { timeout: 120_000 }, () => {
    const property = fc.property(schemaWithValue, ({ schema, value }) => {
      if (!createValidator(schema)(value)) throw new Error('the test gives a value that does not match')
      const beginning = start({ kind: 'json_schema', schema })
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        if (!acceptsFrom(beginning, text)) throw new Error(`${text} is not allowed`)
      }
    })
    fc.assert(property, { numRuns: SCHEMAS, seed: 2 })
  })

  test('what is allowed after a character has changed still parses and matches', { timeout: 120_000 }, () => {
    let [allowed, forbidden] = [0, 0]
    const change = fc.record({
      at: fc.nat(),
      byte: fc.constantFrom(...Buffer.from('0159-.e"\\{}[],: \ntfnaé')),
      kind: fc.nat(2),
    })
    const property = fc.property(
      schemaWithValue,
      fc.array(change, { minLength: 20, maxLength: 20 }),
      ({ schema, value }, changes) => {
        const isValid = createValidator(schema)
        const beginning = start({ kind: 'json_schema', schema })
        const original = [...Buffer.from(JSON.stringify(value))]
        for (const { at, byte, kind } of changes) {
          // put in before, put in instead of, take out
          const changed = Buffer.from(
            original.toSpliced(at % original.length, kind === 0 ? 0 : 1, ...(kind === 2 ? [] : [byte])),
          )
          if (!acceptsFrom(beginning, changed)) {
            forbidden += 1
            continue
          }
          allowed += 1
          if (!isValid(JSON.parse(changed.toString()))) throw new Error(`${changed} is allowed but does not match`)
        }
      },
    )
    fc.assert(property, { numRuns: SCHEMAS, seed: 3 })
    expect(allowed).toBeGreaterThan(SCHEMAS)
    expect(forbidden).toBeGreaterThan(SCHEMAS)
  })
})
