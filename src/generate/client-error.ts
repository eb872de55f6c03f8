/** One broken rule of a 422: where (`loc`, from the outside in), what (`msg`), and the rule as a word (`type`). */
export type ValidationDetail = { loc: string[]; msg: string; type: string }
/** The `error` of an error body, as OpenAI clients read it. */
export type ErrorDetail = { message: string; type: string; param: string | null; code: string | null }

/**
 * A reply that is not a success, or an error that arrived inside a stream.
 *
 * `detail` and `error` are those of the contract's error body. They are null when the reply had another body, such as a
 * page of a proxy in between; the message then holds the beginning of it.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly operationId: string
  /** The HTTP status; 200 for an error inside a stream that had begun well. */
  readonly status: number
  /** Text, or the broken rules when the status is 422. */
  readonly detail: string | ValidationDetail[] | null
  readonly error: ErrorDetail | null
  /** The whole body: parsed when it was JSON, else text. */
  readonly body: unknown
  /** The `x-request-id` of the reply: quote it when asking about a failure. */
  readonly requestId: string | null
  /** Seconds after which a 429 or 503 asks to be tried again, or null. */
  readonly retryAfterSeconds: number | null

  constructor(operationId: string, response: Response, body: unknown) {
    const { detail, error } = fromErrorBody(body)
    super(`${operationId}: ${response.status} ${error?.message ?? toExcerpt(body)}`.trimEnd())
    this.operationId = operationId
    this.status = response.status
    this.detail = detail
    this.error = error
    this.body = body
    this.requestId = response.headers.get('x-request-id')
    this.retryAfterSeconds = toSeconds(response.headers.get('retry-after'))
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const fromErrorBody = (body: unknown): Pick<ApiError, 'detail' | 'error'> => {
  if (!isRecord(body)) return { detail: null, error: null }
  const { detail, error } = body
  return {
    detail: typeof detail === 'string' || Array.isArray(detail) ? detail : null,
    error: isRecord(error) && typeof error.message === 'string' ? toErrorDetail(error) : null,
  }
}

const toErrorDetail = (error: Record<string, unknown>): ErrorDetail => {
  const textOrNull = (value: unknown) => (value === undefined || value === null ? null : String(value))
  const { message, type, param, code } = error
  return { message: String(message), type: String(type), param: textOrNull(param), code: textOrNull(code) }
}

const excerptCharacters = 200
const toExcerpt = (body: unknown) =>
  body === undefined ? '' : (typeof body === 'string' ? body : (JSON.stringify(body) ?? '')).slice(0, excerptCharacters)

const toSeconds = (header: string | null) => (header && /^\d+$/.test(header) ? Number(header) : null)
