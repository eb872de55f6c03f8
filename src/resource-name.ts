import { CommandError } from './operator-database.ts'
import { createTest } from './spec/compile-schema.ts'
import { operationById } from './spec/document.ts'

const { components } = operationById('putMember')

/** Whether a text can be a name: one that no path of the contract can hold would be out of reach. */
const isResourceName = createTest({ $ref: '#/components/schemas/ResourceName' }, components)

/** Throws CommandError unless the text can be such a name. */
export function requireName(what: 'user' | 'team' | 'project' | 'registry', text: string): void {
  if (isResourceName(text)) return
  const rule = '1 to 128 characters, none of them a slash, backslash, #, ?, %, colon or control character'
  throw new CommandError(`${JSON.stringify(text)} cannot be the name of a ${what}: it must be ${rule}`)
}
