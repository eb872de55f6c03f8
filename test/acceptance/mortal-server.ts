import { rm } from 'node:fs/promises'
import { type Client, createClient } from '../../generated/client.ts'
import { startServerProcess } from './server-process.ts'
import { createApiKey, createDataFolder } from './target.ts'

/** A server of our own that dies and lives again on the same data, at another address each time. */
export interface MortalServer {
  /** Of the server that lives; waits while there is none. */
  client(): Promise<Client>
  /** Kills it (SIGKILL) and starts the next one. */
  kill(): Promise<void>
  /** Ends it, and removes its data. */
  close(): Promise<void>
}

export async function startMortalServer(settings: Record<string, string>): Promise<MortalServer> {
  const folder = await createDataFolder()
  const environment = { ...settings, DATA_DIR: folder, API_KEY: createApiKey() }
  const start = async () => {
    const server = await startServerProcess(environment)
    return { server, client: createClient({ baseUrl: server.url, apiKey: environment.API_KEY }) }
  }
  let life = start()
  const close = async () => {
    const living = await life.catch(() => null)
    await living?.server.end('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  }
  await life.catch(async error => {
    await close()
    throw error
  })
  return {
    client: async () => (await life).client,
    async kill() {
      const { server } = await life
      life = server.end('SIGKILL').then(start)
      await life
    },
    close,
  }
}
