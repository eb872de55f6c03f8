/**
 * Replies judged by the contract: is the status declared for the operation, the content type declared for the status, are the
 * headers there and valid, is the body valid and without a property that the contract does not name, is each event of a stream?
 */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { createExplanation, createTest } from '../spec/compile-schema.ts'
import type { Components, Operation, ResponseContract, Schema } from '../spec/document.ts'
import { readParameter } from '../spec/request.ts'
import { checkLexemes } from './check-lexemes.ts'
import { toRulePointer } from './rule-pointer.ts'
import { parseSse } from './sse-events.ts'

export interface Reply {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  contentType: string | null
  /** Empty where there is none; of a binary body it is not looked at. */
  bodyText: string
}

export interface Violation {
  rule:
    | 'status-declared'
    | 'content-type'
    | 'header'
    | 'json'
    | 'schema'
    | 'event-stream'
    | 'event-schema'
    | 'done'
    | 'leak'
    | 'number'
    | 'duplicate-key'
    | 'encoding'
    | 'header-syntax'
    | 'no-body'
    | 'law'
  message: string
  /** JSON pointer into the contract: the part that is violated. */
  pointer: string
  /** JSON pointer into the body (of a stream: into the event, after its number), '' for the whole. */
  instancePath: string
  /** The property that must be there and is not. */
  missing?: string
  /** The property that is there and is not named by the contract. */
  undeclared?: string
}

/** The data of a stream's last event, which is not JSON. */
export const DONE = '[DONE]'

/** Statuses that any path or method may answer, which are not repeated at each operation. */
export const UNDECLARED_STATUSES: readonly number[] = [405]

type Judge = (value: unknown) => ErrorObject[]

const judges = new WeakMap<object, Judge>()

export function validateResponse(operation: Operation, reply: Reply): Violation[] {
  const contract = operation.responses.get(reply.status) ?? operation.responses.get('default')
  if (contract) return judgeAs(contract, reply.status, operation, reply)
  const declared = [...operation.responses.keys()].join(', ')
  const message = `${operation.operationId} answered ${reply.status}; declared are ${declared}`
  const violation = {
    rule: 'status-declared',
    pointer: `${operation.pointer}/responses`,
    message,
    instancePath: '',
  } as const
  // Another status of success does not excuse the body.
  const success = reply.status >= 200 && reply.status < 300 && reply.bodyText !== '' && operation.responses.get(200)
  return success ? [violation, ...judgeAs(success, 200, operation, reply)] : [violation]
}

function judgeAs(contract: ResponseContract, status: number, operation: Operation, reply: Reply): Violation[] {
  const pointer = `${operation.pointer}/responses/${operation.responses.has(status) ? status : 'default'}`
  return [
    ...checkHeaders(contract, reply, operation.components, pointer),
    ...checkBody(contract, reply, operation.components, pointer),
  ]
}

/** Judges what came for HEAD, by what GET would have been answered; the body is not there. */
export function validateHead(operation: Operation, reply: Reply): Violation[] {
  const contract = operation.responses.get(reply.status) ?? operation.responses.get('default')
  if (!contract) return validateResponse(operation, reply)
  const type = (reply.contentType ?? '').split(';')[0]!.trim().toLowerCase()
  const pointer = `${operation.pointer}/responses/${operation.responses.has(reply.status) ? reply.status : 'default'}`
  const violations = checkHeaders(contract, reply, operation.components, pointer)
  // A server need not know what only the making of the body tells (RFC 9110, section 9.3.2).
  const given = violations.filter(({ pointer }) => !pointer.endsWith('/headers/content-length'))
  if (type === '' || contract.content.has(type)) return given
  const message = `the content type of HEAD is ${type}; declared are ${contract.contentTypes.join(', ')}`
  return [...given, { rule: 'content-type', message, pointer: `${pointer}/content`, instancePath: '' }]
}

/** Judges an error body that belongs to no operation, such as that of an unknown path. */
export function validateErrorBody(components: Components, bodyText: string): Violation[] {
  return checkJson({ $ref: '#/components/schemas/ErrorBody' }, components, bodyText, '/components/schemas/ErrorBody')
}

function checkHeaders(contract: ResponseContract, reply: Reply, components: Components, pointer: string): Violation[] {
  const violations: Violation[] = []
  for (const [name, header] of contract.headers) {
    const parameter = { name, in: 'header' as const, style: 'simple', explode: false, slashes: false, ...header }
    const value = readParameter(parameter, { path: {}, query: {}, headers: reply.headers }, components)
    const add = (message: string) =>
      violations.push({ rule: 'header', message, pointer: `${pointer}/headers/${name}`, instancePath: '' })
    if (value === undefined) {
      if (header.required) add(`the header ${name} is missing`)
    } else
      for (const error of judge(header.schema, components)(value))
        add(`the header ${name} ${error.message}: ${reply.headers[name]}`)
  }
  return violations
}

