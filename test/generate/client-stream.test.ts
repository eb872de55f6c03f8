import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { ApiError, createClient } from '../../generated/client.ts'

const examples = join(import.meta.dirname, '../../spec/examples')
const readExample = async (name: string): Promise<string> =>
  parse(await readFile(join(examples, `createChatCompletion-${name}.yaml`), 'utf8')).value

/** A client that gets these bytes as the reply, in chunks of a given size. */
const createStreamClient = (text: string, { chunkBytes = 1, leaveOpen = false } = {}) => {
  const seen = { request: null as Request | null, canceled: false }
  const bytes = new TextEncoder().encode(text)
  let position = 0
  const body = new ReadableStream<Uint8Array>({
    pull: controller => {
      const chunk = bytes.subarray(position, position + chunkBytes)
      position += chunkBytes
      if (chunk.length > 0) controller.enqueue(chunk)
      else if (!leaveOpen) controller.close()
    },
    cancel: () => {
      seen.canceled = true
    },
  })
  const client = createClient({
    baseUrl: 'http://service.test',
    apiKey: 'key-1',
    fetch: async request => {
      seen.request = request
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-request-id': 'r-1' } })
    },
  })
  return { client, seen }
}
const input = { model: 'tiny-chat', messages: [{ role: 'user' as const, content: 'hello' }] }
const toFrame = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const collectText = async (client: ReturnType<typeof createStreamClient>['client']) => {
  let text = ''
  for await (const chunk of client.streamChatCompletion(input)) text += chunk.choices[0]?.delta.content ?? ''
  return text
}

describe('streamChatCompletion', () => {
  test('asks for a stream and gives the chunks of the documented example, fed one byte at a time', async () => {
    const { client, seen } = createStreamClient(await readExample('stream'))
    const chunks = []
    for await (const chunk of client.streamChatCompletion(input)) chunks.push(chunk)
    expect(await seen.request!.json()).toEqual({ ...input, stream: true })
    expect(seen.request!.headers.get('accept')).toMatch(/^text\/event-stream/)
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks.every(chunk => chunk.object === 'chat.completion.chunk')).toBe(true)
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: expect.any(Number) })
  })

  test.each([1, 2, 3, 7, 1000])(
    'keeps characters whole that are split between chunks of %i bytes',
    async chunkBytes => {
      const text = `${toFrame('grün ')}: comment\n\n${toFrame('🚂 ')}${toFrame('列車')}data: [DONE]\n\n`
      const { client } = createStreamClient(text, { chunkBytes })
      expect(await collectText(client)).toBe('grün 🚂 列車')
    },
  )

  test('understands CRLF line ends, and ignores what comes after [DONE]', async () => {
    const text = `${toFrame('a')}data: [DONE]\n\n${toFrame('b')}`.replaceAll('\n', '\r\n')
    const { client, seen } = createStreamClient(text, { leaveOpen: true })
    expect(await collectText(client)).toBe('a')
    expect(seen.canceled).toBe(true)
  })

  test('throws an error that comes inside the stream', async () => {
    const { client } = createStreamClient(await readExample('stream-error'))
    const error = await collectText(client).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ operationId: 'createChatCompletion', status: 200, requestId: 'r-1' })
    expect((error as ApiError).error?.code).toBe('internal_error')
  })

  test('throws when the stream ends before [DONE]', async () => {
    const { client } = createStreamClient(toFrame('a'))
    await expect(collectText(client)).rejects.toThrow('the stream ended before [DONE]')
  })

  test('throws the error of a reply that is no stream', async () => {
    const body = {
      detail: 'no such model',
      error: { message: 'no such model', type: 'not_found_error', param: 'model', code: null },
    }
    const client = createClient({
      baseUrl: 'http://service.test',
      fetch: async () => Response.json(body, { status: 404 }),
    })
    const chunks = client.streamChatCompletion(input)
    await expect(chunks.next()).rejects.toMatchObject({ status: 404, detail: 'no such model' })
  })

  test('closes the connection when the loop is left early', async () => {
    const { client, seen } = createStreamClient(`${toFrame('a')}${toFrame('b')}`, { leaveOpen: true })
    for await (const chunk of client.streamChatCompletion(input)) {
      expect(chunk.choices[0]?.delta.content).toBe('a')
      break
    }
    expect(seen.canceled).toBe(true)
  })

  test('ends the request and throws when its signal is aborted', async () => {
    const server = createServer((_, response) => response.write(toFrame('a')))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => server.closeAllConnections() ?? void server.close())
    const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
    const [abort, request] = [new AbortController(), once(server, 'request')]
    const chunks = client.streamChatCompletion(input, { signal: abort.signal })
    expect((await chunks.next()).value?.choices[0]?.delta.content).toBe('a')
    const closed = once((await request)[1], 'close')
    abort.abort()
    await expect(chunks.next()).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    await closed
  })
})
