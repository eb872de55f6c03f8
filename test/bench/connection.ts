import { connect, type Socket } from 'node:net'

/**
 * One HTTP/1.1 connection that is kept open and sends requests made beforehand, one at a time. It understands only replies
 * with a content-length, and costs a fraction of a client library, so that the load does not measure itself.
 */
export class Connection {
  #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #settle: { resolve: (status: number) => void; reject: (error: Error) => void } | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', error => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed the connection')))
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Connection(socket.off('error', reject))))
    })
  }

  /** Resolves with the reply's status once the whole reply is there. */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#settle = null
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (!length) {
      this.#fail(new Error(`The reply has no content-length:\n${head}`))
      return
    }
    if (this.#received.length < headEnd + 4 + Number(length[1])) return
    this.#received = Buffer.alloc(0)
    const settle = this.#settle
    this.#settle = null
    settle?.resolve(Number(head.slice(9, 12)))
  }

  #fail(error: Error): void {
    this.#settle?.reject(error)
    this.#settle = null
    this.#socket.destroy()
  }
}

/** A request as the bytes that go over the wire. */
export function toRequest(
  method: string,
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
): Buffer {
  const { host, pathname } = new URL(url)
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host,
    ...headers,
    ...(text ? { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) } : {}),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
}
