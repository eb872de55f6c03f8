/** Reads the contract by JSON pointer, through the references that stand on the way. */

import { contractDocument, escapePointer, unescapePointer } from './document.ts'
import { HEADING } from './heading.ts'

export interface Place {
  /** Where the value stands itself, references followed. */
  pointer: string
  value: unknown
}

export interface Walk {
  /**
   * From the whole document to the last value that exists. What a reference refers to comes after it, except where a
   * step is a key beside it.
   */
  places: Place[]
  /** False: the contract has no such part. */
  isComplete: boolean
}

export function walkPointer(pointer: string): Walk {
  const places: Place[] = [{ pointer: '', value: contractDocument }]
  const last = () => places.at(-1)!
  const follow = () => {
    for (let next = referred(last().value); next !== null; next = referred(last().value)) {
      const steps = next.split('/').slice(1).map(unescapePointer)
      places.push({ pointer: next, value: steps.reduce<unknown>(child, contractDocument) })
    }
  }
  for (const step of pointer.split('/').slice(1).map(unescapePointer)) {
    if (child(last().value, step) === undefined) follow()
    const value = child(last().value, step)
    if (value === undefined) return { places, isComplete: false }
    places.push({ pointer: `${last().pointer}/${escapePointer(step)}`, value })
  }
  follow()
  return { places, isComplete: true }
}

/**
 * Whether the contract makes such a statement: a pointer to a part of it, with the heading of a section of a
 * description after `#` (or the words in bold that begin one of its paragraphs).
 */
export function isStatement(source: string): boolean {
  const [pointer = '', heading] = source.split('#')
  const { places, isComplete } = walkPointer(pointer)
  if (!isComplete || heading === undefined) return isComplete
  const text = places.at(-1)!.value
  return typeof text === 'string' && [...text.matchAll(HEADING)].some(match => (match[1] ?? match[2]) === heading)
}

function child(value: unknown, step: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, step)
    ? (value as Record<string, unknown>)[step]
    : undefined
}

function referred(value: unknown): string | null {
  const reference = child(value, '$ref')
  return typeof reference === 'string' && reference.startsWith('#/') ? reference.slice(1) : null
}
