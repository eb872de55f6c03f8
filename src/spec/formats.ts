/**
 * The formats that the contract's schemas name, checked strictly. The usual package takes 1e30 as int64, a space in a
 * date-time and urn:uuid: as a uuid; these do not.
 */

export interface StringFormat {
  type: 'string'
  validate: (text: string) => boolean
}
export interface NumberFormat {
  type: 'number'
  validate: (value: number) => boolean
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
/** RFC 3339 section 5.6; the separator is T, never a space. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))$/
/** RFC 3986: a scheme, then only characters that may stand in a URI, with whole percent escapes. */
const URI = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const URI_REFERENCE = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const EMAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/

const INT32_LIMIT = 2 ** 31
/** The largest int64 is 2^63 - 1, whose nearest double is 2^63 itself: the limit is exclusive above, inclusive below. */
const INT64_LIMIT = 2 ** 63

const string = (validate: (text: string) => boolean): StringFormat => ({ type: 'string', validate })
const number = (validate: (value: number) => boolean): NumberFormat => ({ type: 'number', validate })

export const formats: Readonly<Record<string, StringFormat | NumberFormat>> = {
  uuid: string(text => UUID.test(text)),
  date: string(isDate),
  'date-time': string(isDateTime),
  uri: string(text => URI.test(text)),
  'uri-reference': string(text => URI_REFERENCE.test(text)),
  byte: string(text => BASE64.test(text)),
  email: string(text => EMAIL.test(text)),
  binary: string(() => true),
  password: string(() => true),
  int32: number(value => Number.isInteger(value) && value >= -INT32_LIMIT && value < INT32_LIMIT),
  int64: number(value => Number.isInteger(value) && value >= -INT64_LIMIT && value < INT64_LIMIT),
  float: number(Number.isFinite),
  double: number(Number.isFinite),
}

function isDate(text: string): boolean {
  const match = DATE.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  // Day 0 of the next month is the last day of this one.
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text)
  if (!match || !isDate(match[1]!)) return false
  const [hour, minute, second] = [Number(match[2]), Number(match[3]), Number(match[4])]
  const [offsetHour, offsetMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  return hour <= 23 && minute <= 59 && second <= 60 && offsetHour <= 23 && offsetMinute <= 59
}
