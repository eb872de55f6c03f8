import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArtifactUri } from '../artifacts/uri.ts'
import type { Context } from '../context.ts'
import { notFound } from '../errors.ts'
import { type ArtifactVersion, findArtifactVersion } from '../storage/artifacts.ts'
import { CHECKPOINT_TYPE } from '../storage/models.ts'
import { type BaseModel, DEFAULT_BASE_MODEL } from './base-models.ts'
import type { AdapterReference } from './engine.ts'

/** Folder, under the data folder, of adapters laid out for the engine. */
export const ADAPTER_FOLDER = 'adapters'
const LATEST = 'latest'

export interface ChatModel {
  baseModel: BaseModel
  /** Null: the base model itself. */
  adapter: AdapterReference | null
}

/**
 * Looks up what a chat request names: a base model, or the artifact URI of a trained one. Null or empty means the default base model.
 * Throws 404 for anything else, for another team's artifact too.
 */
export async function findChatModel(context: Context, name: string | null | undefined): Promise<ChatModel> {
  const baseModel = context.baseModels.get(name || DEFAULT_BASE_MODEL)
  if (baseModel) return { baseModel, adapter: null }
  const missing = () => notFound(`The model ${name}`, 'model_not_found', 'model')
  const uri = parseArtifactUri(name!, context.settings.artifactScheme)
  if (!uri || !context.principal.teams.has(uri.entity)) throw missing()
  const version = await findArtifactVersion(context.database, uri, uri.version ?? LATEST)
  const trainedOn =
    version?.type === CHECKPOINT_TYPE ? context.baseModels.get(String(version.metadata.base_model)) : undefined
  if (!version || !trainedOn) throw missing()
  const adapter = await checkoutAdapter(context, version).catch(error => {
    // It was deleted a moment ago.
    throw error.code === 'ENOENT' ? missing() : error
  })
  return { baseModel: trainedOn, adapter }
}

/** Lays a version's files out in a folder of their own, once; whoever comes second finds the folder whole. */
async function checkoutAdapter({ settings, artifacts }: Context, version: ArtifactVersion): Promise<AdapterReference> {
  const folder = join(settings.dataDir, ADAPTER_FOLDER, version.id)
  if (!existsSync(folder)) {
    const temporary = `${folder}.${crypto.randomUUID()}`
    try {
      await mkdir(temporary, { recursive: true })
      for (const { path, sha256 } of version.files) await artifacts.checkout(sha256, join(temporary, path))
      await rename(temporary, folder)
    } catch (error) {
      await rm(temporary, { recursive: true, force: true })
      if (!existsSync(folder)) throw error
    }
  }
  return { id: version.id, folder }
}
