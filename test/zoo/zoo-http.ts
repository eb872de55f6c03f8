/** Messages of node:http in the form that faults see them. */
import type http from 'node:http'
import type { ZooReply } from './fault.ts'

/** Headers of one connection, which are not passed on (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const BODILESS = new Set([204, 304])

export function plainHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => value !== undefined && !HOP_BY_HOP.has(name))
      .map(([name, value]) => [name, [value].flat().join(', ')]),
  )
}

export async function readWhole(message: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

export function toHead(response: http.IncomingMessage): ZooReply {
  return { status: response.statusCode ?? 0, headers: plainHeaders(response.headers), body: Buffer.alloc(0) }
}

export async function toZooReply(response: http.IncomingMessage): Promise<ZooReply> {
  return { ...toHead(response), body: await readWhole(response) }
}

/** Sends the body's own length, except for HEAD, whose reply has the length that a body would have. */
export function sendReply(outgoing: http.ServerResponse, { status, headers, body }: ZooReply, method: string): void {
  const given = Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined)
  const kept = method === 'HEAD' ? given : given.filter(([name]) => name !== 'content-length')
  for (const [name, value] of kept) outgoing.setHeader(name, value)
  const hasBody = method !== 'HEAD' && !BODILESS.has(status)
  if (hasBody) outgoing.setHeader('content-length', body.length)
  outgoing.writeHead(status)
  outgoing.end(hasBody ? body : undefined)
}
