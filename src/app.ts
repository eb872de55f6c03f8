import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { v4 as randomUuid } from 'uuid'
import { NO_BODY, type ReadBody, readJsonBody, removeSpool, requireMediaType, toRaw } from './body.ts'
import type { Settings } from './config.ts'
import type { Context, Service } from './context.ts'
import { registerCors } from './cors.ts'
import { busy, invalid, notFound, toApiError, unavailable } from './errors.ts'
import { formParts, registerFormParser } from './form.ts'
import { handlers as ownHandlers } from './handlers/index.ts'
import { registerPages } from './pages.ts'
import { unknownRoute } from './routes.ts'
import { sendReply } from './send-reply.ts'
import { type Operation, operations } from './spec/document.ts'
import type { Handler, Handlers, OperationId } from './spec/handler.ts'
import { validateRequest } from './spec/validate.ts'
import type { Principal } from './storage/keys.ts'

const PROJECT_HEADER = 'vendor-project'
const REQUEST_ID = /^[\w.-]{1,128}$/
/** Time to receive the head and the whole of a request, in milliseconds: a large upload takes its time. */
const HEADERS_TIMEOUT_MS = 30_000
/** Characters of one part of a path, decoded: more than any name or file path of the contract has. */
const MAX_PARAMETER_LENGTH = 1024
const REQUEST_TIMEOUT_MS = 30 * 60_000

export interface App {
  fastify: FastifyInstance
  /** From now on every new request is answered 503; those that run go on. */
  drain(): void
}

/**
 * The service over HTTP: each operation of the contract is a route. What happens to a request, with the status of each way out:
 *
 *   route (404, 405) ▶ room (429, 503) ▶ credentials (401) ▶ body (413, 415) ▶ parameters and body (422)
 *   ▶ handlers[operationId] (400, 403, 404, 422, 429) ▶ JSON, events or bytes (200); anything unforeseen is 500, a full disk 503
 *
 * Tests may replace handlers, to inject faults.
 */
export async function createApp(service: Service, handlers: Handlers = ownHandlers): Promise<App> {
  const { settings, log } = service
  const fastify: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One logger for all requests: lines that need the request's id say it, and most requests have one line.
    childLoggerFactory: logger => logger,
    logController: new LogController({ disableRequestLogging: true }),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    genReqId: request => toRequestId(request.headers['x-request-id']),
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH, ignoreDuplicateSlashes: false },
    // A path that cannot be decoded, or with an overlong part: no route can be found for it.
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      sendError(notFound(`The path ${request.url}`, 'unknown_path'), request, reply)
    },
  })
  let draining = false
  readBodiesOurselves(fastify)
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  registerCors(fastify, settings.corsOrigins)
  fastify.addHook('onRequest', (_request, _reply, done) => {
    done(draining ? unavailable('The service is shutting down') : undefined)
  })
  fastify.setErrorHandler((error, request, reply) => {
    // Fastify judges the content type of methods that take a body before it looks whether the route is there.
    const isLost = (error as { code?: string }).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE'
    return sendError(isLost ? unknownRoute(request.method, request.url, settings.basePath) : error, request, reply)
  })
  fastify.setNotFoundHandler(request => {
    throw unknownRoute(request.method, request.url, settings.basePath)
  })
  await fastify.register(
    async scope => {
      const limiter = new ConcurrencyLimit(settings.maxConcurrentRequests)
      const register = (on: FastifyInstance, operation: Operation) =>
        registerOperation(on, operation, service, handlers, limiter)
      for (const operation of operations) if (!takesForm(operation)) register(scope, operation)
      // In a scope of their own, since the parser adds four hooks to each request.
      await scope.register(async forms => {
        await registerFormParser(forms, settings)
        for (const operation of operations) if (takesForm(operation)) register(forms, operation)
      })
      registerPages(scope, service)
    },
    { prefix: settings.basePath },
  )
  return { fastify, drain: () => (draining = true) }
}

