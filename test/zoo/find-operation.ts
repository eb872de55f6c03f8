/** Which operation a request belongs to, as faults and mutations want to know it. */
import { createMatcher } from '../../src/contract/match-operation.ts'
import { operations } from '../../src/spec/document.ts'

const match = createMatcher(operations)

export interface FoundOperation {
  /** '' for none. */
  operationId: string
  /** Path parameters by name, decoded. */
  path: Record<string, string>
}

/** `path` may have a query. */
export function findOperation(method: string, path: string): FoundOperation {
  const found = match(method, path.split('?')[0]!)
  return { operationId: found?.operation.operationId ?? '', path: found?.path ?? {} }
}

/** Ids of the operations whose path the request has, whatever its method. */
export function findByPath(path: string): string[] {
  const methods = new Set(operations.map(({ method }) => method))
  return [...methods].map(method => findOperation(method, path).operationId).filter(id => id !== '')
}
