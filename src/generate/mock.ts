import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import type { OpenApiDocument } from './document.ts'
import { allowReadForms, readForm } from './mock-form.ts'
import { installedFile, packageRoot } from './package-paths.ts'
import { runScript } from './run-script.ts'

const loopback = '127.0.0.1'
const defaultPort = '4010'
const prismStartLimitMs = 60_000

export type Mock = { url: string; close: () => Promise<void> }

/**
 * Starts a mock of the contract on the loopback interface: Prism, with a proxy in front of it.
 *
 * Prism chooses the reply by the request's headers alone. The proxy reads the body as well: it asks Prism for the stream
 * when a JSON body has `stream: true`, and hands forms over in a way that Prism understands. Everything else, the
 * `Prefer` header included, goes through unchanged.
 *
 * @throws {Error} with Prism's own words when it does not start, and when the port is taken.
 */
export const startMock = async ({
  port = Number(defaultPort),
  documentFile = join(packageRoot, 'generated/openapi.json'),
}: {
  /** 0 takes any free port. */
  port?: number
  documentFile?: string
} = {}): Promise<Mock> => {
  const prism = await startPrism(documentFile)
  const server = createServer((request, response) => {
    forward(prism.url, request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy(error)
      else response.writeHead(502, { 'content-type': 'text/plain' }).end(`the mock failed: ${error.message}`)
    })
  })
  try {
    server.listen(port, loopback)
    await once(server, 'listening')
  } catch (error) {
    await prism.close()
    throw error
  }
  return {
    url: `http://${loopback}:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await prism.close()
    },
  }
}

const startPrism = async (documentFile: string): Promise<Mock> => {
  const document = JSON.parse(await readFile(documentFile, 'utf8')) as OpenApiDocument
  const text = JSON.stringify(allowReadForms(document))
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-mock-'))
  const prismFile = join(folder, 'openapi.json')
  await writeFile(prismFile, text)
  const script = installedFile('@stoplight/prism-cli/dist/index.js')
  const command = [script, 'mock', prismFile, '--host', loopback, '--port', '0']
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => child.kill()
  process.once('exit', kill)
  const close = async () => {
    process.off('exit', kill)
    await rm(folder, { recursive: true, force: true })
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill()
    await once(child, 'exit')
  }
  try {
    return { url: await readAddress(child), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The address in the line with which Prism says that it listens. Its output is read on, so that the pipe never fills. */
const readAddress = (child: ChildProcess) =>
  new Promise<string>((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => reject(new Error(`prism did not start in time:\n${output}`)), prismStartLimitMs)
    const read = (bytes: Buffer) => {
      if (!timer.hasRef()) return
      output += bytes
      const address = output.match(/Prism is listening on (http:\S+)/)?.[1]
      if (!address) return
      clearTimeout(timer.unref())
      resolve(address)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', reject)
    child.once('exit', code => {
      clearTimeout(timer.unref())
      reject(new Error(`prism ended with exit code ${code}:\n${output}`))
    })
  })

const forward = async (target: string, request: IncomingMessage, response: ServerResponse) => {
  const sent = await buffer(request)
  const contentType = request.headers['content-type'] ?? ''
  const form = await readForm(contentType, sent)
  const body = form?.body ?? sent
  const { 'transfer-encoding': _, ...headers } = request.headers
  if (body.length > 0) headers['content-length'] = String(body.length)
  if (form) headers['content-type'] = form.contentType
  if (asksForStream(contentType, body)) headers.accept = 'text/event-stream, application/json'
  const upstream = sendRequest(`${target}${request.url}`, { method: request.method, headers })
  upstream.end(body)
  const [reply] = (await once(upstream, 'response')) as [IncomingMessage]
  response.writeHead(reply.statusCode ?? 502, reply.headers)
  reply.pipe(response)
}

const asksForStream = (contentType: string, body: Buffer) => {
  if (!contentType.includes('json')) return false
  try {
    return (JSON.parse(body.toString()) as { stream?: unknown } | null)?.stream === true
  } catch {
    return false
  }
}

const main = async () => {
  const { values } = parseArgs({ options: { port: { type: 'string', default: defaultPort } } })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port takes 0 to 65535, not ${values.port}`)
  const starting = startMock({ port })
  const stop = () => void starting.then(mock => mock.close())
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const { url } = await starting
  console.log(`mock of the contract on ${url} (Ctrl+C ends it)`)
}

if (import.meta.main) await runScript(main)
