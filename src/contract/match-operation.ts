/** Which operation of the contract an exchange belongs to. */
import type { Operation } from '../spec/document.ts'

export interface Match {
  operation: Operation
  /** Path parameters, decoded. */
  path: Record<string, string>
}

interface Route {
  operation: Operation
  pattern: RegExp
  names: string[]
}

/**
 * A function from method and URL path to the operation. The path may stand under any prefix, since a service may be mounted anywhere;
 * the template with the longest fixed text wins.
 */
export function createMatcher(operations: readonly Operation[]): (method: string, pathname: string) => Match | null {
  const routes = operations.map(toRoute).toSorted((a, b) => fixedLength(b.operation) - fixedLength(a.operation))
  return (method, pathname) => {
    for (const { operation, pattern, names } of routes) {
      if (operation.method !== method.toUpperCase()) continue
      const values = pattern.exec(pathname)
      if (values)
        return { operation, path: Object.fromEntries(names.map((name, index) => [name, decode(values[index + 1]!)])) }
    }
    return null
  }
}

function toRoute(operation: Operation): Route {
  const names: string[] = []
  const source = operation.path.replace(/\{(\w+)\}|[^{]+/g, (text, name?: string) => {
    if (name === undefined) return text.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    names.push(name)
    const slashes = operation.parameters.some(parameter => parameter.name === name && parameter.slashes)
    return slashes ? '(.+)' : '([^/]+)'
  })
  return { operation, pattern: new RegExp(`${source}$`), names }
}

function fixedLength(operation: Operation): number {
  return operation.path.replace(/\{\w+\}/g, '').length
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
