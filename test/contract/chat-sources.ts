/** Where the contract says what chat checks rely on. */
import { operationById } from '../../src/spec/document.ts'

const OPERATION = operationById('createChatCompletion').pointer

/** What a field of a chat request does. */
export function fieldSource(field: string): string {
  return `/components/schemas/ChatCompletionRequest/properties/${field}/description`
}

export const STREAM_SOURCE = `${OPERATION}/description#The stream`
export const BETWEEN_FIELDS_SOURCE = `${OPERATION}/description#Rules between fields`
export const USAGE_SOURCE = '/components/schemas/ChatCompletionUsage/properties/total_tokens/description'