function registerOperation(
  fastify: FastifyInstance,
  operation: Operation,
  service: Service,
  handlers: Handlers,
  limiter: ConcurrencyLimit,
): void {
  const { operationId, method, security } = operation
  const handle = handlers[operationId as OperationId] as Handler<OperationId>
  // Holds only what is put into it below: looking for secrets in each line would cost more than the line.
  const accessLog = service.log.child({}, { redact: [] })
  fastify.route({
    method,
    url: toRoute(operation),
    config: { operationId },
    onRequest: async (request, reply) => {
      // Fastify would judge the media type of a body that nobody reads.
      if (!operation.requestBody) delete request.raw.headers['content-type']
      // Before the body is read: nobody spools a body without a key.
      const { authorization } = request.headers
      const principal = security.length > 0 ? await service.authenticator.authenticate(authorization, security) : null
      request.principal = principal
      const leave = limiter.enter(principal?.keyId ?? request.ip)
      const abort = new AbortController()
      request.clientGone = abort.signal
      // Comes at the end of every reply, and where the client goes away before it, when onResponse does not.
      reply.raw.once('close', () => {
        leave()
        if (reply.raw.writableFinished) return
        abort.abort()
        request.log.info({ requestId: request.id, operationId }, 'the client went away')
      })
    },
    onResponse: (request, reply, done) => {
      const seconds = reply.elapsedTime / 1000
      service.metrics.observeRequest(operationId, reply.statusCode, seconds)
      const { id: requestId, principal } = request
      accessLog.info({ requestId, operationId, status: reply.statusCode, seconds, user: principal?.user }, 'answered')
      done()
    },
    handler: async (request, reply) => {
      const read = await readBody(request, operation, service)
      try {
        const input = toInput(request, operation, read, service.settings)
        const answer = await handle(input as never, createContext(service, request))
        return await sendReply(answer, operation, request, reply, service)
      } finally {
        if (read.raw.file) await removeSpool(read.raw.file)
      }
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until a key was checked, and where none is needed. */
    principal: Principal | null
    /** Aborted when the client goes away before the reply is complete. */
    clientGone: AbortSignal
  }
  interface FastifyContextConfig {
    operationId?: string
  }
}

/** Fastify would read bodies whole into memory; body.ts reads them from the request itself. */
function readBodiesOurselves(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers()
  // JSON by name too: Fastify remembers parsers that it need not search for.
  fastify.addContentTypeParser(['application/json', '*'], (_request, _payload, done) => done(null, undefined))
}

function takesForm({ requestBody }: Operation): boolean {
  return requestBody?.content.has('multipart/form-data') === true
}

async function readBody(
  request: FastifyRequest,
  operation: Operation,
  { settings, bodies }: Service,
): Promise<ReadBody> {
  if (!operation.requestBody) return NO_BODY
  if (!takesForm(operation)) return readJsonBody(request.raw, operation, settings, bodies)
  requireMediaType(request.raw, operation)
  return { ...NO_BODY, raw: toRaw({ form: () => formParts(request) }) }
}

function toInput(
  request: FastifyRequest,
  operation: Operation,
  { parsed, raw, validated }: ReadBody,
  settings: Settings,
) {
  if (!parsed.ok) throw invalid(parsed.detail)
  const path = toPath(request.params as Record<string, string>)
  const query = request.query as Record<string, string | string[]>
  const input = { path, query, headers: toHeaders(request.headers, settings), body: parsed.value }
  const result = validateRequest(operation, input, { bodyJudged: validated })
  if (!result.ok) throw invalid(result.detail)
  return { ...result.value, body: parsed.value, raw }
}

/** The contract's name of the project header stands for the deployment's own. */
function toHeaders(headers: FastifyRequest['headers'], { vendor }: Settings): FastifyRequest['headers'] {
  const name = `${vendor.toLowerCase()}-project`
  return name === PROJECT_HEADER ? headers : { ...headers, [PROJECT_HEADER]: headers[name] }
}

/** The parameter `path` of files may hold slashes: it is the route's wildcard. */
function toRoute({ path }: Operation): string {
  return path.replace(/\{path\}$/, '*').replace(/\{(\w+)\}/g, ':$1')
}

function toPath({ '*': path, ...params }: Record<string, string>): Record<string, string> {
  return path === undefined ? params : { ...params, path }
}

function createContext(service: Service, request: FastifyRequest): Context {
  const { principal, id, clientGone, headers } = request
  const isRequestIdSent = headers['x-request-id'] === id
  return { ...service, principal: principal!, requestId: id, isRequestIdSent, signal: clientGone }
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = toApiError(error)
  const { operationId } = request.routeOptions.config
  // Whoever went away gets no answer: what broke is their connection.
  if (answer.status >= 500 && !reply.raw.destroyed)
    request.log.error({ requestId: request.id, operationId, error }, 'failed to answer')
  // What is still to come of the body must not stand in the way of the connection's next request.
  request.raw.unpipe().resume()
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .type('application/json')
    .send(JSON.stringify(answer.toBody()))
}

function toRequestId(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUuid()
}

/** Requests under way by caller: a key, or an address where none is needed. */
class ConcurrencyLimit {
  #most: number
  #counts = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes a place and gives the function that frees it. Throws 429. */
  enter(caller: string): () => void {
    const count = this.#counts.get(caller) ?? 0
    if (count >= this.#most) throw busy(`At most ${this.#most} requests may run at once`)
    this.#counts.set(caller, count + 1)
    return () => {
      const left = this.#counts.get(caller)! - 1
      if (left > 0) this.#counts.set(caller, left)
      else this.#counts.delete(caller)
    }
  }
}
