/** A streamed completion, read event by event as it arrives. */
import type { components } from '../../generated/schema.d.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { DONE } from '../../src/contract/conform.ts'
import { createSseParser } from '../../src/contract/sse-events.ts'
import { client } from './setup.ts'

export type Chunk = components['schemas']['ChatCompletionChunk']

export interface Streamed {
  chunks: Chunk[]
  /** The content of each choice, by index. */
  texts: string[]
  /** How often bytes arrived. */
  arrivals: number
}

/** Throws where the answer is not a stream; that its events conform is checked by the client. */
export async function streamChat(body: object, options: CallOptions & { id?: OperationId } = {}): Promise<Streamed> {
  const { id = 'createChatCompletion', ...rest } = options
  const response = await client.open(id, { ...rest, body: { ...body, stream: true } })
  const type = response.headers.get('content-type') ?? ''
  if (response.status !== 200 || !type.startsWith('text/event-stream')) {
    throw new Error(`No stream but ${response.status} ${type}: ${await response.text()}`)
  }
  const parser = createSseParser()
  const decoder = new TextDecoder()
  const chunks: Chunk[] = []
  let arrivals = 0
  for await (const bytes of response.body!) {
    arrivals++
    const events = parser.push(decoder.decode(bytes, { stream: true }))
    chunks.push(...events.filter(({ data }) => data !== DONE).map(({ data }) => JSON.parse(data) as Chunk))
  }
  const texts: string[] = []
  for (const { index, delta } of chunks.flatMap(chunk => chunk.choices))
    texts[index] = (texts[index] ?? '') + (delta.content ?? '')
  return { chunks, texts, arrivals }
}
