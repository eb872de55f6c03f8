import type { FastifyInstance } from 'fastify'

/** What browsers may read and send besides the safelisted headers (Fetch standard, section 3.2). */
const EXPOSED = 'x-request-id, retry-after, content-range, etag'
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const MAX_AGE_SECONDS = '600'

/** Answers preflights and marks replies for the origins of the setting; with none (the default) no header is ever added. */
export function registerCors(fastify: FastifyInstance, origins: string[]): void {
  if (origins.length === 0) return
  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (!origin || !(origins.includes(origin) || origins.includes('*'))) return
    reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED)
    if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return
    await reply
      .header('access-control-allow-methods', ALLOWED_METHODS)
      .header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '')
      .header('access-control-max-age', MAX_AGE_SECONDS)
      .code(204)
      .send()
  })
}
