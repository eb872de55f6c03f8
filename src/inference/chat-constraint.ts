/** From `response_format` and `structured_outputs` to the one rule that the text follows. */
import { invalidValue } from '../errors.ts'
import type { ChatRequest } from './chat-types.ts'
import type { ConstraintRule, ConstraintSource } from './constraint/constraint.ts'

type StructuredOutputs = NonNullable<ChatRequest['structured_outputs']>
type ResponseFormat = NonNullable<ChatRequest['response_format']>

const FIELD = 'structured_outputs'
const KINDS = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag'] as const
/** What applies the rules here; `auto` leaves the choice to us. */
const BACKENDS = ['trainyard', 'auto']

export interface PlacedConstraint {
  source: ConstraintSource | null
  /** Where in the request the rule stands. */
  loc: string[]
}

/** Throws a 422 for no rule, an empty one, or more than one. What a rule says is judged where it is compiled. */
export function toConstraint(request: ChatRequest): PlacedConstraint {
  const { response_format: format, structured_outputs: outputs } = request
  const ofFormat = format ? fromResponseFormat(format) : null
  if (!outputs) return ofFormat ?? { source: null, loc: [FIELD] }
  if (ofFormat) throw fault([], 'Only one form can be followed: leave out response_format or structured_outputs')
  return fromStructuredOutputs(outputs)
}

/** The place in the request of a fault that compiling found at a path in the rule. */
export function toConstraintLoc(loc: string[], path: string[]): string[] {
  const isOption = path[0] === 'whitespace_pattern' && path.length === 1
  return isOption ? [FIELD, ...path] : [...loc, ...path]
}

function fromResponseFormat(format: ResponseFormat): PlacedConstraint | null {
  if ('json_schema' in format) {
    const { schema } = format.json_schema
    const loc = ['response_format', 'json_schema', 'schema']
    return { source: schema ? { kind: 'json_schema', schema } : { kind: 'json_object' }, loc }
  }
  return format.type === 'json_object' ? { source: { kind: 'json_object' }, loc: ['response_format'] } : null
}

function fromStructuredOutputs(outputs: StructuredOutputs): PlacedConstraint {
  const given = KINDS.filter(kind => outputs[kind] != null)
  const [kind] = given
  if (kind === undefined) throw fault([], `One of ${KINDS.join(', ')} is needed`)
  if (given.length > 1) throw fault([given[1]!], `Only one kind of rule can be followed, not ${given.join(' and ')}`)
  checkBackend(outputs)
  const options = {
    disableAnyWhitespace: outputs.disable_any_whitespace ?? false,
    whitespacePattern: outputs.whitespace_pattern ?? null,
    disableAdditionalProperties: outputs.disable_additional_properties ?? false,
  }
  return { source: { ...toRule(kind, outputs), ...options }, loc: [FIELD, kind] }
}

function toRule(kind: (typeof KINDS)[number], outputs: StructuredOutputs): ConstraintRule {
  const rule = outputs[kind]
  if (typeof rule === 'string' && rule.trim() === '' && !(kind === 'regex' && rule !== '')) {
    throw fault([kind], `An empty ${kind} asks for nothing`)
  }
  switch (kind) {
    case 'json':
      return { kind: 'json_schema', schema: typeof rule === 'string' ? parseJson(rule, kind) : rule }
    case 'regex':
      if (outputs.regex!.includes('\0')) throw fault([kind], 'A regular expression cannot hold the character NUL')
      return { kind, pattern: outputs.regex! }
    case 'choice':
      return { kind, choices: outputs.choice! }
    case 'grammar':
      return { kind, text: outputs.grammar! }
    case 'json_object':
      if (!rule) throw fault([kind], 'json_object false asks for nothing: leave it out')
      return { kind }
    case 'structural_tag':
      return { kind, tag: parseJson(outputs.structural_tag!, kind) }
  }
}

/** A name that was chosen automatically, as for another service, may be replaced by ours, unless that is forbidden. */
function checkBackend(outputs: StructuredOutputs): void {
  const { _backend: name, _backend_was_auto: wasAuto, disable_fallback: noFallback } = outputs
  if (name == null || BACKENDS.includes(name) || (wasAuto && !noFallback)) return
  throw fault(['_backend'], `The backend here is ${BACKENDS[0]}, and no other`)
}

function parseJson(text: string, kind: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidValue(['body', FIELD, kind], `Invalid JSON: ${(error as Error).message}`, 'json_invalid')
  }
}

function fault(path: string[], msg: string) {
  return invalidValue(['body', FIELD, ...path], msg)
}
