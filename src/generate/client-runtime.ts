import { createParser } from 'eventsource-parser'
import createFetchClient, { type Middleware } from 'openapi-fetch'
import { ApiError } from './client-error.ts'
import { toMultipart } from './client-multipart.ts'
import type { RequestOptions } from './client-types.ts'

export type ClientSettings = {
  /** Address of the service, any path prefix included; an inference address goes in without its final `/v1`. */
  baseUrl: string
  /** Sent as a Bearer token, or as the password of Basic authentication where an operation takes only that. */
  apiKey?: string
  /** Used instead of the global `fetch`, for instance to answer in memory. */
  fetch?: (request: Request) => Promise<Response>
  /** Sent with every request. */
  headers?: Record<string, string>
  /** openapi-fetch middleware: sees every request and every response. */
  middleware?: Middleware[]
}

/**
 * What the generated client knows about an operation. `path` and `query` name parameters; the other input is the body:
 * its fields (`json`, `multipart`), or the whole of it in the field `body` (`value`).
 */
export type OperationPlan = {
  id: string
  method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head' | 'options'
  route: string
  path: readonly string[]
  query: readonly string[]
  body: 'json' | 'value' | 'multipart' | 'none'
  /** Whether a body is sent even when the input has nothing for it. */
  bodyRequired: boolean
  /** Fields of a multipart body that hold files. */
  files: readonly string[]
  security: 'bearer' | 'basic' | 'none'
}

type Input = Record<string, unknown>
type Page = { data: { id: string }[]; last_id: string | null; has_more: boolean }
type Call = (
  method: string,
  route: string,
  init: Record<string, unknown>,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>

const doneMark = '[DONE]'
const basicUsername = 'api'

/** The part of the client that does not depend on the contract: makes requests out of plans, and values out of replies. */
export const createRuntime = (settings: ClientSettings) => {
  const { baseUrl, fetch, headers } = settings
  const core = createFetchClient({ baseUrl, headers, ...(fetch && { fetch }) })
  core.use(...(settings.middleware ?? []))
  // the paths are known to the generated functions, which carry the types; here any of them will do
  const call = core.request as unknown as Call

  const send = async (
    plan: OperationPlan,
    input: object,
    options: RequestOptions,
    parseAs: string,
    accept?: string,
  ) => {
    const { body, ...request } = toRequest(plan, input)
    const { data, error, response } = await call(plan.method, plan.route, {
      ...request,
      ...(body !== undefined && { body, bodySerializer: toBody }),
      parseAs,
      signal: options.signal,
      headers: {
        ...(accept && { accept }),
        ...(body instanceof Blob && { 'content-type': body.type }),
        ...toCredentials(plan, settings.apiKey),
        ...options.headers,
      },
    })
    if (!response.ok) throw new ApiError(plan.id, response, error)
    return { data, response }
  }

  return {
    /** Sends a request and returns the parsed JSON body of the reply. */
    json: async <Output>(plan: OperationPlan, input: object, options: RequestOptions = {}): Promise<Output> =>
      (await send(plan, input, options, 'json')).data as Output,

    /** Sends a request and returns the reply with its body unread. */
    response: async (plan: OperationPlan, input: object, options: RequestOptions = {}): Promise<Response> =>
      (await send(plan, input, options, 'stream')).response,

    /** Sends a request and gives the JSON of each server-sent event until `[DONE]`. */
    async *events<Event>(
      plan: OperationPlan,
      input: object,
      options: RequestOptions = {},
    ): AsyncGenerator<Event, void> {
      const { response } = await send(plan, input, options, 'stream', 'text/event-stream, application/json')
      for await (const data of readEvents(response)) {
        if (data === doneMark) return
        const event = JSON.parse(data) as Event
        if (isErrorEvent(event)) throw new ApiError(plan.id, response, event)
        yield event
      }
      throw new ApiError(plan.id, response, `the stream ended before ${doneMark}`)
    },

    /** Asks for page after page of a cursor list and gives their items. */
    async *items<Item>(plan: OperationPlan, input: object, options: RequestOptions = {}): AsyncGenerator<Item, void> {
      for (let after = (input as { after?: string }).after; ; ) {
        const { data, response } = await send(plan, { ...input, after }, options, 'json')
        const page = data as Page
        yield* page.data as Item[]
        if (!page.has_more) return
        if (!page.last_id || page.last_id === after) {
          throw new ApiError(plan.id, response, `has_more is true, but last_id (${page.last_id}) leads no further`)
        }
        after = page.last_id
      }
    },
  }
}

const toRequest = (plan: OperationPlan, input: object) => {
  const path: Input = {}
  const query: Input = {}
  const fields: Input = {}
  for (const [name, value] of Object.entries(input)) {
    const place = plan.path.includes(name) ? path : plan.query.includes(name) ? query : fields
    place[name] = value
  }
  for (const name of plan.path) refuseOutsidePath(plan.id, name, path[name])
  return { params: { path, query }, body: toBodyValue(plan, fields) }
}

/** An empty segment and those of only dots would be taken out of the address, and so lead to another operation. */
const refuseOutsidePath = (id: string, name: string, value: unknown) => {
  if (value === undefined || value === null) throw new TypeError(`${id}: the input has no ${name}`)
  if (/^\.{0,2}$/.test(String(value))) throw new TypeError(`${id}: ${name} cannot be "${value}" in a path`)
}

const toBodyValue = (plan: OperationPlan, fields: Input) => {
  const empty = Object.values(fields).every(value => value === undefined)
  if (plan.body === 'none' || (empty && !plan.bodyRequired)) return undefined
  if (plan.body === 'value') return fields.body
  return plan.body === 'multipart' ? toMultipart(fields, plan.files) : fields
}

const toBody = (body: unknown) => (body instanceof Blob ? body : JSON.stringify(body))

const toCredentials = (plan: OperationPlan, apiKey: string | undefined): Record<string, string> => {
  if (apiKey === undefined || plan.security === 'none') return {}
  if (plan.security === 'bearer') return { authorization: `Bearer ${apiKey}` }
  const bytes = new TextEncoder().encode(`${basicUsername}:${apiKey}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}

/** The `data` of each server-sent event. Leaving the loop early cancels the body and so closes the connection. */
async function* readEvents(response: Response): AsyncGenerator<string, void> {
  const ready: string[] = []
  const parser = createParser({ onEvent: event => ready.push(event.data) })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* ready.splice(0)
  }
}

const isErrorEvent = (event: unknown) =>
  typeof event === 'object' && event !== null && 'error' in event && event.error !== null
