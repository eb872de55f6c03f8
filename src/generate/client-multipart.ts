import type { UploadFile } from './client-types.ts'

const lineEnd = '\r\n'

/** Quotes and line ends in a form field's name or file name, escaped as browsers do. @see https://html.spec.whatwg.org/#multipart-form-data */
const escapeName = (name: string) => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

/**
 * A multipart/form-data body. Its `type` is the request's content type, boundary included.
 *
 * It is written here and not by `FormData`, because a JSON part has the content type application/json and no file
 * name, which `FormData` cannot say. Blobs are not copied, so that a file on disk (`fs.openAsBlob`) is never in memory.
 */
export const toMultipart = (fields: Record<string, unknown>, fileFields: readonly string[]): Blob => {
  const boundary = `form-${crypto.randomUUID()}`
  const parts: (string | Blob | Uint8Array<ArrayBuffer>)[] = []
  const add = (name: string, more: string, content: (typeof parts)[number]) => {
    const disposition = `content-disposition: form-data; name="${escapeName(name)}"${more}`
    parts.push(`--${boundary}${lineEnd}${disposition}${lineEnd}${lineEnd}`, content, lineEnd)
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    if (!fileFields.includes(name)) {
      add(name, `${lineEnd}content-type: application/json`, JSON.stringify(value))
      continue
    }
    for (const file of value as UploadFile[]) {
      const more = `; filename="${escapeName(file.name)}"${lineEnd}content-type: application/octet-stream`
      add(name, more, file.data)
    }
  }
  parts.push(`--${boundary}--${lineEnd}`)
  return new Blob(parts, { type: `multipart/form-data; boundary=${boundary}` })
}
