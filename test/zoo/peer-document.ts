/** The contract cut down to some operations, with things that are there as the examples: what other tools are given. */
import { contractDocument } from '../../src/spec/document.ts'
import type { PeerExample } from './peer-requests.ts'

type Node = Record<string, unknown>

/** `version` takes the place of the document's own `openapi`. */
export function toPeerDocument(examples: readonly PeerExample[], version?: string): Node {
  const paths: Record<string, Node> = {}
  for (const example of examples) {
    const { path, method } = example.operation
    paths[path] = { ...paths[path], [method.toLowerCase()]: toOperation(example) }
  }
  const { webhooks: _, components, ...others } = contractDocument
  const document = { ...others, ...(version ? { openapi: version } : {}), paths }
  return { ...document, components: toReached(paths, components as Record<string, Node>) }
}

function toOperation(example: PeerExample): Node {
  const { path, method } = example.operation
  const item = (contractDocument.paths as Record<string, Node>)[path]!
  const operation = item[method.toLowerCase()] as Node
  const listed = [item.parameters ?? [], operation.parameters ?? []].flat() as Node[]
  const body = operation.requestBody ? resolve(operation.requestBody as Node) : null
  return {
    ...operation,
    parameters: listed.map(resolve).map(parameter => withExample(parameter, example)),
    ...(body ? { requestBody: { ...body, content: toContent(body.content as Record<string, Node>, example) } } : {}),
  }
}

function withExample(parameter: Node, example: PeerExample): Node {
  if (parameter.in === 'header') return parameter
  const { examples: _, example: __, ...others } = parameter
  const name = String(parameter.name)
  const value = parameter.in === 'path' ? example.path[name] : example.query[name]
  return value === undefined ? others : { ...others, example: value }
}

function toContent(content: Record<string, Node>, { body }: PeerExample): Record<string, Node> {
  if (body === undefined) return content
  return Object.fromEntries(
    Object.entries(content).map(([type, { examples: _, example: __, ...media }]) => [
      type,
      { ...media, example: body },
    ]),
  )
}

/** Components that the paths refer to, and those that these refer to. */
function toReached(paths: Node, components: Record<string, Node>): Record<string, Node> {
  const reached: Record<string, Node> = { securitySchemes: components.securitySchemes! }
  const follow = (node: unknown) => {
    for (const [, kind, name] of JSON.stringify(node).matchAll(/#\/components\/(\w+)\/([^"/]+)/g)) {
      if (reached[kind!]?.[name!]) continue
      const component = components[kind!]![name!]
      reached[kind!] = { ...reached[kind!], [name!]: component }
      follow(component)
    }
  }
  follow(paths)
  return reached
}

function resolve(node: Node): Node {
  const { 1: kind, 2: name } = /^#\/components\/(\w+)\/([^/]+)$/.exec(String(node.$ref)) ?? []
  return kind ? (contractDocument.components as Record<string, Record<string, Node>>)[kind]![name!]! : node
}
