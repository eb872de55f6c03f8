/**
 * The contract as data. generated/openapi.json is read once, here; nothing else reads the document.
 *
 * For routes:      `operations`, `operationById(id)`: method, path, security, parameters, body, responses, references resolved.
 * For requests:    validate.ts: `validateRequest(operation, { path, query, headers, body })`, `validateBodyFile` (worker threads),
 *                  `validateBodyPart` (multipart); json-body.ts: `parseJsonBody(bytes)`.
 * For responses:   ../contract/conform.ts: `validateResponse(operation, reply)`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../generate/package-paths.ts'

export type Schema = boolean | SchemaObject
export interface SchemaObject {
  readonly [keyword: string]: unknown
}

/** Component schemas by name, as in the document. */
export type Components = Readonly<Record<string, Schema>>

export interface Parameter {
  /** As in the document; header names in lower case. */
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
  style: string
  explode: boolean
  /** A path parameter that may hold plain slashes: the rest of the path. */
  slashes: boolean
}

export interface MediaType {
  schema: Schema | null
  /** The schema of each event of a stream (OpenAPI 3.2). */
  itemSchema: Schema | null
}

export interface RequestBody {
  required: boolean
  contentTypes: string[]
  content: ReadonlyMap<string, MediaType>
  /** A limit of its own (`x-max-bytes`), for a body that must never be on disk; null: the deployment's. */
  maxBytes: number | null
}

export interface ResponseHeader {
  required: boolean
  schema: Schema
}

export interface ResponseContract {
  contentTypes: string[]
  content: ReadonlyMap<string, MediaType>
  /** By name in lower case. */
  headers: ReadonlyMap<string, ResponseHeader>
  itemSchema?: Schema
}

export interface Operation {
  operationId: string
  /** Upper case. */
  method: string
  /** The template, such as /v1/preview/models/{model_id}. */
  path: string
  tag: string
  /** interface: in the seed; extension: ours. */
  origin: string
  /** What not every caller has (`x-needs`): admin, the role in the team; plan, one with webhooks and automations. */
  needs: readonly string[]
  /** Schemes of which any one will do; empty: public. */
  security: ('bearer' | 'basic')[]
  parameters: Parameter[]
  requestBody: RequestBody | null
  responses: ReadonlyMap<number | 'default', ResponseContract>
  /** JSON pointer of the operation in the document. */
  pointer: string
  /** The document's component schemas, to which schemas above refer as #/components/schemas/<name>. */
  components: Components
}

type Node = Record<string, unknown>

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']

/** Where the bundled document stands, for those who serve it as it is. */
export const documentPath = join(packageRoot, 'generated', 'openapi.json')

/** For those who follow a JSON pointer into it, as pointer.ts does. */
export const contractDocument: Node = readDocument(documentPath)

export const operations: readonly Operation[] = toOperations(contractDocument)

const [delivery] = toOperations({ ...contractDocument, paths: contractDocument.webhooks }) as [Operation]
/** What the service sends to webhooks: an operation too, with its name for a path. */
export const deliveryOperation: Operation = { ...delivery, pointer: delivery.pointer.replace('/paths/', '/webhooks/') }

const byId = new Map(operations.map(operation => [operation.operationId, operation]))

/** Throws where the contract has no such operation: an id comes from code, never from a request. */
export function operationById(operationId: string): Operation {
  const operation = byId.get(operationId)
  if (!operation) throw new Error(`The contract has no operation named ${operationId}`)
  return operation
}

