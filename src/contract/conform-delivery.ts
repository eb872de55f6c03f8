/** Deliveries judged by the contract, from the receiver's side: the headers and the body of its `webhooks` entry. */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { ValidationDetail } from '../errors.ts'
import { deliveryOperation } from '../spec/document.ts'
import { validateRequest } from '../spec/validate.ts'
import { readLexemes } from './json-lexemes.ts'

/** The header that holds the signature, whose name has the vendor's in it. */
const SIGNATURE = /^x-.*-signature$/
const DECLARED_SIGNATURE = 'x-vendor-signature'

/** What is wrong with a delivery as it was received; nothing when it keeps to the contract. */
export function validateDelivery(headers: IncomingHttpHeaders, bodyText: string): ValidationDetail[] {
  const body = parseJson(bodyText)
  if (body === undefined) return [{ loc: ['body'], msg: `It is not JSON: ${bodyText}`, type: 'json_invalid' }]
  const named = { ...headers, [DECLARED_SIGNATURE]: signatureOf(headers) }
  const input = { path: {}, query: {}, headers: named, body }
  const result = validateRequest(deliveryOperation, input, { bodyJudged: false })
  const twice = readLexemes(bodyText).duplicates.map(at => ({
    loc: ['body', ...at.split('/').slice(1)],
    msg: 'The key is given twice',
    type: 'duplicate_key',
  }))
  return [...(result.ok ? [] : result.detail), ...twice]
}

/** The same of the very bytes. */
export function validateDeliveryBytes(headers: IncomingHttpHeaders, bytes: Buffer): ValidationDetail[] {
  const utf8 = isUtf8(bytes) ? [] : [{ loc: ['body'], msg: 'It is not valid UTF-8', type: 'encoding' }]
  return [...utf8, ...validateDelivery(headers, bytes.toString('utf8'))]
}

/** The value of the `X-<Vendor>-Signature` header; undefined without one. */
export function signatureOf(headers: IncomingHttpHeaders): string | undefined {
  const values = Object.entries(headers).find(([name]) => SIGNATURE.test(name))?.[1]
  return Array.isArray(values) ? values.join(', ') : values
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
