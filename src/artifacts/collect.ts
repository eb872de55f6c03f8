import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Service } from '../context.ts'
import { ApiError, unavailable } from '../errors.ts'
import { ADAPTER_FOLDER } from '../inference/chat-model.ts'
import { selectUnreferenced } from '../storage/artifact-deletion.ts'

type Stores = Pick<Service, 'database' | 'artifacts' | 'log'>

/** A content was deleted, with the last thing that referred to it, after it was stored anew: 503, to be sent again. */
export class ContentGoneError extends ApiError {
  constructor() {
    const { status, code, message, headers } = unavailable('A file was deleted while it was stored: send it again')
    super(status, code, message, { headers })
  }
}

/**
 * Runs what stores contents and then refers to them. `run` calls `confirm` inside the transaction that refers to them: it throws
 * ContentGoneError where one was deleted in between. Contents that nothing refers to in the end are freed.
 */
export async function withContents<Result>(
  stores: Stores,
  contents: readonly { sha256: string }[],
  run: (confirm: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const confirm = async () => {
    for (const { sha256 } of contents) if (!(await stores.artifacts.has(sha256))) throw new ContentGoneError()
  }
  try {
    return await run(confirm)
  } finally {
    const left = contents.map(({ sha256 }) => sha256)
    await freeContents(stores, left).catch(error => stores.log.warn({ error }, 'contents were not freed'))
  }
}

/**
 * Deletes those contents that nothing refers to. It looks under the database's write lock, which whoever refers to a content holds
 * while it confirms that the content is there.
 */
export async function freeContents({ database, artifacts }: Omit<Stores, 'log'>, contents: string[]): Promise<void> {
  if (contents.length === 0) return
  await database.transaction().execute(async transaction => {
    for (const sha256 of await selectUnreferenced(transaction, contents)) await artifacts.delete(sha256)
  })
}

/** After artifact versions were deleted: frees their contents and removes the engine's working copies. */
export async function freeVersions(
  service: Service,
  { versionIds, contents }: { versionIds: string[]; contents: string[] },
): Promise<void> {
  await freeContents(service, contents)
  const folder = join(service.settings.dataDir, ADAPTER_FOLDER)
  for (const id of versionIds) await rm(join(folder, id), { recursive: true, force: true })
}
