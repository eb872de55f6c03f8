/** Which operations the rule of a fault is about, so that their checks are tried first. */
import { type Operation, operations, type Schema } from '../../src/spec/document.ts'

/** A rule about more operations than these is about all of them. */
const MOST_OPERATIONS = 12

/**
 * Ids of operations that the rule names, or that what it breaks names, or that use a schema that the rule names; undefined where it is about
 * all of them, or about none.
 */
export function operationsIn(rule: string, breaks: string): string[] | undefined {
  const words = wordsOf(rule)
  const candidates = [
    operations.filter(({ operationId }) => words.has(operationId)),
    operations.filter(({ operationId }) => wordsOf(breaks).has(operationId)),
    operations.filter(operation => usesAny(operation, words)),
  ]
  const found = candidates.find(list => list.length > 0) ?? []
  return found.length > 0 && found.length <= MOST_OPERATIONS ? found.map(({ operationId }) => operationId) : undefined
}

function wordsOf(text: string): Set<string> {
  return new Set(text.match(/\w+/g))
}

function usesAny(operation: Operation, words: ReadonlySet<string>): boolean {
  return [...schemasOf(operation)].some(name => words.has(name))
}

const known = new Map<string, Set<string>>()

function schemasOf(operation: Operation): Set<string> {
  const before = known.get(operation.operationId)
  if (before) return before
  const seen = new Set<string>()
  const success = [...operation.responses].filter(([status]) => status !== 'default' && status < 300)
  const media = [...success.map(([, { content }]) => content), operation.requestBody?.content ?? new Map()]
  for (const content of media)
    for (const { schema, itemSchema } of content.values())
      for (const one of [schema, itemSchema]) if (one) follow(one, operation, seen)
  known.set(operation.operationId, seen)
  return seen
}

function follow(schema: Schema, operation: Operation, seen: Set<string>): void {
  for (const [, name] of JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    if (seen.has(name!)) continue
    seen.add(name!)
    follow(operation.components[name!]!, operation, seen)
  }
}
