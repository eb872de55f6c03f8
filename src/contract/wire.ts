/** A reply as bytes and headers, before it is taken for JSON or anything else: what HTTP and UTF-8 ask of it. */
import { isUtf8 } from 'node:buffer'
import { ON_THE_WIRE } from './check-lexemes.ts'
import type { Violation } from './conform.ts'
import { findHeaderFaults } from './header-syntax.ts'

export interface WireReply {
  /** Of the request, in upper case. */
  method: string
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** As they are after any content encoding was undone. */
  bytes: Uint8Array
}

const BODILESS = new Set([204, 304])
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]
const TEXT_TYPES = /^(?:application\/json|text\/event-stream|[^;]+\+json)$/

export function checkWire({ method, status, headers, bytes }: WireReply): Violation[] {
  const violations: Violation[] = findHeaderFaults(headers).map(({ message }) => toViolation('header-syntax', message))
  const add = (rule: Violation['rule'], message: string) => violations.push(toViolation(rule, message))
  const length = headers['content-length']
  if (method === 'HEAD' || BODILESS.has(status)) {
    if (bytes.length > 0) add('no-body', `a body of ${bytes.length} bytes came where there can be none`)
    if (status === 204 && length !== undefined) add('header-syntax', 'a reply without a body has a content-length')
    return violations
  }
  if (length !== undefined && headers['content-encoding'] === undefined && Number(length) !== bytes.length)
    add('header-syntax', `the content-length is ${length}, the body has ${bytes.length} bytes`)
  return [...violations, ...checkText(headers['content-type'] ?? '', bytes)]
}

function checkText(contentType: string, bytes: Uint8Array): Violation[] {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  if (!TEXT_TYPES.test(type.trim())) return []
  const violations: Violation[] = []
  const add = (message: string) => violations.push(toViolation('encoding', message))
  const charset = parameters.map(one => one.trim()).find(one => one.startsWith('charset='))
  if (charset !== undefined && charset.slice('charset='.length).replaceAll('"', '') !== 'utf-8')
    add(`the charset is not utf-8: ${contentType}`)
  if (!isUtf8(bytes)) add('the body is not valid UTF-8')
  if (type.trim() !== 'text/event-stream' && BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte))
    add('the body begins with a byte order mark')
  return violations
}

function toViolation(rule: Violation['rule'], message: string): Violation {
  return { rule, message, pointer: ON_THE_WIRE, instancePath: '' }
}
