import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Service } from '../context.ts'
import type { StoredFile } from '../storage/artifacts.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { ContentGoneError, withContents } from './collect.ts'

/** Stores every file of a folder (its subfolders too), then runs `write`, which refers to them as withContents says. */
export async function storeFolder<Result>(
  stores: Pick<Service, 'database' | 'artifacts' | 'log'>,
  folder: string,
  write: (files: StoredFile[], confirm: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const attempt = () => {
    const files: StoredFile[] = []
    return withContents(stores, files, async confirm => {
      await putFolder(stores.artifacts, folder, files)
      return write(files, confirm)
    })
  }
  return attempt().catch(error => {
    // Many adapters share their configuration's content: the last other one to have it was deleted just now.
    if (error instanceof ContentGoneError) return attempt()
    throw error
  })
}

async function putFolder(artifacts: ArtifactStore, folder: string, files: StoredFile[]): Promise<void> {
  for (const path of (await readdir(folder, { recursive: true })).sort()) {
    const file = join(folder, path)
    if ((await stat(file)).isFile()) files.push({ path, ...(await artifacts.put(createReadStream(file))) })
  }
}
