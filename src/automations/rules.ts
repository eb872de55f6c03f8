/** Rules between the fields of an automation, which a schema of single fields cannot say. */
import type { components } from '../../generated/schema.d.ts'
import { invalid, type ValidationDetail } from '../errors.ts'
import type { AutomationEventType, AutomationRow } from '../storage/tables.ts'
import { findPatternFault } from './pattern.ts'

type Schemas = components['schemas']
type Scope = Pick<AutomationRow, 'entity' | 'scope_type' | 'scope_name'>
type Trigger = Pick<AutomationRow, 'event_type' | 'alias_regex' | 'metric' | 'operator' | 'threshold'>
type Filter = Pick<AutomationRow, 'filter_user' | 'filter_run_name_regex'>

const EVENTS_OF_SCOPE: Record<Scope['scope_type'], readonly AutomationEventType[]> = {
  project: ['ADD_ARTIFACT_ALIAS', 'RUN_METRIC'],
  registry: ['ADD_ARTIFACT_ALIAS', 'ADD_ARTIFACT_TAG', 'LINK_ARTIFACT'],
}
const FIELDS_OF_EVENT = {
  ADD_ARTIFACT_ALIAS: ['alias_regex'],
  ADD_ARTIFACT_TAG: [],
  LINK_ARTIFACT: [],
  RUN_METRIC: ['metric', 'operator', 'threshold'],
} as const satisfies Record<AutomationEventType, readonly string[]>

/** Throws a 422 unless the scope names what its type says and nothing else. */
export function toScope({ type, entity, project, registry }: Schemas['NewAutomationScope']): Scope {
  const names = { project: project ?? null, registry: registry ?? null }
  const name = names[type]
  const faults = checkFields(names, [type], ['body', 'scope'], `a scope of type ${type}`)
  if (name === null || faults.length > 0) throw invalid(faults)
  return { entity, scope_type: type, scope_name: name }
}

/** Throws a 422 that names all that is wrong with the event, the filter, and the two for this type of scope. */
export function toWatch(
  scopeType: Scope['scope_type'],
  event: Schemas['NewAutomationTrigger'],
  filter: Schemas['NewAutomationFilter'] | null | undefined,
): Trigger & Filter {
  const { type, alias_regex = null, metric = null, operator = null, threshold = null } = event
  const { user = null, run_name_regex = null } = filter ?? {}
  const allowed = EVENTS_OF_SCOPE[scopeType]
  const faults = checkFields(
    { alias_regex, metric, operator, threshold },
    FIELDS_OF_EVENT[type],
    ['body', 'event'],
    type,
  )
  if (!allowed.includes(type)) {
    const msg = `The events of a ${scopeType} are ${allowed.join(' and ')}`
    faults.push({ loc: ['body', 'event', 'type'], msg, type: 'enum' })
  }
  if (type !== 'RUN_METRIC') faults.push(...checkFields({ user, run_name_regex }, [], ['body', 'filter'], type))
  faults.push(
    ...checkPattern(alias_regex, ['body', 'event', 'alias_regex']),
    ...checkPattern(run_name_regex, ['body', 'filter', 'run_name_regex']),
  )
  if (faults.length > 0) throw invalid(faults)
  return {
    event_type: type,
    alias_regex,
    metric,
    operator,
    threshold,
    filter_user: user,
    filter_run_name_regex: run_name_regex,
  }
}

/** Of fields that may be null, those that are wanted are there and the others are not. */
function checkFields(
  fields: Record<string, unknown>,
  wanted: readonly string[],
  loc: readonly string[],
  what: string,
): ValidationDetail[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if ((value !== null) === wanted.includes(name)) return []
    return value === null
      ? [{ loc: [...loc, name], msg: `Field required for ${what}`, type: 'missing' }]
      : [{ loc: [...loc, name], msg: `Not permitted for ${what}`, type: 'extra_forbidden' }]
  })
}

function checkPattern(source: string | null, loc: string[]): ValidationDetail[] {
  const fault = source === null ? null : findPatternFault(source)
  return fault === null ? [] : [{ loc, msg: fault, type: 'regex_invalid' }]
}
