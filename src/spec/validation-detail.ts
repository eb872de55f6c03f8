/** The body of a 422, entry by entry: what ajv found, in the words and type names that users of the interface know. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { unescapePointer } from './document.ts'

export interface ValidationDetail {
  /** Location of the faulty value, such as ['body', 'messages', '0', 'role']. */
  loc: string[]
  msg: string
  /** Such as missing, int_type, literal_error, greater_than_equal, uuid_parsing. */
  type: string
}

/** Most entries in one 422. */
export const MAXIMUM_DETAILS = 100

interface Meaning {
  type: string
  msg: string
  /** Steps below the faulty object, for a property that is missing or too many. */
  below?: string
}

const TYPE_NAMES: Record<string, [type: string, what: string]> = {
  integer: ['int_type', 'a valid integer'],
  number: ['float_type', 'a valid number'],
  string: ['string_type', 'a valid string'],
  boolean: ['bool_type', 'a valid boolean'],
  array: ['list_type', 'a valid list'],
  object: ['dict_type', 'a valid object'],
  null: ['none_required', 'null'],
}

const FORMAT_NAMES: Record<string, [type: string, what: string]> = {
  uuid: ['uuid_parsing', 'a valid UUID'],
  'date-time': ['datetime_parsing', 'a valid RFC 3339 date and time'],
  date: ['date_parsing', 'a valid date'],
  uri: ['url_parsing', 'a valid URI'],
  'uri-reference': ['url_parsing', 'a valid URI reference'],
  byte: ['bytes_parsing', 'valid base64'],
  email: ['email_parsing', 'a valid e-mail address'],
  int32: ['int_parsing_size', 'an integer of 32 bits'],
  int64: ['int_parsing_size', 'an integer of 64 bits'],
}

const LIMITS: Record<string, (limit: number) => Omit<Meaning, 'below'>> = {
  minimum: limit => ({ type: 'greater_than_equal', msg: `Input should be greater than or equal to ${limit}` }),
  maximum: limit => ({ type: 'less_than_equal', msg: `Input should be less than or equal to ${limit}` }),
  exclusiveMinimum: limit => ({ type: 'greater_than', msg: `Input should be greater than ${limit}` }),
  exclusiveMaximum: limit => ({ type: 'less_than', msg: `Input should be less than ${limit}` }),
  minLength: limit => ({ type: 'string_too_short', msg: `String should have at least ${plural(limit, 'character')}` }),
  maxLength: limit => ({ type: 'string_too_long', msg: `String should have at most ${plural(limit, 'character')}` }),
  minItems: limit => ({ type: 'too_short', msg: `List should have at least ${plural(limit, 'item')}` }),
  maxItems: limit => ({ type: 'too_long', msg: `List should have at most ${plural(limit, 'item')}` }),
  minProperties: limit => ({
    type: 'too_short',
    msg: `Object should have at least ${plural(limit, 'property', 'properties')}`,
  }),
  maxProperties: limit => ({
    type: 'too_long',
    msg: `Object should have at most ${plural(limit, 'property', 'properties')}`,
  }),
}

/** Entries for the errors of one value, whose own location is `root`; parent keywords that only repeat a child's error are dropped. */
export function toValidationDetails(errors: ErrorObject[], root: string[]): ValidationDetail[] {
  const details: ValidationDetail[] = []
  const seen = new Set<string>()
  const mistyped = new Set<string>()
  for (const error of errors) {
    const meaning = toMeaning(error)
    if (!meaning) continue
    const steps = error.instancePath.split('/').slice(1).map(unescapePointer)
    const loc = [...root, ...steps, ...(meaning.below === undefined ? [] : [meaning.below])]
    const place = JSON.stringify(loc)
    if (error.keyword === 'type') mistyped.add(place)
    // A value of the wrong type is not one of the allowed values either, which says nothing more.
    else if (error.keyword === 'enum' && mistyped.has(place)) continue
    if (seen.has(`${place} ${meaning.type}`)) continue
    seen.add(`${place} ${meaning.type}`)
    details.push({ loc, msg: meaning.msg, type: meaning.type })
    if (details.length === MAXIMUM_DETAILS) break
  }
  return details
}

function toMeaning(error: ErrorObject): Meaning | null {
  const { keyword, params } = error
  const limit = LIMITS[keyword]
  if (limit) return limit(params.limit as number)
  switch (keyword) {
    case 'if':
    case 'propertyNames':
      return null
    case 'required':
    case 'dependentRequired':
      return { type: 'missing', msg: 'Field required', below: String(params.missingProperty) }
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        type: 'extra_forbidden',
        msg: 'Extra inputs are not permitted',
        below: String(params.additionalProperty ?? params.unevaluatedProperty),
      }
    case 'type':
      return toTypeMeaning([params.type].flat().map(String), error.data)
    case 'const':
      return { type: 'literal_error', msg: `Input should be ${JSON.stringify(params.allowedValue)}` }
    case 'enum':
      return {
        type: 'enum',
        msg: `Input should be ${listOf((params.allowedValues as unknown[]).map(v => JSON.stringify(v)))}`,
      }
    case 'format': {
      const [type, what] = FORMAT_NAMES[String(params.format)] ?? ['value_error', `of the format ${params.format}`]
      return { type, msg: `Input should be ${what}` }
    }
    case 'pattern':
      return { type: 'string_pattern_mismatch', msg: `String should match pattern '${params.pattern}'` }
    case 'multipleOf':
      return { type: 'multiple_of', msg: `Input should be a multiple of ${params.multipleOf}` }
    case 'uniqueItems':
      return {
        type: 'unique_items',
        msg: `Items ${params.j} and ${params.i} are the same, and each item should be given once`,
      }
    default:
      return { type: 'value_error', msg: `Value error, ${error.message ?? `the rule ${keyword} is broken`}` }
  }
}

function toTypeMeaning(expected: string[], value: unknown): Meaning {
  const types = expected.filter(type => type !== 'null' || expected.length === 1)
  const names = types.map(type => TYPE_NAMES[type] ?? ['value_error', type])
  const msg = `Input should be ${listOf([...new Set(names.map(([, what]) => what))])}`
  const isFraction = types.includes('integer') && typeof value === 'number'
  return {
    type: isFraction ? 'int_from_float' : names[0]![0],
    msg: isFraction ? `${msg}, got a number with a fraction` : msg,
  }
}

/** a, b or c. */
function listOf(items: string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
}

function plural(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`
}
