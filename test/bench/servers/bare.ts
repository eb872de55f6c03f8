/**
 * What our server is compared with: Fastify with handlers of one line. `/parse` only parses its JSON body and answers a
 * completion that never changes, so that as much goes over the wire; `/commit` commits one row with the body to the kind of
 * database that ours uses, as durably.
 */
import { join } from 'node:path'
import Fastify from 'fastify'

const BODY_LIMIT_BYTES = 256 * 1024 * 1024
const { DATA_DIR = '.', PORT = '0', COMMIT } = process.env

const message = { role: 'assistant', content: 'ok', refusal: null, annotations: null, audio: null, tool_calls: null }
const completion = {
  id: 'chatcmpl-00000000-0000-0000-0000-000000000000',
  object: 'chat.completion',
  created: 0,
  model: 'tiny-chat',
  choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop', stop_reason: null, token_ids: null }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4, prompt_tokens_details: null },
}

const fastify = Fastify({ bodyLimit: BODY_LIMIT_BYTES })
fastify.get('/v1/health', async () => ({ status: 'ok' }))
fastify.post('/parse', async () => completion)
if (COMMIT) {
  const insert = await prepareInsert(join(DATA_DIR, 'bare.sqlite'))
  fastify.post('/commit', async request => ({ id: insert(JSON.stringify(request.body)) }))
}
const address = await fastify.listen({ host: '127.0.0.1', port: Number(PORT) })
process.stderr.write(`${address}\n`)
process.once('SIGTERM', () => fastify.close().then(() => process.exit(0)))

async function prepareInsert(file: string): Promise<(body: string) => string> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file)
  database.exec(
    'pragma journal_mode = wal; pragma synchronous = full; create table jobs (id text primary key, body text not null)',
  )
  const statement = database.prepare('insert into jobs values (?, ?)')
  return body => {
    const id = crypto.randomUUID()
    statement.run(id, body)
    return id
  }
}
