/**
 * How much a broken rule weighs. The contract says where each of its rules comes from (`x-origin`, see
 * spec/openapi.yaml, "Where a rule comes from"); the profile says which of them bind the deployment that is judged.
 */
import { contractDocument, operations } from '../spec/document.ts'
import { walkPointer } from '../spec/pointer.ts'
import type { Check, Level } from './check.ts'
import type { Violation } from './conform.ts'
import type { Profile } from './target.ts'

/**
 * interface: the interface itself says so. decision: it leaves that open, and this contract settles it. extension: it
 * knows nothing of it.
 */
export type Origin = 'interface' | 'decision' | 'extension'

/** none: it is not judged. */
export type Severity = 'fail' | 'warn' | 'none'

const STRONGEST: readonly Origin[] = ['interface', 'decision', 'extension']

/**
 * Who made a rule: the mark that stands nearest above the pointer, on the way that the pointer takes. Prose
 * (descriptions, and their sections after `#`) is ours throughout, since the interface says in fields, types and
 * limits what it says.
 */
export function originOf(source: string): Origin {
  const [pointer = '', heading] = source.split('#')
  const { places } = walkPointer(pointer)
  const marks = places.map(({ value }) => markOf(value)).filter(mark => mark !== null)
  const component = /^\/components\/(\w+)\/[^/]+/.exec(pointer)?.[0]
  const nearest = marks.at(-1) ?? (component ? originOfComponent(component) : 'decision')
  const isProse = heading !== undefined || pointer.endsWith('/description')
  return (isProse || isSingledOut(places)) && nearest === 'interface' ? 'decision' : nearest
}

/** What a reply's breach of the contract weighs. */
export function severityOf({ rule, pointer, missing, undeclared }: Violation, profile: Profile): Severity {
  if (profile === 'full' || rule === 'leak') return 'fail'
  const operation = operations.find(one => pointer.startsWith(`${one.pointer}/`))
  if (operation?.origin === 'extension') return 'none'
  const isOurs = rule === 'status-declared' || undeclared !== undefined || pointer.endsWith('/headers/x-request-id')
  const origins = [originOf(pointer), ...(missing === undefined ? [] : originsOfMissing(pointer, missing))]
  return isOurs || origins.some(origin => origin !== 'interface') ? 'warn' : 'fail'
}

/** A check as a profile runs it: how strong its rule is there, or why it is left out. */
export function toProfile({ id, source, level }: Check, profile: Profile): { level: Level; disabled: string | null } {
  if (profile === 'full') return { level, disabled: null }
  const about = operations.find(({ operationId }) => operationId === id.slice(0, id.indexOf('/')))
  const origin = originOf(source)
  if (about?.origin === 'extension' || origin === 'extension') return { level, disabled: NOT_IN_INTERFACE }
  return { level: origin === 'interface' ? level : 'SHOULD', disabled: null }
}

const NOT_IN_INTERFACE = 'the interface profile leaves out what the interface does not have'

/** Whether a status is the success that an operation must have. */
export function isSuccess(status: number, profile: Profile): boolean {
  return profile === 'full' ? status === 200 : status >= 200 && status < 300
}

/** Whether a status refuses as it must: the interface names no statuses, so there any of the same class does. */
export function isRefusal(status: number, expected: number, profile: Profile): boolean {
  return profile === 'full' ? status === expected : Math.trunc(status / 100) === Math.trunc(expected / 100)
}

function markOf(value: unknown): Origin | null {
  const mark = (value as { 'x-origin'?: unknown } | null)?.['x-origin']
  return STRONGEST.includes(mark as Origin) ? (mark as Origin) : null
}

/**
 * Whether `x-decisions` of the part that the last steps belong to names them, such as `minimum` or `items/minLength`.
 */
function isSingledOut(places: ReturnType<typeof walkPointer>['places']): boolean {
  const { pointer } = places.at(-1)!
  return places.some(place => {
    const below = pointer.startsWith(`${place.pointer}/`) ? pointer.slice(place.pointer.length + 1) : null
    return below !== null && decisionsOf(place.value).includes(below)
  })
}

/** A property that must be there is ours where the property is, or where its schema says so. */
function originsOfMissing(pointer: string, missing: string): Origin[] {
  const schema = pointer.replace(/\/required$/, '')
  const { value } = walkPointer(schema).places.at(-1)!
  const decisions = decisionsOf(value)
  const isOurs = decisions.includes('required') || decisions.includes(`required/${missing}`)
  return [originOf(`${schema}/properties/${missing}`), ...(isOurs ? (['decision'] as const) : [])]
}

function decisionsOf(value: unknown): string[] {
  const decisions = (value as { 'x-decisions'?: unknown } | null)?.['x-decisions']
  return Array.isArray(decisions) ? decisions.map(String) : []
}

/** A part that operations share is as strong as the strongest of its uses. */
function originOfComponent(component: string): Origin {
  originsOfComponents ??= findOrigins()
  return originsOfComponents.get(component) ?? 'extension'
}

let originsOfComponents: Map<string, Origin> | null = null

function findOrigins(): Map<string, Origin> {
  const origins = new Map<string, Origin>()
  const visit = (value: unknown, inherited: Origin): void => {
    if (typeof value !== 'object' || value === null) return
    const origin = markOf(value) ?? inherited
    const reference = (value as { $ref?: unknown }).$ref
    if (typeof reference === 'string' && reference.startsWith('#/')) visitComponent(reference.slice(1), origin)
    for (const child of Object.values(value)) visit(child, origin)
  }
  const visitComponent = (pointer: string, inherited: Origin): void => {
    const { value } = walkPointer(pointer).places.find(place => place.pointer === pointer)!
    const origin = markOf(value) ?? inherited
    const known = origins.get(pointer)
    if (known && STRONGEST.indexOf(known) <= STRONGEST.indexOf(origin)) return
    origins.set(pointer, origin)
    visit(value, origin)
  }
  visit(contractDocument.paths, 'extension')
  visit(contractDocument.webhooks, 'extension')
  return origins
}
