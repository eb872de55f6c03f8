import { ApiError, notFound } from './errors.ts'
import { operations } from './spec/document.ts'

/** What stands beside the contract (pages.ts). */
const PAGES = ['/', '/docs', '/openapi.json', '/metrics'].map(path => ({ method: 'GET', path }))

const routes = [...operations, ...PAGES].map(({ method, path }) => ({ method, pattern: toPattern(path) }))

/** A 405 with `Allow` where the path exists under other methods, else a 404. */
export function unknownRoute(method: string, url: string, basePath: string): ApiError {
  const [path] = url.split('?') as [string]
  const inner = path.startsWith(basePath) ? path.slice(basePath.length) || '/' : null
  const allowed = new Set(routes.filter(route => inner && route.pattern.test(inner)).map(route => route.method))
  if (allowed.has('GET')) allowed.add('HEAD')
  if (allowed.size === 0 || allowed.has(method)) return notFound(`The path ${path}`, 'unknown_path')
  const allow = [...allowed].sort().join(', ')
  return new ApiError(405, 'method_not_allowed', `${method} is not allowed here, only ${allow}`, { headers: { allow } })
}

function toPattern(path: string): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/\{path\}/g, '.+').replace(/\{\w+\}/g, '[^/]+')}$`)
}
