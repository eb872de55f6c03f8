/** Where the contract says what chat checks rely on. */
import { operationById, operations, type SchemaObject } from '../../src/spec/document.ts'

const OPERATION = operationById('createChatCompletion').pointer

/** What a field of a chat request does. */
export function fieldSource(field: string): string {
  return `/components/schemas/ChatCompletionRequest/properties/${field}/description`
}

/** Names of the properties of a schema of the contract. */
export function propertiesOf(schema: string): string[] {
  const { properties } = operations[0]!.components[schema] as SchemaObject
  return Object.keys(properties as object)
}

export const STREAM_SOURCE = `${OPERATION}/description#The stream`
export const BETWEEN_FIELDS_SOURCE = `${OPERATION}/description#Rules between fields`
export const USAGE_SOURCE = '/components/schemas/ChatCompletionUsage/properties/total_tokens/description'
