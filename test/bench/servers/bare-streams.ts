/** What our streams are compared with: node:http that writes the frames that ours does, made beforehand, one at each tick. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { nextTick } from './tick.ts'

const opening = toFrame({ role: 'assistant', content: '' }, null)
const token = toFrame({ content: 'ok' }, null)
const last = toFrame({ content: '' }, 'length')

const server = createServer(async (request, response) => {
  const { max_completion_tokens: tokens } = (await json(request)) as { max_completion_tokens: number }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(opening)
  for (let count = 0; count < tokens; count++) {
    await nextTick()
    response.write(token)
  }
  response.write(last)
  response.end('data: [DONE]\n\n')
})
server.listen(Number(process.env['PORT']), '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))

function toFrame(delta: object, finish_reason: string | null): string {
  const choice = { index: 0, delta, logprobs: null, finish_reason, stop_reason: null, token_ids: null }
  const frame = {
    id: 'chatcmpl-00000000-0000-0000-0000-000000000000',
    created: 1_700_000_000,
    model: 'tiny-chat',
    object: 'chat.completion.chunk',
    system_fingerprint: null,
    choices: [choice],
  }
  return `data: ${JSON.stringify(frame)}\n\n`
}
