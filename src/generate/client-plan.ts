import type { OperationPlan } from './client-runtime.ts'
import {
  listOperations,
  type OpenApiDocument,
  type ResolvedOperation,
  resolveReference,
  type Schema,
} from './document.ts'

const jsonType = 'application/json'
const formType = 'multipart/form-data'
const eventType = 'text/event-stream'

/** All that the writer of the client needs to know about one operation. */
export type ClientOperation = {
  plan: OperationPlan
  operation: ResolvedOperation
  /** What the function returns: parsed JSON, or the reply with its body unread. */
  reply: 'json' | 'bytes'
  /** Name of the schema of one server-sent event, when the operation can stream. */
  eventSchema: string | null
  /** True for lists with the cursor parameter `after`. */
  pages: boolean
  /** True when the input has a field that must be given. */
  inputRequired: boolean
}

/**
 * Plans one client function per operation of the document.
 *
 * @throws {Error} when an operation cannot become one: two of its inputs share a name, or a content type is unknown here.
 */
export const listClientOperations = (document: OpenApiDocument): ClientOperation[] =>
  listOperations(document).map(operation => {
    const { id, method, path, parameters, requestBody } = operation
    const namesIn = (place: string) => parameters.filter(parameter => parameter.in === place).map(({ name }) => name)
    const body = toBodyKind(document, operation)
    const schema = requestBody?.content[body === 'multipart' ? formType : jsonType]?.schema
    const fields = toFields(document, body, schema)
    const bodyRequired = requestBody?.required ?? false
    const query = namesIn('query')
    refuseSharedNames(id, [...namesIn('path'), ...query, ...fields.names])
    const content = Object.assign({}, ...toSuccesses(operation).map(response => response.content ?? {}))
    return {
      plan: {
        id,
        method,
        route: path,
        path: namesIn('path'),
        query,
        body,
        bodyRequired,
        files: fields.files,
        security: toSecurity(document, operation),
      },
      operation,
      reply: content[jsonType] || Object.keys(content).length === 0 ? 'json' : 'bytes',
      eventSchema: content[eventType] ? toSchemaName(id, content[eventType].itemSchema) : null,
      pages: query.includes('after'),
      inputRequired:
        parameters.some(parameter => parameter.required && parameter.in !== 'header') ||
        (bodyRequired && fields.required.length > 0),
    }
  })

const toSuccesses = ({ responses }: ResolvedOperation) =>
  Object.entries(responses).flatMap(([status, response]) => (status.startsWith('2') ? [response] : []))

const toBodyKind = (document: OpenApiDocument, { id, requestBody }: ResolvedOperation): OperationPlan['body'] => {
  if (!requestBody) return 'none'
  const json = requestBody.content[jsonType]
  if (json) return json.schema && isObjectSchema(document, json.schema) ? 'json' : 'value'
  if (requestBody.content[formType]) return 'multipart'
  throw new Error(`${id}: no client function can send ${Object.keys(requestBody.content).join(', ')}`)
}

const refuseSharedNames = (id: string, names: string[]) => {
  const shared = names.find((name, index) => names.indexOf(name) !== index)
  if (shared)
    throw new Error(`${id}: two inputs are named ${shared}, but a client function takes all inputs in one object`)
}

const toSecurity = (document: OpenApiDocument, { id, security }: ResolvedOperation): OperationPlan['security'] => {
  const schemes = security
    .flatMap(requirement => Object.keys(requirement))
    .map(name => {
      const scheme = document.components?.securitySchemes?.[name] as { scheme?: string } | undefined
      return scheme?.scheme?.toLowerCase()
    })
  if (schemes.length === 0) return 'none'
  if (schemes.includes('bearer')) return 'bearer'
  if (schemes.includes('basic')) return 'basic'
  throw new Error(`${id}: the client knows bearer and basic authentication only`)
}

const toSchemaName = (id: string, schema: Schema | undefined) => {
  const name = schema?.$ref?.match(/^#\/components\/schemas\/(.+)$/)?.[1]
  if (!name) throw new Error(`${id}: the itemSchema of ${eventType} must be a reference to a schema of its own`)
  return name
}

const isObjectSchema = (document: OpenApiDocument, given: Schema): boolean => {
  const { type, properties, allOf, oneOf, anyOf } = resolveReference<Schema>(
    document,
    given as Schema | { $ref: string },
  )
  const branches = [...(allOf ?? []), ...(oneOf ?? []), ...(anyOf ?? [])]
  return type === 'object' || properties !== undefined || branches.some(branch => isObjectSchema(document, branch))
}

type Fields = { names: string[]; required: string[]; files: string[] }

const toFields = (document: OpenApiDocument, body: OperationPlan['body'], schema: Schema | undefined): Fields => {
  if (body === 'none' || !schema) return { names: [], required: [], files: [] }
  return body === 'value' ? { names: ['body'], required: ['body'], files: [] } : listFields(document, schema)
}

/** The top-level fields of a body, those of all its branches together. */
const listFields = (document: OpenApiDocument, given: Schema): Fields => {
  const schema = resolveReference<Schema>(document, given as Schema | { $ref: string })
  const properties = Object.entries(schema.properties ?? {})
  const branches = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  const inBranches = branches.map(branch => listFields(document, branch))
  const unique = (names: string[]) => [...new Set(names)]
  return {
    names: unique([...properties.map(([name]) => name), ...inBranches.flatMap(({ names }) => names)]),
    required: unique([...(schema.required ?? []), ...inBranches.flatMap(({ required }) => required)]),
    files: unique([
      ...properties.filter(([, property]) => isFileList(document, property)).map(([name]) => name),
      ...inBranches.flatMap(({ files }) => files),
    ]),
  }
}

/** Binary content: `format: binary` as of OpenAPI 3.0, `contentMediaType` without an encoding as of 3.1, or no type at all. */
const isFileList = (document: OpenApiDocument, given: Schema) => {
  const schema = resolveReference<Schema>(document, given as Schema | { $ref: string })
  if (schema.type !== 'array' || !schema.items) return false
  const items = resolveReference<Schema>(document, schema.items as Schema | { $ref: string })
  return items.format === 'binary' || items.contentMediaType === 'application/octet-stream'
}
