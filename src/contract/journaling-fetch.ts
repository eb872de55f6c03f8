/** A fetch that writes down what its requests make and take away. */
import { operations } from '../spec/document.ts'
import { CREATIONS } from './creations.ts'
import type { Entry, Journal, KeyName } from './journal.ts'
import { createMatcher } from './match-operation.ts'
import { bearsRunId } from './run-id.ts'
import type { Target } from './target.ts'

const match = createMatcher(operations)
/** By the operation that takes away: those that make. */
const undone = new Map<string, string[]>()
for (const [operationId, { undo }] of Object.entries(CREATIONS))
  if (undo !== null) undone.set(undo, [...(undone.get(undo) ?? []), operationId])

export function createJournalingFetch(baseFetch: typeof fetch, journal: Journal, target: Target): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input))
    const found = match(init?.method ?? 'GET', url.pathname)
    if (!found) return baseFetch(input, init)
    const { operation, path } = found
    const creation = CREATIONS[operation.operationId]
    // Operations whose path names what they make, such as PUT, may name what was there before the run.
    const isOurs = operation.method !== 'PUT' || bearsRunId(path, journal.runId)
    if (creation?.undo && isOurs) {
      const key = toKeyName(init, target)
      const entry = journal.add({ operationId: operation.operationId, path, key })
      const response = await baseFetch(input, init)
      await settle(entry, response, journal)
      return response
    }
    const response = await baseFetch(input, init)
    // A 404 may be meant for another team only: it proves nothing.
    const takesAll = url.search === '' && !init?.body
    if (undone.has(operation.operationId) && takesAll && response.ok)
      for (const entry of journal.entries) {
        if (entry.state === 'made' && isUndoneBy(entry, operation.operationId, path)) journal.settle(entry, 'gone')
      }
    return response
  }
}

/** The path parameters of the operation that takes away what an entry made; null where the reply did not tell them. */
export function undoParameters({ operationId, path, reply }: Entry, names: readonly string[]): Entry['path'] | null {
  const { from } = CREATIONS[operationId]!
  const values = names.map(name => [name, (from[name] === undefined ? undefined : reply[from[name]]) ?? path[name]])
  return values.every(([, value]) => value !== undefined) ? Object.fromEntries(values) : null
}

async function settle(entry: Entry, response: Response, journal: Journal): Promise<void> {
  if (response.status >= 400 && response.status < 500) return journal.settle(entry, 'gone')
  if (!response.ok) return
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  const fields = Object.values(CREATIONS[entry.operationId]!.from)
  const texts = fields
    .map(field => [field, (body as Record<string, unknown> | null)?.[field]])
    .filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  if (texts.length === fields.length) journal.settle(entry, 'made', Object.fromEntries(texts))
}

function isUndoneBy(entry: Entry, operationId: string, path: Record<string, string>): boolean {
  if (!undone.get(operationId)!.includes(entry.operationId)) return false
  const parameters = undoParameters(entry, Object.keys(path))
  return parameters !== null && Object.entries(path).every(([name, value]) => parameters[name] === value)
}

function toKeyName(init: RequestInit | undefined, { secondApiKey }: Target): KeyName {
  const authorization = new Headers(init?.headers).get('authorization') ?? ''
  return secondApiKey !== null && authorization.includes(secondApiKey) ? 'second' : 'first'
}
