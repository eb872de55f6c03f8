import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ArtifactStore, StoredContent } from './artifact-store.ts'

/**
 * Contents as files named by their digest. Durable: the temporary file is synced, renamed, and its folder synced,
 * so a content is either whole or not there, whenever the power goes.
 */
export class DiskStore implements ArtifactStore {
  #folder: string
  #incoming: string

  private constructor(folder: string) {
    this.#folder = folder
    this.#incoming = join(folder, 'incoming')
  }

  /** Opens a store in a folder; what an earlier process left half written is removed. */
  static async open(folder: string): Promise<DiskStore> {
    const store = new DiskStore(folder)
    await mkdir(store.#incoming, { recursive: true })
    const left = await readdir(store.#incoming)
    await Promise.all(left.map(name => rm(join(store.#incoming, name), { force: true, recursive: true })))
    return store
  }

  async put(content: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    const temporary = join(this.#incoming, randomUUID())
    const hash = createHash('sha256')
    let size = 0
    const measured = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        size += chunk.length
        yield chunk
      }
    }
    try {
      await pipeline(content, measured, createWriteStream(temporary))
      const sha256 = hash.digest('hex')
      const file = this.#fileOf(sha256)
      if (await mkdir(dirname(file), { recursive: true })) await sync(this.#folder)
      if (existsSync(file)) await rm(temporary)
      else await sync(temporary).then(() => rename(temporary, file))
      await sync(dirname(file))
      return { sha256, size }
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  open(sha256: string, range?: { start: number; end: number }): Readable {
    return createReadStream(this.#fileOf(sha256), range)
  }

  async has(sha256: string): Promise<boolean> {
    return existsSync(this.#fileOf(sha256))
  }

  async checkout(sha256: string, file: string): Promise<void> {
    await mkdir(dirname(file), { recursive: true })
    const source = this.#fileOf(sha256)
    // A hard link costs nothing; across file systems only a copy works.
    await link(source, file).catch(error => {
      if (error.code !== 'EXDEV' && error.code !== 'EPERM') throw error
      return copyFile(source, file)
    })
  }

  async delete(sha256: string): Promise<void> {
    await rm(this.#fileOf(sha256), { force: true })
  }

  async check(): Promise<void> {
    const file = join(this.#incoming, randomUUID())
    const handle = await open(file, 'wx')
    try {
      await handle.writeFile('check')
      await handle.sync()
    } finally {
      await handle.close()
      await rm(file, { force: true })
    }
  }

  #fileOf(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256)
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
