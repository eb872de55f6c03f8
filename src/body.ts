import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BodyReader } from './body-reader.ts'
import type { Settings } from './config.ts'
import { ApiError } from './errors.ts'
import type { Operation } from './spec/document.ts'
import type { RawBody } from './spec/handler.ts'
import { parseJsonBody } from './spec/json-body.ts'
import type { BodyResult } from './spec/validate.ts'
import { toTrajectoryFilePath } from './training/trajectory-file.ts'

/** A body that was read and parsed; whether it was also validated (a spooled one is, away from the main thread). */
export interface ReadBody {
  parsed: BodyResult
  raw: RawBody
  validated: boolean
}

/** What an operation without a body gets. */
export const NO_BODY: ReadBody = {
  parsed: { ok: true, value: undefined },
  raw: toRaw({}),
  validated: false,
}

/** A body of which only some forms are at hand. */
export function toRaw(known: Partial<RawBody>): RawBody {
  const form = (): never => {
    throw new TypeError('The body is not a form')
  }
  return {
    text: null,
    file: null,
    summary: null,
    trajectories: null,
    sha256: () => createHash('sha256').digest('hex'),
    form,
    ...known,
  }
}

export const SPOOL_FOLDER = 'spool'

/**
 * Reads the JSON body of a request: a small one into memory, one above the spool limit (or of unknown length) into a spool file that a
 * worker thread parses and validates. A body whose limit is its own operation's is never on disk. Throws 413 and 415.
 */
export async function readJsonBody(
  request: IncomingMessage,
  operation: Operation,
  settings: Settings,
  reader: BodyReader,
): Promise<ReadBody> {
  const length = request.headers['content-length']
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (!chunked && (length === undefined || length === '0')) return NO_BODY
  requireMediaType(request, operation)
  const ownLimit = operation.requestBody?.maxBytes ?? Infinity
  const limit = Math.min(settings.maxBodyBytes, ownLimit)
  if (Number(length) > limit) throw tooLarge('The body', limit)
  if (ownLimit < Infinity || (length !== undefined && Number(length) <= settings.spoolBytes))
    return readSmall(request, limit)
  return spool(request, operation, settings, reader)
}

/** 415 unless the body comes as a declared media type, whose charset, if any, is UTF-8. */
export function requireMediaType(request: IncomingMessage, operation: Operation): void {
  const sent = request.headers['content-type'] ?? ''
  if (operation.requestBody?.content.has(sent)) return
  const [type = '', ...parameters] = sent
    .toLowerCase()
    .split(';')
    .map(part => part.trim())
  const charset = parameters
    .find(parameter => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  const accepted = operation.requestBody?.contentTypes ?? []
  if (accepted.includes(type) && (charset === undefined || charset === 'utf-8' || charset === 'utf8')) return
  throw new ApiError(415, 'unsupported_media_type', `The body must be ${accepted.join(' or ')}, in UTF-8`)
}

export function tooLarge(what: string, limit: number): ApiError {
  // The rest of the body is not read, so the connection cannot be used again.
  return new ApiError(413, 'payload_too_large', `${what} is larger than ${limit} bytes`, {
    headers: { connection: 'close' },
  })
}

/** Listens instead of iterating: the stream's iterator would cost more than all the rest of reading a small body. */
function readSmall(request: IncomingMessage, limit: number): Promise<ReadBody> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    request.on('data', chunk => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else reject(tooLarge('The body', limit))
    })
    request.on('end', () => resolve(toSmallBody(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))))
    request.on('error', reject)
    // Destroyed without an error, neither of the others comes.
    request.on('close', () => {
      if (!request.readableEnded) reject(new Error('The request was aborted'))
    })
  })
}

function toSmallBody(bytes: Uint8Array): ReadBody {
  const sha256 = () => createHash('sha256').update(bytes).digest('hex')
  const parsed = parseJsonBody(bytes)
  return { parsed, raw: toRaw({ text: parsed.ok ? parsed.text : null, sha256 }), validated: false }
}

async function spool(
  request: IncomingMessage,
  operation: Operation,
  settings: Settings,
  reader: BodyReader,
): Promise<ReadBody> {
  const file = join(settings.dataDir, SPOOL_FOLDER, randomUUID())
  const hash = createHash('sha256')
  let size = 0
  const measured = async function* () {
    // Left undestroyed whatever happens: the request's socket is what the answer goes out by.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > settings.maxBodyBytes) throw tooLarge('The body', settings.maxBodyBytes)
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    await pipeline(measured, createWriteStream(file))
    if (size === 0) return { ...NO_BODY, raw: toRaw({ file }) }
    const { result, summary, trajectories } = await reader.read(operation.operationId, file)
    const sha256 = hash.digest('hex')
    return { parsed: result, raw: toRaw({ file, summary, trajectories, sha256: () => sha256 }), validated: true }
  } catch (error) {
    await removeSpool(file)
    throw error
  }
}

/** Removes a spool file, and what was made of it. */
export async function removeSpool(file: string): Promise<void> {
  await rm(file, { force: true })
  await rm(toTrajectoryFilePath(file), { force: true })
}
