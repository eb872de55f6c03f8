import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServerProcess } from './server-process.ts'

/** The deployment under test. */
export interface Target {
  /** Without a final slash and without `/v1`. */
  url: string
  apiKey: string
  close(): Promise<void>
}

export const targetOptions = { 'base-url': { type: 'string' }, 'api-key': { type: 'string' } } as const

/** The deployment that the options name, or a server of our own, which is gone with all its data after `close`. */
export async function openTarget(options: { 'base-url'?: string; 'api-key'?: string }): Promise<Target> {
  const { 'base-url': url, 'api-key': apiKey } = options
  if (url === undefined && apiKey === undefined) return startOwnTarget()
  if (url === undefined || apiKey === undefined) throw new Error('--base-url and --api-key go together')
  return { url: url.replace(/\/+$/, ''), apiKey, close: async () => {} }
}

async function startOwnTarget(): Promise<Target> {
  const folder = await createDataFolder()
  const remove = () => rm(folder, { recursive: true, force: true })
  const apiKey = createApiKey()
  try {
    const server = await startServerProcess({ DATA_DIR: folder, API_KEY: apiKey })
    return { url: server.url, apiKey, close: () => server.end('SIGTERM').finally(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

export const createDataFolder = () => mkdtemp(join(tmpdir(), 'trainyard-acceptance-'))

export const createApiKey = () => randomBytes(24).toString('base64url')
