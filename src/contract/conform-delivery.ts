/** Deliveries judged by the contract, from the receiver's side: the headers and the body of its `webhooks` entry. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ValidationDetail } from '../errors.ts'
import { deliveryOperation } from '../spec/document.ts'
import { validateRequest } from '../spec/validate.ts'

/** What is wrong with a delivery as it was received; nothing when it keeps to the contract. */
export function validateDelivery(headers: IncomingHttpHeaders, bodyText: string): ValidationDetail[] {
  const input = { path: {}, query: {}, headers, body: JSON.parse(bodyText) }
  const result = validateRequest(deliveryOperation, input, { bodyJudged: false })
  return result.ok ? [] : result.detail
}
