/** How the options of a form change the text, and which forms a text may have. */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, target } from './setup.ts'

const RULES = '/components/schemas/StructuredOutputs/properties'
const FORMAT = '/components/schemas/JsonSchemaResponseFormat/description'
const messages = [{ role: 'user', content: 'Give me an object.' }]
const EITHER = { enum: ['x', 'y'] }
const PAIR = { type: 'object', properties: { a: EITHER, b: EITHER }, required: ['a', 'b'], additionalProperties: false }
/** Optional white space may come at any of some places: with so many draws it does. */
const DRAWS = 8

section('Forms of a text, which a mock does not follow', { needs: ['memory'], home: false }, () => {
  const base = { model: target.baseModel, messages, temperature: 2, max_completion_tokens: 200 }
  const texts = async (more: object) =>
    finished(await client.ok('createChatCompletion', { body: { ...base, ...more } }))

  check(
    'createChatCompletion/writes-json-without-white-space-when-asked',
    { source: `${RULES}/disable_any_whitespace/description` },
    async () => {
      const structured_outputs = { json: PAIR, disable_any_whitespace: true }
      for (const text of await texts({ n: DRAWS, seed: 1, structured_outputs }))
        expect(text).toBe(JSON.stringify(JSON.parse(text)))
    },
  )

  check(
    'createChatCompletion/writes-json-with-the-white-space-asked-for',
    { source: `${RULES}/whitespace_pattern/description` },
    async () => {
      const structured_outputs = { json: PAIR, whitespace_pattern: '  ' }
      for (const text of await texts({ n: DRAWS, seed: 1, structured_outputs }))
        expect(text).toMatch(/^\{ {2}"a" {2}: {2}"[xy]" {2}, {2}"b" {2}: {2}"[xy]" {2}\}$/)
    },
  )

  check(
    'createChatCompletion/keeps-further-properties-out-when-asked',
    { source: `${RULES}/disable_additional_properties/description` },
    async () => {
      const { additionalProperties: _, ...open } = PAIR
      const structured_outputs = { json: open, disable_additional_properties: true }
      for (const text of await texts({ n: DRAWS, seed: 1, structured_outputs }))
        expect(Object.keys(JSON.parse(text)).toSorted()).toEqual(['a', 'b'])
    },
  )

  check('createChatCompletion/takes-a-choice-letter-by-letter', { source: `${RULES}/choice/description` }, async () => {
    const text = 'a.*(b)?[c] "d"'
    for (const response_format of [undefined, { type: 'text' }])
      expect(await texts({ seed: 1, response_format, structured_outputs: { choice: [text] } })).toEqual([text])
  })

  check(
    'createChatCompletion/writes-an-object-when-asked',
    { source: `${RULES}/json_object/description` },
    async () => {
      for (const text of await texts({ n: 4, seed: 1, structured_outputs: { json_object: true } }))
        expect([text[0], typeof JSON.parse(text)]).toEqual(['{', 'object'])
    },
  )

  checkEach<[string, object, (value: unknown) => boolean]>([
    [
      'maxItems',
      { type: 'array', items: EITHER, minItems: 1, maxItems: 1 },
      value => Array.isArray(value) && value.length === 1,
    ],
    ['pattern', { type: 'string', pattern: '^[ab]$' }, value => value === 'a' || value === 'b'],
    ['maxLength', { type: 'string', maxLength: 1 }, value => typeof value === 'string' && [...value].length <= 1],
    ['const', { const: { a: 1 } }, value => isDeepStrictEqual(value, { a: 1 })],
    ['minimum', { type: 'integer', minimum: 1000, maximum: 1003 }, value => Number(value) >= 1000],
  ])(
    'createChatCompletion/follows-the-%s-of-a-schema-or-refuses-it',
    () => ({ source: `${RULES}/json/description` }),
    async (keyword, json, isValid) => {
      const more = { n: DRAWS, seed: 1, max_completion_tokens: 60, structured_outputs: { json } }
      const { status, body } = await client.call('createChatCompletion', { body: { ...base, ...more } })
      if (status === 422) {
        const places = (body as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc.join('.'))
        expect(places[0]).toContain('structured_outputs.json')
        return
      }
      const values = finished(body as Success<'createChatCompletion'>).map(text => JSON.parse(text))
      expect(
        values.filter(value => !isValid(value)),
        keyword,
      ).toEqual([])
    },
  )

  check('createChatCompletion/takes-a-schema-without-the-type-of-its-format', { source: FORMAT }, async () => {
    const json_schema = { name: 'pair', schema: PAIR }
    for (const response_format of [{ json_schema }, { json_schema: { ...json_schema, strict: false } }])
      for (const text of await texts({ n: 2, seed: 1, response_format }))
        expect(JSON.parse(text)).toEqual({ a: expect.stringMatching(/^[xy]$/), b: expect.stringMatching(/^[xy]$/) })
  })

  check(
    'createChatCompletion/takes-another-backend-that-nobody-chose',
    { source: `${RULES}/_backend/description` },
    async () => {
      const rule = { choice: ['left', 'right'] }
      for (const more of [{ _backend: 'auto' }, { _backend: 'other', _backend_was_auto: true }])
        for (const text of await texts({ structured_outputs: { ...rule, ...more } }))
          expect(rule.choice).toContain(text)
      const refused = { ...rule, _backend: 'other', _backend_was_auto: true, disable_fallback: true }
      const body = { model: target.baseModel, messages, structured_outputs: refused }
      await client.refused('createChatCompletion', 422, { body })
    },
  )
})

/** What was cut off is no whole text. */
function finished({ choices }: Success<'createChatCompletion'>): string[] {
  return choices.filter(choice => choice.finish_reason === 'stop').map(choice => choice.message.content!)
}
