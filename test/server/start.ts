import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { readSettings, type Settings } from '../../src/config.ts'
import type { Service } from '../../src/context.ts'
import { handlers as ownHandlers } from '../../src/handlers/index.ts'
import { closeService, createService, ensureFirstKey, type ServiceParts } from '../../src/service.ts'
import type { Handlers } from '../../src/spec/handler.ts'
import { addKey, createKeyValue, type Role } from '../../src/storage/keys.ts'
import { noOpInference, noOpTraining } from '../no-op-engine.ts'

export const FIRST_KEY = 'test-key-of-the-first-admin-0123456789'

export interface Reply {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a reply is what types it
  body: any
}

export interface Call {
  method?: string
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  body?: RequestInit['body']
  headers?: Record<string, string>
  /** Null: no credentials. Default: the first key. */
  key?: string | null
  signal?: AbortSignal
}

export interface TestServer {
  /** With the base path, without a slash at the end. */
  url: string
  port: number
  dataDir: string
  service: Service
  drain(): void
  call(path: string, call?: Call): Promise<Reply>
  /** Makes a key of another user. */
  addKey(user: string, team: string, role?: Role): Promise<string>
  /** Stops the server, and removes its folder unless `keep` is set. */
  close(keep?: boolean): Promise<void>
}

export interface TestServerOptions {
  environment?: Record<string, string>
  parts?: ServiceParts
  dataDir?: string
  handlers?: Partial<Handlers>
  /** Changes the service before the app is made of it. */
  change?(service: Service): void
  /** False: jobs and deliveries stay queued. */
  runJobs?: boolean
}

export async function createDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'trainyard-test-'))
}

export function toSettings(dataDir: string, environment: Record<string, string> = {}): Settings {
  return readSettings({
    PORT: '0',
    DATA_DIR: dataDir,
    API_KEY: FIRST_KEY,
    LOG_LEVEL: 'silent',
    STRICT: '1',
    ...environment,
  })
}

/** The whole service on a free port, with engines that compute nothing. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { environment, parts, handlers, change, runJobs = true } = options
  const dataDir = options.dataDir ?? (await createDataDir())
  const settings = toSettings(dataDir, environment)
  const service = await createService(settings, { inference: noOpInference, training: noOpTraining, ...parts })
  await ensureFirstKey(service)
  change?.(service)
  const { fastify, drain } = await createApp(service, { ...ownHandlers, ...handlers })
  await fastify.listen({ host: settings.host, port: 0 })
  if (runJobs) {
    service.jobs.start()
    service.deliveries.start()
  }
  const { port } = fastify.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}${settings.basePath}`
  return {
    url,
    port,
    dataDir,
    service,
    drain,
    call: (path, call) => callServer(`${url}${path}`, call),
    async addKey(user, team, role = 'member') {
      const value = createKeyValue()
      await addKey(service.database, { value, user, team, role, name: 'test' })
      return value
    },
    async close(keep = false) {
      fastify.server.closeAllConnections()
      await fastify.close()
      await closeService(service)
      if (!keep) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function callServer(
  url: string,
  { method, json, body, headers, key = FIRST_KEY, signal }: Call = {},
): Promise<Reply> {
  const sent = json === undefined ? body : JSON.stringify(json)
  const response = await fetch(url, {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent, duplex: 'half' }),
    ...(signal ? { signal } : {}),
  } as RequestInit)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** Asks again until it holds; what it gave last is in the error when it never does. */
export async function until<Value>(
  ask: () => Promise<Value> | Value,
  holds: (value: Value) => boolean,
  ms = 15_000,
): Promise<Value> {
  const end = Date.now() + ms
  for (;;) {
    const value = await ask()
    if (holds(value)) return value
    if (Date.now() > end) throw new Error(`Still not so after ${ms} ms: ${JSON.stringify(value)}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Sends bytes as they are over a new connection and gives all that comes back until the server closes it, or until `ms` passed in silence. */
export async function sendRaw(port: number, parts: (string | Uint8Array)[], ms = 1000): Promise<string> {
  const { connect } = await import('node:net')
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(Buffer.from(chunk)))
  for (const part of parts) socket.write(part)
  socket.setTimeout(ms, () => socket.destroy())
  await once(socket, 'close').catch(() => {})
  return Buffer.concat(chunks).toString('latin1')
}

export async function createModel(server: TestServer, name: string, key?: string): Promise<string> {
  const reply = await server.call('/v1/preview/models', {
    json: { project: 'tests', name, base_model: 'tiny-chat' },
    ...(key ? { key } : {}),
  })
  if (reply.status !== 200) throw new Error(`No model: ${reply.text}`)
  return reply.body.id
}

/** One group of two attempts with different rewards: the smallest job with something to learn. */
export function toRlJob(model_id: string, filler = ''): object {
  const trajectory = (reward: number) => ({
    reward,
    messages_and_choices: [
      { role: 'user', content: `hi${filler}` },
      {
        finish_reason: 'stop',
        index: 0,
        logprobs: { content: [{ token: 'yes', bytes: [121, 101, 115], logprob: -1, top_logprobs: [] }], refusal: null },
        message: { role: 'assistant', content: 'yes' },
        token_ids: [7],
      },
    ],
  })
  return { model_id, trajectory_groups: [{ trajectories: [trajectory(0), trajectory(1)] }] }
}
