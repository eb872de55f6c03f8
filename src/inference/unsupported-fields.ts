import { isDeepStrictEqual } from 'node:util'
import { invalidValue } from '../errors.ts'
import { operationById, resolveSchema, type SchemaObject } from '../spec/document.ts'

/** The chat fields that the contract marks `x-supported: false`, with the value that means nothing is asked. */
const unsupported: ReadonlyMap<string, { fallback: unknown }> = readUnsupported()

/**
 * Throws a 422 `not_supported` for a declared field without effect that asks for something: a value other than its default, null or an
 * empty list or object.
 */
export function refuseUnsupported(request: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(request)) {
    const field = unsupported.get(name)
    if (!field || value === null || isEmpty(value) || isDeepStrictEqual(value, field.fallback)) continue
    throw invalidValue(['body', name], `${name} is not supported yet: leave it out or at its default`, 'not_supported')
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function readUnsupported() {
  const { requestBody, components } = operationById('createChatCompletion')
  const schema = resolveSchema(requestBody!.content.get('application/json')!.schema!, components) as SchemaObject
  const properties = Object.entries(schema.properties as Record<string, SchemaObject>)
  const names = properties.filter(([, property]) => property['x-supported'] === false)
  return new Map(names.map(([name, property]) => [name, { fallback: property.default }]))
}
