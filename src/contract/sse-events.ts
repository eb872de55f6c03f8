/** Server-sent events as the HTML standard parses them (section 9.2.6), from text cut anywhere. */

export interface SseEvent {
  /** `message` unless the stream names another. */
  type: string
  data: string
  id: string | null
}

export interface SseParser {
  /** The events that this piece completes. */
  push(text: string): SseEvent[]
  /** To be called at the end: `rest` is text after the last event's blank line, which a reader throws away; '' when all is well. */
  end(): { events: SseEvent[]; rest: string }
}

export function createSseParser(): SseParser {
  let rest = ''
  let unfinished = ''
  let atStart = true
  let type = ''
  let data: string[] = []
  let id: string | null = null

  function takeLine(line: string): SseEvent[] {
    unfinished += `${line}\n`
    if (line === '') {
      const event = data.length > 0 ? [{ type: type || 'message', data: data.join('\n'), id }] : []
      type = ''
      data = []
      unfinished = ''
      return event
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') type = value
    else if (field === 'id' && !value.includes('\0')) id = value
    return []
  }

  return {
    push(text) {
      rest += text
      if (atStart && rest.length > 0) {
        rest = rest.replace(/^\uFEFF/, '')
        atStart = false
      }
      const events: SseEvent[] = []
      for (;;) {
        const end = rest.search(/[\r\n]/)
        // A CR at the very end may be the first half of CRLF: the next piece tells.
        if (end < 0 || (rest[end] === '\r' && end === rest.length - 1)) return events
        const length = rest[end] === '\r' && rest[end + 1] === '\n' ? 2 : 1
        const line = rest.slice(0, end)
        rest = rest.slice(end + length)
        events.push(...takeLine(line))
      }
    },
    end() {
      const isLine = rest.endsWith('\r')
      const events = isLine ? takeLine(rest.slice(0, -1)) : []
      const left = isLine ? unfinished : unfinished + rest
      return { events, rest: left }
    },
  }
}

export interface SseByteParser {
  /** The events that these bytes complete. */
  push(bytes: Uint8Array): SseEvent[]
  end(): ReturnType<SseParser['end']>
}

/** The same from bytes cut anywhere, also within a character. What is not UTF-8 becomes U+FFFD, as the standard has it. */
export function createSseByteParser(): SseByteParser {
  const parser = createSseParser()
  // The parser drops the byte order mark itself, once.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    push: bytes => parser.push(decoder.decode(bytes, { stream: true })),
    end() {
      const events = parser.push(decoder.decode())
      const end = parser.end()
      return { events: [...events, ...end.events], rest: end.rest }
    },
  }
}

/** All events of a whole stream, and what is left after the last one. */
export function parseSse(text: string): { events: SseEvent[]; rest: string } {
  const parser = createSseParser()
  const events = parser.push(text)
  const end = parser.end()
  return { events: [...events, ...end.events], rest: end.rest }
}