function checkBody(contract: ResponseContract, reply: Reply, components: Components, pointer: string): Violation[] {
  if (contract.content.size === 0) {
    if (reply.bodyText === '') return []
    return [{ rule: 'content-type', message: 'a body came where none is declared', pointer, instancePath: '' }]
  }
  const type = (reply.contentType ?? '').split(';')[0]!.trim().toLowerCase()
  const media = contract.content.get(type)
  if (!media) {
    const message = `the content type is ${reply.contentType ?? 'missing'}; declared are ${contract.contentTypes.join(', ')}`
    return [{ rule: 'content-type', message, pointer: `${pointer}/content`, instancePath: '' }]
  }
  const at = `${pointer}/content/${type.replaceAll('/', '~1')}`
  if (media.itemSchema !== null) return checkEvents(media.itemSchema, components, reply.bodyText, `${at}/itemSchema`)
  const isJson = type === 'application/json' || type.endsWith('+json')
  return isJson ? checkJson(media.schema ?? true, components, reply.bodyText, `${at}/schema`) : []
}

function checkJson(schema: Schema, components: Components, text: string, pointer: string): Violation[] {
  const value = parseJson(text)
  if (value === undefined)
    return [{ rule: 'json', message: `the body is not JSON: ${excerpt(text)}`, pointer, instancePath: '' }]
  return checkValue('schema', text, value, schema, components, pointer)
}

/** A value by its schema, and its text by how it is written. */
function checkValue(
  rule: 'schema' | 'event-schema',
  text: string,
  value: unknown,
  schema: Schema,
  components: Components,
  pointer: string,
): Violation[] {
  const judgeOfSchema = judge(schema, components)
  const found = judgeOfSchema(value).map(error =>
    toViolation(rule, error, toRulePointer(schema, components, pointer, error), ''),
  )
  return [...found, ...checkLexemes(text, value, judgeOfSchema)]
}

function checkEvents(schema: Schema, components: Components, text: string, pointer: string): Violation[] {
  const { events, rest } = parseSse(text)
  const violations: Violation[] = []
  const add = (rule: Violation['rule'], message: string, instancePath = '') =>
    violations.push({ rule, message, pointer, instancePath })
  if (rest !== '') add('event-stream', `the stream ends within an event: ${excerpt(rest)}`)
  if (events.at(-1)?.data !== DONE) add('done', `the last event is not ${DONE}`)
  for (const [index, { type, data }] of events.entries()) {
    if (type !== 'message')
      add('event-stream', `an event has the type ${type}, which no reader listens to`, `/${index}`)
    if (data === DONE) {
      if (index < events.length - 1) add('done', `${DONE} is not the last event`, `/${index}`)
      continue
    }
    const value = parseJson(data)
    if (value === undefined) add('event-stream', `the data of an event is not JSON: ${excerpt(data)}`, `/${index}`)
    else
      for (const violation of checkValue('event-schema', data, value, schema, components, pointer))
        violations.push({ ...violation, instancePath: `/${index}${violation.instancePath}` })
  }
  return violations
}

/** What is wrong with a value under a schema whose objects are closed; compiled on first use and kept. */
function judge(schema: Schema, components: Components): Judge {
  if (typeof schema === 'boolean') return value => createExplanation(schema, components)(value, true)
  const known = judges.get(schema)
  if (known) return known
  const test = createTest(schema, components, { closed: true })
  const explain = createExplanation(schema, components, { closed: true })
  const judgeOfSchema: Judge = value => {
    if (test(value)) return []
    const errors = explain(value, true).filter(error => error.keyword !== 'if')
    return errors.length > 0 ? errors : [unexplained]
  }
  judges.set(schema, judgeOfSchema)
  return judgeOfSchema
}

const unexplained: ErrorObject = {
  keyword: 'union',
  instancePath: '',
  schemaPath: '#',
  params: {},
  message: 'fits no form, or several forms, of the schema',
}

function toViolation(rule: 'schema' | 'event-schema', error: ErrorObject, pointer: string, base: string): Violation {
  const { keyword, params, data } = error
  const named = params.additionalProperty ?? params.unevaluatedProperty
  const message =
    named === undefined
      ? `${error.message ?? `breaks the rule ${keyword} ${JSON.stringify(params)}`}: ${excerpt(JSON.stringify(data) ?? '')}`
      : `has the property ${named}, which the contract does not name`
  return {
    rule,
    message,
    pointer,
    instancePath: base + error.instancePath,
    ...(keyword === 'required' ? { missing: String(params.missingProperty) } : {}),
    ...(named === undefined ? {} : { undeclared: String(named) }),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Enough of a value to find it by, in characters. */
const EXCERPT_LENGTH = 200

function excerpt(text: string): string {
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text
}
