import type { AddressInfo } from 'node:net'
import pc from 'picocolors'
import { createApp } from './app.ts'
import type { Settings } from './config.ts'
import { closeService, createService, ensureFirstKey, type ServiceParts } from './service.ts'

export interface RunningServer {
  /** Such as http://127.0.0.1:8080, with the base path. */
  url: string
  /** The first key when it was made just now. */
  newKey: string | null
  /** Lets running requests and deliveries finish within the grace time, gives running jobs and deliveries back to their queues, and closes. */
  close(): Promise<void>
}

/** Starts the whole service and resolves when it listens. */
export async function startServer(settings: Settings, parts: ServiceParts = {}): Promise<RunningServer> {
  const service = await createService(settings, parts)
  const { fastify, drain } = await createApp(service)
  const newKey = await fastify
    .listen({ host: settings.host, port: settings.port })
    // Only when it listens: a key that nobody was shown would be lost.
    .then(() => ensureFirstKey(service))
    .catch(async error => {
      await fastify.close()
      await closeService(service)
      throw error
    })
  service.jobs.start()
  service.retention.start()
  service.deliveries.start()
  const { address, port, family } = fastify.server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  const close = async () => {
    drain()
    // Beside the requests: both have the same grace time.
    const delivered = service.deliveries.stop()
    const timer = setTimeout(() => fastify.server.closeAllConnections(), settings.shutdownGraceMs)
    await fastify.close()
    clearTimeout(timer)
    await delivered
    await closeService(service)
  }
  return { url: `http://${host}:${port}${settings.basePath}`, newKey, close }
}

/** `trainyard serve`: starts, tells where, and closes at the first SIGINT or SIGTERM. */
export async function serve(settings: Settings): Promise<void> {
  const server = await startServer(settings)
  process.stderr.write(`${pc.green('Trainyard')} serves at ${pc.bold(server.url)} (docs: ${server.url}/docs)\n`)
  if (server.newKey) {
    process.stderr.write(`The first API key, shown only now: ${pc.bold(server.newKey)}\n`)
  }
  let closing = false
  const close = () => {
    if (closing) return
    closing = true
    process.stderr.write('Shutting down\n')
    server.close().then(
      () => process.exit(0),
      error => {
        process.stderr.write(`${error}\n`)
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, close)
  if (process.env.npm_lifecycle_event) onOrphaned(close)
}

/** How often to look whether the parent is still there, in milliseconds. */
const PARENT_CHECK_MS = 500

/** A SIGTERM to `npm start` ends npm and its shell, but does not get through the shell: without this the server would stay behind. */
function onOrphaned(act: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) act()
  }, PARENT_CHECK_MS).unref()
}
