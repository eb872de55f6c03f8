import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import type { StoredFile } from '../storage/artifacts.ts'
import { DataError } from './engine.ts'
import { checkSftFile } from './sft-dataset.ts'
import { checkMetadata, METADATA_FILE, selectTrainingFile } from './training-files.ts'

/** Larger metadata files are refused: they are read whole. */
const MAX_METADATA_BYTES = 1024 * 1024

/** Reads an SFT artifact's files, before a job exists. Returns the first fault, with file, line number and field, or null. */
export async function checkSftArtifact(
  artifacts: ArtifactStore,
  files: StoredFile[],
  dataDir: string,
): Promise<{ loc: string[]; message: string } | null> {
  const copy = join(dataDir, 'work', randomUUID())
  try {
    const path = selectTrainingFile(files.map(file => file.path))
    const metadata = files.find(file => file.path === METADATA_FILE)
    if (metadata && metadata.size > MAX_METADATA_BYTES)
      throw new DataError([METADATA_FILE], `is larger than ${MAX_METADATA_BYTES} bytes`)
    if (metadata) checkMetadata(await text(artifacts.open(metadata.sha256)))
    await artifacts.checkout(files.find(file => file.path === path)!.sha256, copy)
    await checkSftFile(copy, undefined, path)
    return null
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    return { loc: error.loc.filter(part => part !== 'training_data_url'), message: error.message }
  } finally {
    await rm(copy, { force: true })
  }
}
