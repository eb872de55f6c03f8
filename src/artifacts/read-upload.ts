import { tooLarge } from '../body.ts'
import { invalid, invalidValue } from '../errors.ts'
import { createTest } from '../spec/compile-schema.ts'
import { operationById } from '../spec/document.ts'
import type { FormPart } from '../spec/handler.ts'
import { parseJsonBody } from '../spec/json-body.ts'
import { validateBodyPart } from '../spec/validate.ts'
import type { StoredFile } from '../storage/artifacts.ts'
import type { ArtifactStore } from './artifact-store.ts'

export interface UploadedVersion {
  type: string
  metadata: Record<string, unknown>
  aliases: string[]
  tags: string[]
}

/** Largest `version` part, in bytes: it holds metadata, not data. */
export const MAX_VERSION_BYTES = 1024 * 1024
const MAX_FILES = 10_000

const operation = operationById('createArtifactVersion')
const isPath = createTest({ $ref: '#/components/schemas/ArtifactFilePath' }, operation.components)

/** Reads the form of an upload, storing its files as they come. Throws 413 and 422; what was stored by then is in `files`. */
export async function readUpload(
  form: AsyncIterable<FormPart>,
  artifacts: ArtifactStore,
  maxBytes: number,
  files: StoredFile[],
): Promise<UploadedVersion> {
  let version: unknown
  let room = maxBytes
  for await (const part of form) {
    if (part.name === 'files') {
      const path = checkPath(part.fileName, files)
      const stored = await artifacts.put(limit(part.content, room, maxBytes))
      room -= stored.size
      files.push({ path, ...stored })
    } else if (part.name === 'version') version = await readVersion(part)
    else await drain(part.content)
  }
  if (files.length === 0) throw invalidValue(['body', 'files'], 'Field required', 'missing')
  const checked = validateBodyPart(operation, 'version', version)
  if (!checked.ok) throw invalid(checked.detail)
  const { type = 'dataset', metadata = {}, aliases = [], tags = [] } = version as Partial<UploadedVersion>
  return { type, metadata, aliases, tags }
}

function checkPath(fileName: string | null, files: StoredFile[]): string {
  const loc = ['body', 'files', String(files.length)]
  if (files.length >= MAX_FILES)
    throw invalidValue(['body', 'files'], `At most ${MAX_FILES} files are allowed`, 'too_long')
  if (!fileName) throw invalidValue(loc, 'The part needs a file name, which is its path in the version')
  if (!isPath(fileName)) {
    throw invalidValue(loc, `The path must be relative, without "." and "..", not ${JSON.stringify(fileName)}`, 'path')
  }
  const clash = files.find(
    ({ path }) => path === fileName || path.startsWith(`${fileName}/`) || fileName.startsWith(`${path}/`),
  )
  if (clash) throw invalidValue(loc, `The path ${fileName} stands in the way of ${clash.path}`, 'path')
  return fileName
}

async function readVersion(part: FormPart): Promise<unknown> {
  const chunks: Uint8Array[] = []
  for await (const chunk of limit(part.content, MAX_VERSION_BYTES, MAX_VERSION_BYTES)) chunks.push(chunk)
  const parsed = parseJsonBody(Buffer.concat(chunks))
  if (!parsed.ok)
    throw invalid(parsed.detail.map(entry => ({ ...entry, loc: ['body', 'version', ...entry.loc.slice(1)] })))
  return parsed.value
}

async function* limit(content: AsyncIterable<Uint8Array>, bytes: number, shown: number): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const chunk of content) {
    left -= chunk.length
    if (left < 0) throw tooLarge('The upload', shown)
    yield chunk
  }
}

async function drain(content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of content);
}
