/** Hooks that change streams of server-sent events, event by event. */
import type { Json } from './change-replies.ts'
import { jsonOf } from './change-requests.ts'
import type { Fault, ZooContext, ZooRequest } from './fault.ts'

type Hook = Required<Pick<Fault, 'onEvents'>>

const DONE = '[DONE]'
const END_OF_EVENT = '\n\n'

/** The events of a stream, each with its final blank line, as soon as it is whole; last what is left. */
export async function* toEvents(pieces: AsyncIterable<Buffer>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true })
    for (let end = rest.indexOf(END_OF_EVENT); end >= 0; end = rest.indexOf(END_OF_EVENT)) {
      yield rest.slice(0, end + END_OF_EVENT.length)
      rest = rest.slice(end + END_OF_EVENT.length)
    }
  }
  if (rest !== '') yield rest
}

/** `change` gives what comes instead of one event, '' for nothing. */
export function eventText(change: (event: string, request: ZooRequest, context: ZooContext) => string): Hook {
  return {
    async *onEvents(pieces, request, context) {
      for await (const event of toEvents(pieces)) {
        const changed = change(event, request, context)
        if (changed !== '') yield Buffer.from(changed)
      }
    },
  }
}

export interface ChunkPlace {
  /** Number of the event in its stream. */
  index: number
  /** The body of the request. */
  request: Json
  /** Fresh for each stream. */
  memory: Map<string, Json>
}

/** `change` alters each JSON event in place or gives another one; null drops it. `[DONE]` and comments stay. */
export function chunks(change: (chunk: Json, place: ChunkPlace) => Json): Hook {
  return {
    async *onEvents(pieces, request) {
      const memory = new Map<string, Json>()
      let index = 0
      for await (const event of toEvents(pieces)) {
        const chunk = readChunk(event)
        const changed =
          chunk === undefined ? undefined : change(chunk, { index: index++, request: jsonOf(request), memory })
        if (chunk === undefined) yield Buffer.from(event)
        else if (changed !== null) yield Buffer.from(writeChunk(changed ?? chunk))
      }
    },
  }
}

/** What the event's data holds, undefined where it is no JSON. */
export function readChunk(event: string): Json {
  const data = event.startsWith('data: ') ? event.slice('data: '.length).trim() : DONE
  return data === DONE ? undefined : JSON.parse(data)
}

export function writeChunk(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}${END_OF_EVENT}`
}

export function isDone(event: string): boolean {
  return event.trim() === `data: ${DONE}`
}
