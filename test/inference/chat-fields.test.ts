import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { operationById, resolveSchema, type SchemaObject } from '../../src/spec/document.ts'
import { faultOf } from './chat-wire.ts'
import { promptFields } from './fields/prompt-fields.ts'
import { replyFields } from './fields/reply-fields.ts'
import { samplingFields } from './fields/sampling-fields.ts'

const fieldTests = [...samplingFields, ...promptFields, ...replyFields]
const { requestBody, components } = operationById('createChatCompletion')
const schema = resolveSchema(requestBody!.content.get('application/json')!.schema!, components) as SchemaObject
const properties = schema.properties as Record<string, SchemaObject>

describe('every field of a chat request does what the contract says of it', () => {
  test.each(fieldTests)('$field: $does', ({ check }) => check())
})

describe('no field is forgotten', () => {
  test.each(Object.keys(properties))('%s has a test of its own', name => {
    expect(fieldTests.filter(({ field }) => field === name)).not.toEqual([])
  })

  test('the table of the docs has each field once', () => {
    const file = new URL('../../spec/paths/chat/completions.yaml', import.meta.url)
    const rows = [...readFileSync(file, 'utf8').matchAll(/^ {4}\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
    expect(rows.map(([, name]) => name).toSorted()).toEqual(Object.keys(properties).toSorted())
  })

  test('only what a text model on one machine cannot do is marked as not supported, and refused', () => {
    const marked = Object.keys(properties).filter(name => properties[name]!['x-supported'] === false)
    expect(marked).toEqual(['mm_processor_kwargs', 'kv_transfer_params', 'engine_xargs'])
    for (const name of marked) expect(faultOf({ [name]: { a: 1 } })!.type).toBe('not_supported')
  })
})
