import { createReadStream } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { Service } from './context.ts'
import { ensureDocs } from './generate/docs.ts'
import { documentPath } from './spec/document.ts'

/** What stands beside the contract and is no operation of it: the docs page, the document, metrics, and the way there from `/`. */
export function registerPages(fastify: FastifyInstance, { metrics, authenticator }: Service): void {
  // Relative, since a proxy may strip a prefix; of a prefix without a slash at its end, the last name counts as a file's.
  fastify.get('/', async (request, reply) => {
    const last = /([^/]*)$/.exec(request.url.split('?')[0]!)![1]!
    return reply.redirect(last === '' ? './docs' : `./${last}/docs`)
  })
  fastify.get('/docs', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(createReadStream(await ensureDocs())),
  )
  fastify.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json').send(createReadStream(documentPath)),
  )
  fastify.get('/metrics', async (request, reply) => {
    await authenticator.authenticate(request.headers.authorization, ['bearer', 'basic'])
    const { contentType, text } = await metrics.render()
    return reply.type(contentType).send(text)
  })
}
