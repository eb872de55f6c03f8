/** The parts of a bundled OpenAPI 3.2 document that the generators read. */
export type OpenApiDocument = {
  openapi: string
  info: { title: string; version: string }
  tags: { name: string; description?: string }[]
  security?: SecurityRequirement[]
  paths: Record<string, PathItem>
  webhooks?: Record<string, PathItem>
  components?: Record<string, Record<string, unknown>>
}
export type SecurityRequirement = Record<string, string[]>
export type PathItem = { parameters?: (Parameter | Reference)[] } & { [method in HttpMethod]?: Operation }
export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  deprecated?: boolean
  security?: SecurityRequirement[]
  parameters?: (Parameter | Reference)[]
  requestBody?: RequestBody | Reference
  responses: Record<string, ApiResponse | Reference>
}
export type Reference = { $ref: string }
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header' | 'cookie'
  required?: boolean
  example?: unknown
}
export type RequestBody = { required?: boolean; content: Record<string, MediaType> }
export type ApiResponse = { description: string; content?: Record<string, MediaType> }
export type MediaType = {
  schema?: Schema
  itemSchema?: Schema
  example?: unknown
  examples?: Record<string, { value?: unknown } | Reference>
}
export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  contentMediaType?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  allOf?: Schema[]
  oneOf?: Schema[]
  anyOf?: Schema[]
}

const httpMethods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const
export type HttpMethod = (typeof httpMethods)[number]

/** One operation of the document, its references to parameters, body and responses followed. */
export type ResolvedOperation = {
  id: string
  method: HttpMethod
  path: string
  operation: Operation
  parameters: Parameter[]
  requestBody: RequestBody | null
  responses: Record<string, ApiResponse>
  security: SecurityRequirement[]
}

/**
 * Follows references inside the document until something else stands there.
 *
 * @throws {Error} naming a reference that leads nowhere.
 */
export const resolveReference = <Target extends object>(
  document: OpenApiDocument,
  value: Target | Reference,
): Target => {
  let current: unknown = value
  while (isReference(current)) {
    const reference: string = current.$ref
    current = reference
      .slice('#/'.length)
      .split('/')
      .map(key => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((parent, key) => (parent as Record<string, unknown> | undefined)?.[key], document)
    if (current === undefined) throw new Error(`${reference} leads nowhere in the bundled document`)
  }
  return current as Target
}

const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' && value !== null && typeof (value as Reference).$ref === 'string'

/** Every operation under `paths`, in the order of the document. Webhooks are calls to others and not among them. */
export const listOperations = (document: OpenApiDocument): ResolvedOperation[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    httpMethods.flatMap(method => {
      const operation = item[method]
      if (!operation) return []
      const resolve = <Target extends object>(value: Target | Reference) => resolveReference(document, value)
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(parameter =>
        resolve(parameter),
      )
      const responses = Object.entries(operation.responses).map(([status, response]) => [status, resolve(response)])
      return {
        id: operation.operationId,
        method,
        path,
        operation,
        parameters,
        requestBody: operation.requestBody ? resolve(operation.requestBody) : null,
        responses: Object.fromEntries(responses) as Record<string, ApiResponse>,
        security: operation.security ?? document.security ?? [],
      }
    }),
  )
