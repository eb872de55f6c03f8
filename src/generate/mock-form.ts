import { listOperations, type OpenApiDocument } from './document.ts'

const formType = 'multipart/form-data'
/** Stands for a form that was read already: its parts as JSON, files as text in lists. */
const readFormType = 'application/vnd.read-form+json'

/**
 * The document as Prism needs it. Prism reads every part of a form as one text, and so would refuse each form that has
 * several files or a JSON part; therefore a form may also come as the JSON that `readForm` makes of it.
 */
export const allowReadForms = (document: OpenApiDocument): OpenApiDocument => {
  const copy = structuredClone(document)
  for (const { requestBody } of listOperations(copy)) {
    const form = requestBody?.content[formType]
    if (requestBody && form) requestBody.content[readFormType] = { schema: form.schema }
  }
  return copy
}

/** A form's parts as JSON, with the content type that says so; null when the body is no form or a broken one. */
export const readForm = async (contentType: string, body: Uint8Array<ArrayBuffer>) => {
  if (!contentType.startsWith(formType)) return null
  const form = await new Response(body, { headers: { 'content-type': contentType } }).formData().catch(() => null)
  if (!form) return null
  const fields: Record<string, unknown> = {}
  for (const name of new Set(form.keys())) {
    const parts = form.getAll(name)
    const isFiles = parts.some(part => typeof part !== 'string')
    const values = await Promise.all(parts.map(part => (typeof part === 'string' ? part : part.text())))
    fields[name] = isFiles ? values : toJson(values[0]!)
  }
  return { contentType: readFormType, body: Buffer.from(JSON.stringify(fields)) }
}

const toJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
