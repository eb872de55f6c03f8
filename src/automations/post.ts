import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { ForbiddenEndpointError } from './endpoint-guard.ts'

export interface Post {
  url: string
  headers: Record<string, string>
  body: Buffer
}

/** What came of one request. `status`, `headers` and `body` are null together: no answer came, and `failure` says why. */
export interface Answer {
  status: number | null
  headers: Record<string, string> | null
  /** At most as much as was to be kept. */
  body: Buffer | null
  failure: string | null
  durationMs: number
}

/**
 * Sends one request and reads its answer up to `keepBytes` and for at most `timeoutMs`, counted from the start of the connection.
 * Once its head is there the answer counts, however the body ends. Never throws; an aborted signal is a failure too.
 */
export function post(
  dispatcher: Dispatcher,
  { url, headers, body }: Post,
  { timeoutMs, keepBytes, signal }: { timeoutMs: number; keepBytes: number; signal: AbortSignal },
): Promise<Answer> {
  return new Promise(resolve => {
    const start = performance.now()
    const chunks: Buffer[] = []
    let room = keepBytes
    let head: { status: number; headers: Record<string, string> } | null = null
    let abortRequest: (() => void) | null = null
    let settled = false

    const settle = (failure: string | null) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      abortRequest?.()
      const durationMs = performance.now() - start
      if (head) resolve({ ...head, body: Buffer.concat(chunks), failure: null, durationMs })
      else resolve({ status: null, headers: null, body: null, failure, durationMs })
    }
    const timer = setTimeout(() => settle(`No answer came within ${timeoutMs / 1000} s`), timeoutMs)
    const onAbort = () => settle('The server stopped')
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) return onAbort()

    const { origin, pathname, search } = new URL(url)
    dispatcher.dispatch(
      { origin, path: pathname + search, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(controller) {
          abortRequest = () => controller.abort(new Error('nothing more is read of the answer'))
          if (settled) abortRequest()
        },
        onResponseStart(_controller, status, received) {
          // 1XX only announces the answer.
          if (status >= 200) head = { status, headers: toHeaders(received) }
        },
        onResponseData(_controller, chunk) {
          if (settled) return
          chunks.push(chunk.subarray(0, room))
          room -= chunk.length
          if (room <= 0) settle(null)
        },
        onResponseEnd() {
          abortRequest = null
          settle(null)
        },
        onResponseError(_controller, error) {
          abortRequest = null
          settle(toFailure(error, url))
        },
      },
    )
  })
}

function toHeaders(received: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(received).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

const FAILURES: Record<string, string> = {
  ECONNREFUSED: 'The endpoint refused the connection',
  ECONNRESET: 'The endpoint closed the connection before it answered',
  UND_ERR_SOCKET: 'The endpoint closed the connection before it answered',
  UND_ERR_CONNECT_TIMEOUT: 'The endpoint could not be reached in time',
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer are too large',
  EAI_AGAIN: 'The host name cannot be looked up now',
}

/** In words for whoever set the webhook up, with no more about the network than they need. */
function toFailure(error: Error & { code?: string }, url: string): string {
  if (error instanceof ForbiddenEndpointError) return error.message
  if (error.code === 'ENOTFOUND') return `The host name ${new URL(url).hostname} does not exist`
  return FAILURES[error.code ?? ''] ?? (error.message || error.code || 'The request failed')
}
