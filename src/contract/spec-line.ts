/** From a JSON pointer into the contract to the file and line where it is written. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../generate/package-paths.ts'
import type { SpecLines } from '../generate/spec-lines.ts'
import { walkPointer } from '../spec/pointer.ts'

/** A pointer in square brackets, as messages name what is broken. */
const POINTER = /\[(\/(?:paths|components|info|webhooks)\/[^\]\n]+)\]/g

let known: SpecLines | null = null

/** `<file>:<line>`, of the nearest part around it that is known: every pointer leads somewhere. */
export function toSpecLine(source: string): string {
  known ??= JSON.parse(readFileSync(join(packageRoot, 'generated/spec-lines.json'), 'utf8')) as SpecLines
  const [pointer = '', heading] = source.split('#')
  const places = walkPointer(pointer).places.map(place => place.pointer)
  const candidates = heading === undefined ? places : [...places, `${places.at(-1)}#${heading}`]
  const [file, line] = known.lines[candidates.findLast(candidate => known!.lines[candidate] !== undefined) ?? ''] ?? [
    0, 1,
  ]
  return `${known.files[file]}:${line}`
}

/** A message whose pointers have become lines. */
export function withSpecLines(message: string): string {
  return message.replace(POINTER, (_, pointer: string) => `[${toSpecLine(pointer)}]`)
}
