import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '../../generated/client.ts'
import { readSettings } from '../config.ts'
import { startServer } from '../serve.ts'

export interface TemporaryServer {
  url: string
  apiKey: string
  client: Client
  /** Stops the server and removes its folder. */
  close(): Promise<void>
}

/** Long enough for the step under way to end: what is lost on the way is of no use to anyone. */
const GRACE_MS = 1000

/**
 * A server of its own on a free local port, with its data in a new folder under the system's temporary one. Engine and
 * model settings are taken from the environment.
 */
export async function startTemporaryServer(environment: Record<string, string | undefined>): Promise<TemporaryServer> {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-demo-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const apiKey = randomBytes(24).toString('base64url')
  const settings = {
    ...readSettings({
      ...environment,
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: folder,
      API_KEY: apiKey,
      LOG_LEVEL: 'silent',
    }),
    shutdownGraceMs: GRACE_MS,
  }
  try {
    const server = await startServer(settings)
    const close = () => server.close().finally(remove)
    return { url: server.url, apiKey, client: createClient({ baseUrl: server.url, apiKey }), close }
  } catch (error) {
    await remove()
    throw error
  }
}
