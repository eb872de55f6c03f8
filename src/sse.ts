import { Readable } from 'node:stream'

/** Why a stream ends with a frame instead of a status: the head is long gone. */
export type ToErrorFrame = (error: unknown) => object

/** Events as a text/event-stream: one `data:` line of JSON each, then `[DONE]`. A failure midway is one frame, and `[DONE]` after it. */
export function toEventStream(events: AsyncIterable<unknown>, toErrorFrame: ToErrorFrame): Readable {
  return Readable.from(frames(events, toErrorFrame), { objectMode: false })
}

async function* frames(events: AsyncIterable<unknown>, toErrorFrame: ToErrorFrame): AsyncGenerator<string> {
  try {
    for await (const event of events) yield frame(event)
  } catch (error) {
    yield frame(toErrorFrame(error))
  }
  yield 'data: [DONE]\n\n'
}

function frame(event: unknown): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
