/** The endpoint of webhooks that a run has of its own: it takes down what arrives, byte for byte, and answers as a check wants. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Receiver } from './target.ts'

export interface Arrival {
  method: string
  headers: IncomingHttpHeaders
  body: Buffer
  /** When its last byte was there, in Unix milliseconds. */
  at: number
}

export interface EndpointReply {
  /** Null: the connection is closed without an answer. */
  status: number | null
  headers?: Record<string, string | string[]>
  body?: string
}

/** What the arrival of a number, counted from 1, is answered with. */
export type AnswerOf = (number: number, arrival: Arrival) => EndpointReply

/** One address, and what arrived there. */
export interface Inbox {
  url: string
  arrivals: readonly Arrival[]
}

export interface DeliveryReceiver {
  open(answer?: AnswerOf): Inbox
  close(): Promise<void>
}

const LOOPBACK = '127.0.0.1'
/** An address behind which a tunnel or a proxy of this machine may stand just as well. */
const ANY_ADDRESS = '0.0.0.0'
const TAKEN: EndpointReply = { status: 200, body: 'taken' }
/** Larger bodies are cut off: a payload has at most 64 KiB, and 1 MiB may be substituted in it. In bytes. */
const LARGEST_BODY = 4 * 1024 * 1024

/** Throws where the port cannot be had. */
export async function createReceiver({ publicUrl, port }: Receiver): Promise<DeliveryReceiver> {
  const inboxes = new Map<string, { arrivals: Arrival[]; answer: AnswerOf }>()
  const server = createServer((request, response) => {
    // Whatever stands before the name is the public address's own.
    const inbox = inboxes.get(request.url?.split('/').at(-1) ?? '')
    if (!inbox) return void response.writeHead(404).end()
    readBody(request).then(
      body => {
        const arrival = { method: request.method ?? '', headers: request.headers, body, at: Date.now() }
        inbox.arrivals.push(arrival)
        reply(response, inbox.answer(inbox.arrivals.length, arrival))
      },
      // It was left before its end: nothing has arrived.
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, publicUrl === null ? LOOPBACK : ANY_ADDRESS, resolve)
  })
  // A check that never ends must not keep the run alive.
  server.unref()
  const base = publicUrl ?? `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
  return {
    open(answer = () => TAKEN) {
      const name = randomBytes(12).toString('hex')
      const inbox = { arrivals: [] as Arrival[], answer }
      inboxes.set(name, inbox)
      return { url: `${base.replace(/\/+$/, '')}/${name}`, arrivals: inbox.arrivals }
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Between two looks, in milliseconds. */
const LOOK_MS = 10

/** Whether it comes true within the time. */
export async function comesTrue(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  for (;;) {
    if (await isTrue()) return true
    if (performance.now() > end) return false
    await sleep(LOOK_MS)
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > LARGEST_BODY) throw new Error(`A delivery has more than ${LARGEST_BODY} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function reply(response: ServerResponse, { status, headers = {}, body = '' }: EndpointReply): void {
  if (status === null) response.destroy()
  else response.writeHead(status, headers).end(body)
}
