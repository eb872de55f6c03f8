/** The zoos by name. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { operations } from '../../src/spec/document.ts'
import type { Fault } from './fault.ts'
import { operationsIn } from './rule-operations.ts'

/** A member of a zoo: a fault, and what of the suite is tried on it first. */
export interface Member extends Fault {
  /** Part of the zoo that it is counted in; faults written by hand have none. */
  kind?: string
  /** Only checks of these operations are run at first; default: those that its rule names. */
  of?: readonly string[]
}

export const ZOOS = ['first', 'held-out', 'fresh', 'mutations', 'variants'] as const
export type ZooName = (typeof ZOOS)[number]

/** What each zoo is made of. The held-out and the fresh one were written from the contract alone, by someone who had not read the suite. */
const FILES: Record<ZooName, string> = {
  first: './first-zoo.ts',
  'held-out': './held-out-zoo.ts',
  fresh: './fresh-zoo.ts',
  mutations: './mutations.ts',
  variants: './variants.ts',
}

export function hasZoo(name: ZooName): boolean {
  return existsSync(join(import.meta.dirname, FILES[name]))
}

/** Members whose operations the contract has. Throws where two have one name. */
export async function loadZoo(name: ZooName): Promise<Member[]> {
  const faults = listIn((await import(FILES[name])) as Record<string, unknown>)
  const known = new Set(operations.map(({ operationId }) => operationId))
  const members = faults.filter(({ operations: needed = [] }) => needed.every(id => known.has(id)))
  const seen = new Set<string>()
  for (const member of faults) {
    if (seen.has(member.name)) throw new Error(`Two faults are named ${member.name}`)
    seen.add(member.name)
  }
  return members.map(member => {
    const of = member.of ?? operationsIn(member.rule, member.breaks)
    return of ? { ...member, of } : member
  })
}

/** The one list that a file of a zoo gives. */
function listIn(exports: Record<string, unknown>): readonly Member[] {
  const lists = Object.values(exports).filter(Array.isArray)
  if (lists.length !== 1) throw new Error('A file of a zoo gives one list of faults')
  return lists[0] as Member[]
}
