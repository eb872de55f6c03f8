import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../generated/client.ts'
import {
  listOperations,
  type MediaType,
  type OpenApiDocument,
  type ResolvedOperation,
  resolveReference,
} from '../../src/generate/document.ts'
import { type Mock, startMock } from '../../src/generate/mock.ts'

const root = join(import.meta.dirname, '../..')
const document = JSON.parse(await readFile(join(root, 'generated/openapi.json'), 'utf8')) as OpenApiDocument
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'contract')
let mock: Mock

beforeAll(async () => {
  mock = await startMock({ port: 0 })
})
afterAll(() => mock.close())

const toExample = ({ example, examples }: MediaType): unknown =>
  example ?? (resolveReference(document, Object.values(examples ?? {})[0]!) as { value?: unknown }).value

/** The request that the contract gives as an example of the operation. */
const toExampleRequest = ({ path, parameters, requestBody, ...operation }: ResolvedOperation) => {
  // fetch() leaves `patch` as it is.
  const method = operation.method.toUpperCase()
  const route = parameters
    .filter(parameter => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), path)
  const headers: Record<string, string> = { authorization: 'Bearer key-1' }
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (!type || !media) return new Request(mock.url + route, { method, headers })
  if (type === 'application/json') {
    const body = JSON.stringify(toExample(media))
    return new Request(mock.url + route, { method, body, headers: { ...headers, 'content-type': type } })
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(toExample(media) as Record<string, unknown>)) {
    for (const file of Array.isArray(value) ? value : []) form.append(name, new Blob([file]), 'trajectories.jsonl')
    if (!Array.isArray(value)) form.append(name, JSON.stringify(value))
  }
  return new Request(mock.url + route, { method, body: form, headers })
}

describe('the mock', () => {
  test.each(listOperations(document).map(operation => [operation.id, operation] as const))(
    '%s answers its example, which fits its schema',
    async (_, operation) => {
      const response = await fetch(toExampleRequest(operation))
      expect(response.headers.get('sl-violations')).toBeNull()
      expect(response.status).toBe(200)
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      const media = operation.responses['200']?.content?.[type]
      if (!media) throw new Error(`${operation.id} does not declare ${type}`)
      if (type !== 'application/json') {
        expect(await response.text()).toBe(toExample(media))
        return
      }
      const body = await response.json()
      expect(body).toEqual(toExample(media))
      const validate = ajv.compile({ $defs: {}, $ref: toSchemaPointer(media) })
      expect(validate(body), JSON.stringify(validate.errors)).toBe(true)
    },
  )

  test('streams chat completions when the body asks for it, with no other header', async () => {
    const client = createClient({
      baseUrl: mock.url,
      apiKey: 'key-1',
      middleware: [{ onRequest: ({ request }) => void request.headers.delete('accept') }],
    })
    let text = ''
    for await (const chunk of client.streamChatCompletion({ messages: [{ role: 'user', content: 'hello' }] })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text.length).toBeGreaterThan(0)
  })

  test('refuses a form without files', async () => {
    const route = `${mock.url}/v1/preview/artifacts/default/demo/data/versions`
    const headers = { authorization: 'Bearer key-1' }
    const form = new FormData()
    form.append('version', '{}')
    expect((await fetch(route, { method: 'POST', headers, body: form })).status).toBe(422)
  })

  test('honours Prefer, also when a stream is asked for', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], stream: true })
    const headers = { authorization: 'Bearer key-1', 'content-type': 'application/json', prefer: 'code=429' }
    const response = await fetch(`${mock.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await response.json()).toHaveProperty('error.type', 'rate_limit_error')
  })

  test('refuses what the contract refuses', async () => {
    const client = createClient({ baseUrl: mock.url })
    await expect(client.listModels()).rejects.toMatchObject({ status: 401 })
    const bad = createClient({ baseUrl: mock.url, apiKey: 'key-1' }).listModels({ limit: 101 })
    await expect(bad).rejects.toMatchObject({ status: 422, error: { type: 'invalid_request_error' } })
  })

  test('fails to start on a port that is taken', async () => {
    await expect(startMock({ port: Number(new URL(mock.url).port) })).rejects.toThrow('EADDRINUSE')
  })

  test('fails to start on a document without operations, with what Prism says', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trainyard-mock-test-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const documentFile = join(folder, 'openapi.json')
    await writeFile(
      documentFile,
      JSON.stringify({ openapi: '3.2.0', info: { title: 'none', version: '1' }, paths: {} }),
    )
    await expect(startMock({ port: 0, documentFile })).rejects.toThrow(/prism ended .*No operations/s)
  })

  test('is started by its script, which prints the address and ends with both processes on SIGTERM', async () => {
    const child = spawn(process.execPath, [join(root, 'src/generate/mock.ts'), '--port', '0'])
    const exited = once(child, 'exit')
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const address = String(line).match(/http:\/\/127\.0\.0\.1:\d+/)?.[0]
    expect((await fetch(`${address}/v1/health`)).status).toBe(200)
    child.kill('SIGTERM')
    expect((await exited)[0]).toBe(0)
    await expect(fetch(`${address}/v1/health`)).rejects.toThrow()
  })
})

const toSchemaPointer = ({ schema }: MediaType) => {
  if (!schema?.$ref) throw new Error('the schema of a JSON reply is a reference to a component')
  return `contract${schema.$ref}`
}
