import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { validateDelivery } from '../../src/contract/conform-delivery.ts'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  body: Buffer
  json: unknown
}

export interface Receiver {
  url: string
  port: number
  received: Received[]
  close(): Promise<void>
}

export type Answer = (received: Received, response: ServerResponse) => void

/** An endpoint on this machine. Each delivery that it gets is judged by the contract. */
export async function startReceiver(
  answer: Answer = (_received, response) => response.end('ok'),
  host = '127.0.0.1',
): Promise<Receiver> {
  const received: Received[] = []
  return startServer(host, received, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const faults = validateDelivery(request.headers, body.toString('utf8'))
    if (faults.length > 0) throw new Error(`A delivery breaks the contract: ${JSON.stringify(faults)}`)
    const { method = '', url = '', headers, rawHeaders } = request
    const one = { method, path: url, headers, rawHeaders, body, json: JSON.parse(body.toString('utf8')) }
    received.push(one)
    answer(one, response)
  })
}

async function startServer(host: string, received: Received[], listener: RequestListener): Promise<Receiver> {
  const server = createServer(listener)
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket))
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    received,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
