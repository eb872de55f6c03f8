import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MAX_VERSION_BYTES } from './artifacts/read-upload.ts'
import type { Settings } from './config.ts'
import { ApiError, invalid } from './errors.ts'
import type { FormPart } from './spec/handler.ts'

/** Parts of one form: above the most files of a version. */
const MAX_PARTS = 20_000

export async function registerFormParser(fastify: FastifyInstance, { maxArtifactBytes }: Settings): Promise<void> {
  await fastify.register(multipart, {
    preservePath: true,
    // One more than allowed, so that read-upload.ts sees what is too large and says so.
    limits: { fileSize: Math.max(maxArtifactBytes, MAX_VERSION_BYTES) + 1, parts: MAX_PARTS },
  })
}

/** The parts of a form in the order in which they come; each must be read before the next. Throws 422 where it is malformed. */
export async function* formParts(request: FastifyRequest): AsyncGenerator<FormPart> {
  if (!request.isMultipart()) return
  try {
    // Every part comes as a stream, unread: what it means is the operation's business.
    for await (const part of request.parts({ isPartAFile: () => true })) {
      if (part.type !== 'file') continue
      yield { name: part.fieldname, fileName: part.filename ?? null, content: readPart(part.file) }
    }
  } catch (error) {
    throw toFormError(error)
  }
}

async function* readPart(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw toFormError(error)
  }
}

function toFormError(error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (error instanceof ApiError || !/^FST_|^ERR_|Unexpected end|Multipart/i.test(`${code}${message}`)) return error
  return invalid([{ loc: ['body'], msg: `The form cannot be read: ${message}`, type: 'form_invalid' }])
}
