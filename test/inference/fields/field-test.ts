import { expect } from 'vitest'
import type { ChatTask } from '../../../src/inference/chat-types.ts'
import { read } from '../chat-wire.ts'

/** A test of one property of the chat request. It fails when the property is ignored. */
export interface FieldTest {
  field: string
  does: string
  check(): void | Promise<void>
}

/** The task that a value makes differs from the task without it by exactly this. */
export function changes(
  field: string,
  value: unknown,
  select: (task: ChatTask) => unknown,
  expected: unknown,
  beside: object = {},
): FieldTest {
  return {
    field,
    does: `${JSON.stringify(value)} asks the engine for ${JSON.stringify(expected)}`,
    check() {
      expect(select(read({ ...beside, [field]: value }))).toEqual(expected)
      expect(select(read(beside)), 'it would be so without the field').not.toEqual(expected)
    },
  }
}
