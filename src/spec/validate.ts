/**
 * Requests judged by the contract: parameters and body of one operation, compiled on first use and kept.
 * The answer to a request at fault is a 422 whose `detail` is made here.
 */
import { readFileSync } from 'node:fs'
import { createExplanation, createTest } from './compile-schema.ts'
import type { Components, Operation, Parameter, Schema } from './document.ts'
import { operationById, resolveSchema } from './document.ts'
import { parseJsonBody } from './json-body.ts'
import type { RawParameters } from './request.ts'
import { readParameter } from './request.ts'
import type { ValidationDetail } from './validation-detail.ts'
import { MAXIMUM_DETAILS, toValidationDetails } from './validation-detail.ts'

export type { ValidationDetail } from './validation-detail.ts'

export interface RequestInput extends RawParameters {
  /** The parsed JSON body; undefined: none was sent. */
  body?: unknown
}

export interface RequestValue {
  path: Record<string, unknown>
  query: Record<string, unknown>
  /** The operation's header parameters, names in lower case. */
  headers: Record<string, unknown>
  body: unknown
}

export type RequestResult = { ok: true; value: RequestValue } | { ok: false; detail: ValidationDetail[] }
export type BodyResult = { ok: true; value: unknown } | { ok: false; detail: ValidationDetail[] }

export interface ValidateOptions {
  /** List every fault of the body (at most 100), else the first. Meant for bodies up to ALL_ERRORS_LIMIT. Default true. */
  allErrors?: boolean
  /** The body was judged before (by validateBodyFile): look at the parameters only. */
  bodyJudged?: boolean
}

/** Bytes of body above which only the first fault is looked for: all of them may be as many as the body is long. */
export const ALL_ERRORS_LIMIT = 1024 * 1024

/** Null where the value is fine. */
type Check = (value: unknown, root: string[], allErrors: boolean) => ValidationDetail[] | null

interface OperationChecks {
  parameters: { parameter: Parameter; check: Check }[]
  body: Check | null
  parts: Map<string, Check>
}

const LOCATIONS = { path: 'path', query: 'query', header: 'headers' } as const
/** By the list of parameters, which copies of an operation share. */
const checksOf = new WeakMap<Operation['parameters'], OperationChecks>()

/** Parameters get their types and defaults; the body is passed on as it is, its defaults not filled in. */
export function validateRequest(
  operation: Operation,
  input: RequestInput,
  options: ValidateOptions = {},
): RequestResult {
  const checks = checksOf.get(operation.parameters) ?? createChecks(operation)
  const value: RequestValue = { path: {}, query: {}, headers: {}, body: input.body }
  const detail: ValidationDetail[] = []
  for (const { parameter, check } of checks.parameters) {
    const parsed = readParameter(parameter, input, operation.components)
    const faults = checkParameter(parameter, parsed, check)
    if (faults) detail.push(...faults)
    else if (parsed !== undefined) value[LOCATIONS[parameter.in]][parameter.name] = parsed
  }
  const faults = options.bodyJudged ? null : checkBody(operation, checks, input.body, options.allErrors ?? true)
  if (faults) detail.push(...faults)
  return detail.length > 0 ? { ok: false, detail: detail.slice(0, MAXIMUM_DETAILS) } : { ok: true, value }
}

/** Compiles what `validateRequest` would compile at the operation's first request. */
export function prepareValidation(operation: Operation): void {
  const checks = checksOf.get(operation.parameters) ?? createChecks(operation)
  checks.body?.({}, [], false)
}

/**
 * Reads, parses and judges a body kept in a file. Blocks while it does so: for a worker thread.
 * Looks for the first fault only when the file is larger than ALL_ERRORS_LIMIT.
 */
export function validateBodyFile(operationId: string, path: string): BodyResult {
  const bytes = readFileSync(path)
  const operation = operationById(operationId)
  const parsed = parseJsonBody(bytes)
  if (!parsed.ok) return parsed
  const checks = checksOf.get(operation.parameters) ?? createChecks(operation)
  const detail = checkBody(operation, checks, parsed.value, bytes.length <= ALL_ERRORS_LIMIT)
  return detail ? { ok: false, detail } : { ok: true, value: parsed.value }
}

/** Judges one JSON part of a multipart body, such as `version` of createArtifactVersion; undefined: the part was not sent. */
export function validateBodyPart(operation: Operation, name: string, value: unknown): BodyResult {
  const checks = checksOf.get(operation.parameters) ?? createChecks(operation)
  let check = checks.parts.get(name)
  if (!check) {
    const form = resolveSchema(
      operation.requestBody?.content.get('multipart/form-data')?.schema ?? {},
      operation.components,
    )
    const properties = (typeof form === 'object' && (form.properties as Record<string, Schema> | undefined)) || {}
    const required = typeof form === 'object' && Array.isArray(form.required) && form.required.includes(name)
    const judge = createCheck(properties[name] ?? true, operation.components)
    check = (part, root, allErrors) =>
      part === undefined ? (required ? missing(root) : null) : judge(part, root, allErrors)
    checks.parts.set(name, check)
  }
  const detail = check(value, ['body', name], true)
  return detail ? { ok: false, detail } : { ok: true, value }
}

function createChecks(operation: Operation): OperationChecks {
  const json = operation.requestBody?.content.get('application/json')
  const checks = {
    parameters: operation.parameters.map(parameter => ({
      parameter,
      check: createCheck(parameter.schema, operation.components),
    })),
    body: json?.schema ? createCheck(json.schema, operation.components) : null,
    parts: new Map<string, Check>(),
  }
  checksOf.set(operation.parameters, checks)
  return checks
}

function createCheck(schema: Schema, components: Components): Check {
  const test = createTest(schema, components)
  const explain = createExplanation(schema, components)
  return (value, root, allErrors) => {
    if (test(value)) return null
    const detail = toValidationDetails(explain(value, allErrors), root)
    return detail.length > 0
      ? detail
      : [{ loc: root, msg: 'Value error, the input fits no form of this value', type: 'value_error' }]
  }
}

function checkBody(operation: Operation, checks: OperationChecks, body: unknown, allErrors: boolean) {
  if (!checks.body || !operation.requestBody) return null
  if (body === undefined) return operation.requestBody.required ? missing(['body']) : null
  return checks.body(body, ['body'], allErrors)
}

function checkParameter(parameter: Parameter, value: unknown, check: Check): ValidationDetail[] | null {
  const root = [parameter.in, parameter.name]
  if (value === undefined) return parameter.required ? missing(root) : null
  return check(value, root, true)?.map(toParsingFault) ?? null
}

/** Parameters are text, so what fails is its reading: int_parsing rather than int_type. */
function toParsingFault(detail: ValidationDetail): ValidationDetail {
  const type = { int_type: 'int_parsing', float_type: 'float_parsing', bool_type: 'bool_parsing' }[detail.type]
  return type ? { ...detail, type } : detail
}

function missing(loc: string[]): ValidationDetail[] {
  return [{ loc, msg: 'Field required', type: 'missing' }]
}
