import type { components } from '../generated/schema.d.ts'

export type ErrorBody = components['schemas']['ErrorBody'] | components['schemas']['ValidationErrorBody']
export type ValidationDetail = components['schemas']['ValidationDetail']

/** Most entries of a 422's `detail`: a faulty body of megabytes must not become an answer of megabytes. */
const MAX_DETAIL_ENTRIES = 100

const TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  416: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
} as const

export type ErrorStatus = keyof typeof TYPES

/** An answer other than 200, thrown anywhere below a handler; app.ts turns it into the declared error body. */
export class ApiError extends Error {
  override name = 'ApiError' as const
  status: ErrorStatus
  /** A word for programs, such as `model_not_found`. */
  code: string
  param: string | null
  detail: ValidationDetail[] | null
  headers: Record<string, string>

  constructor(
    status: ErrorStatus,
    code: string,
    message: string,
    more: { param?: string | undefined; detail?: ValidationDetail[]; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.param = more.param ?? null
    this.detail = more.detail ?? null
    this.headers = more.headers ?? {}
  }

  toBody(): ErrorBody {
    const error = { message: this.message, type: TYPES[this.status], param: this.param, code: this.code }
    return { detail: this.detail ?? this.message, error } as ErrorBody
  }
}

/** 422 for one or more faulty values; `error.message` repeats the first so that SDKs which read only `error` show it. */
export function invalid(detail: ValidationDetail[]): ApiError {
  const first = detail[0]!
  return new ApiError(422, first.type, `${first.loc.join('.')}: ${first.msg}`, {
    param: first.loc.slice(1).join('.') || first.loc[0],
    detail: detail.slice(0, MAX_DETAIL_ENTRIES),
  })
}

/** 422 for one faulty value. */
export function invalidValue(loc: string[], msg: string, type = 'value_error'): ApiError {
  return invalid([{ loc, msg, type }])
}

export function notFound(what: string, code = 'not_found', param?: string): ApiError {
  return new ApiError(404, code, `${what} does not exist`, { param })
}

const RETRY_AFTER_SECONDS = '2'

export function busy(message: string): ApiError {
  return new ApiError(429, 'rate_limit_exceeded', message, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })
}

export function unavailable(message: string): ApiError {
  return new ApiError(503, 'service_unavailable', message, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })
}

/** Where the disk has no room: SQLite's own code, and the system's. */
const DISK_FULL = /SQLITE_FULL|ENOSPC|EDQUOT|database or disk is full|disk I\/O error/

export function isDiskFull(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  return DISK_FULL.test(`${code} ${message}`)
}

/** Any thrown value as an ApiError: a full disk is 503, everything unknown is 500 with no inner detail. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  // Fastify's own word for a Content-Type header that is no media type.
  if ((error as { code?: string } | null)?.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ApiError(415, 'unsupported_media_type', 'The Content-Type is malformed')
  }
  if (isDiskFull(error)) return unavailable('The disk is full: nothing was changed, try again later')
  return new ApiError(500, 'internal_error', 'The server failed to answer; the request id is in its log')
}
