/** What laws find, and how they compare. */
import type { Violation } from './conform.ts'

export type Json = Readonly<Record<string, unknown>>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function toBreach(pointer: string, message: string, instancePath = ''): Violation {
  return { rule: 'law', message, pointer, instancePath }
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Whether a reply has what a request said: UUIDs are the same in any letter case. */
export function isSame(told: unknown, asked: unknown): boolean {
  return told === asked || (typeof asked === 'string' && isUuid(asked) && told === asked.toLowerCase())
}
