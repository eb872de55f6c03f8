/** What is kept of an exchange for the reports: no credentials, and no more of a body than a reader looks at. */
import type { Exchange } from './conforming-fetch.ts'
import { redact, redactHeaders } from './redact.ts'

export interface KeptExchange {
  /** Null: the path and method belong to no operation. */
  operationId: string | null
  method: string
  url: string
  status: number
  requestHeaders: Record<string, string>
  /** Null for none, and for forms. */
  requestBody: string | null
  replyHeaders: Record<string, string>
  replyBody: string
  /** What is wrong with the reply. */
  violations: string[]
}

/** Of a body, in characters. */
const KEPT_LENGTH = 4000

export function toKeptExchange(exchange: Exchange): KeptExchange {
  const { operation, method, url, status, requestHeaders, requestBody, replyHeaders, replyBody, violations } = exchange
  return {
    operationId: operation?.operationId ?? null,
    method,
    url: redact(url),
    status,
    requestHeaders: redactHeaders(requestHeaders),
    requestBody: requestBody === null ? null : cut(redact(requestBody)),
    replyHeaders: redactHeaders(replyHeaders),
    replyBody: cut(redact(replyBody)),
    violations: violations.map(({ message }) => redact(message)),
  }
}

/** Redacted before it is cut: half a secret is still one. */
function cut(text: string): string {
  return text.length > KEPT_LENGTH ? `${text.slice(0, KEPT_LENGTH)}… (${text.length} characters)` : text
}