/** Every operation of an OpenAPI document, in its order, with references to parameters, bodies, responses and headers resolved. */
export function toOperations(document: Node): Operation[] {
  const components = (document.components as Node | undefined) ?? {}
  const resolve = (value: unknown): Node => resolveReference(document, value)
  const list: Operation[] = []
  for (const [path, item] of Object.entries((document.paths as Node | undefined) ?? {})) {
    const pathItem = resolve(item)
    for (const method of METHODS) {
      const operation = pathItem[method] as Node | undefined
      if (!operation) continue
      const parameters = [...asList(pathItem.parameters), ...asList(operation.parameters)]
      list.push({
        operationId: String(operation.operationId),
        method: method.toUpperCase(),
        path,
        tag: String(asList(operation.tags)[0] ?? ''),
        origin: String(operation['x-origin'] ?? ''),
        needs: asList(operation['x-needs']).map(String),
        security: toSecurity(asList(operation.security ?? document.security) as Node[], components),
        parameters: parameters.map(parameter => toParameter(resolve(parameter))),
        requestBody: operation.requestBody ? toRequestBody(resolve(operation.requestBody)) : null,
        responses: new Map(
          Object.entries((operation.responses as Node | undefined) ?? {}).map(([status, response]) => [
            status === 'default' ? 'default' : Number(status),
            toResponse(resolve(response), resolve),
          ]),
        ),
        pointer: `/paths/${escapePointer(path)}/${method}`,
        components: (components.schemas as Components | undefined) ?? {},
      })
    }
  }
  return list
}

/** Follows the references of a schema, one after the other, within its components. */
export function resolveSchema(schema: Schema, components: Components): Schema {
  let current = schema
  while (typeof current === 'object' && typeof current.$ref === 'string') {
    const next = components[current.$ref.slice(current.$ref.lastIndexOf('/') + 1)]
    if (next === undefined) throw new Error(`The contract has no schema ${current.$ref}`)
    current = next
  }
  return current
}

function toParameter(parameter: Node): Parameter {
  const location = parameter.in as Parameter['in']
  const style = String(parameter.style ?? (location === 'query' ? 'form' : 'simple'))
  return {
    name: location === 'header' ? String(parameter.name).toLowerCase() : String(parameter.name),
    in: location,
    required: parameter.required === true,
    schema: (parameter.schema as Schema | undefined) ?? true,
    style,
    explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
    slashes: parameter['x-slashes'] === true,
  }
}

function toRequestBody(body: Node): RequestBody {
  const content = toContent(body.content)
  const maxBytes = (body['x-max-bytes'] as number | undefined) ?? null
  return { required: body.required === true, contentTypes: [...content.keys()], content, maxBytes }
}

function toResponse(response: Node, resolve: (value: unknown) => Node): ResponseContract {
  const content = toContent(response.content)
  const headers = new Map<string, ResponseHeader>()
  for (const [name, value] of Object.entries((response.headers as Node | undefined) ?? {})) {
    const header = resolve(value)
    headers.set(name.toLowerCase(), {
      required: header.required === true,
      schema: (header.schema as Schema | undefined) ?? true,
    })
  }
  const itemSchema = [...content.values()].find(media => media.itemSchema !== null)?.itemSchema
  return { contentTypes: [...content.keys()], content, headers, ...(itemSchema ? { itemSchema } : {}) }
}

function toContent(content: unknown): Map<string, MediaType> {
  const entries = Object.entries((content as Record<string, Node> | undefined) ?? {})
  return new Map(
    entries.map(([type, media]) => [
      type.toLowerCase(),
      {
        schema: (media.schema as Schema | undefined) ?? null,
        itemSchema: (media.itemSchema as Schema | undefined) ?? null,
      },
    ]),
  )
}

function toSecurity(requirements: Node[], components: Node): Operation['security'] {
  const schemes = (components.securitySchemes as Record<string, Node> | undefined) ?? {}
  const names = requirements.flatMap(requirement => Object.keys(requirement))
  return names.map(name => {
    const scheme = String(schemes[name]?.scheme ?? '').toLowerCase()
    if (scheme !== 'bearer' && scheme !== 'basic')
      throw new Error(`Security scheme ${name} is neither bearer nor basic`)
    return scheme
  })
}

function resolveReference(document: Node, value: unknown): Node {
  let current = value as Node
  while (typeof current.$ref === 'string') {
    const steps = current.$ref.replace(/^#\//, '').split('/').map(unescapePointer)
    current = steps.reduce<unknown>((node, step) => (node as Node | undefined)?.[step], document) as Node
    if (!current) throw new Error(`The contract refers to nothing at #/${steps.join('/')}`)
  }
  return current
}

function readDocument(path: string): Node {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Node
  } catch (error) {
    throw new Error(`${path} cannot be read: run npm run generate`, { cause: error })
  }
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function escapePointer(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
