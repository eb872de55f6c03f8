import { Readable } from 'node:stream'

/** Why a stream ends with a frame instead of a status: the head is long gone. */
export type ToErrorFrame = (error: unknown) => object

/** A comment, which readers of events pass over: it keeps proxies from closing a connection that is silent. */
const KEEP_ALIVE = ': keep-alive\n\n'
const DONE = 'data: [DONE]\n\n'

/**
 * Events as a text/event-stream: one `data:` line of JSON each, then `[DONE]`. A failure midway is one frame, and `[DONE]` after it.
 * Before `keepAliveMs` pass without an event there is a comment, between two frames.
 */
export function toEventStream(
  events: AsyncIterable<unknown>,
  toErrorFrame: ToErrorFrame,
  keepAliveMs: number,
): Readable {
  let isSilent = true
  let timer: NodeJS.Timeout | undefined
  const stream: Readable = Readable.from(frames(), { objectMode: false })

  async function* frames(): AsyncGenerator<string> {
    // One timer for the stream, not one for each frame: frames are many.
    timer = setInterval(keepAlive, keepAliveMs / 2)
    try {
      for await (const event of events) {
        isSilent = false
        yield frame(event)
      }
    } catch (error) {
      yield frame(toErrorFrame(error))
    } finally {
      // Nothing may come after the end.
      clearInterval(timer)
    }
    yield DONE
  }

  function keepAlive(): void {
    // What has not been read yet keeps the connection busy by itself.
    if (isSilent && stream.readableLength === 0) stream.push(KEEP_ALIVE)
    isSilent = true
  }

  // A stream that is destroyed does not end its generator while that waits for an event.
  stream.once('close', () => clearInterval(timer))
  return stream
}

function frame(event: unknown): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
