import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSseByteParser, createSseParser, parseSse } from '../../src/contract/sse-events.ts'

/** What a widely used parser makes of the same text. */
function secondOpinion(text: string): { type: string; data: string }[] {
  const events: { type: string; data: string }[] = []
  const parser = createParser({ onEvent: event => events.push({ type: event.event ?? 'message', data: event.data }) })
  parser.feed(text)
  return events
}

function inPieces(text: string, cuts: number[]): { type: string; data: string }[] {
  const parser = createSseParser()
  const events = []
  let start = 0
  for (const cut of [...cuts.map(cut => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length]) {
    events.push(...parser.push(text.slice(start, cut)))
    start = cut
  }
  events.push(...parser.end().events)
  return events.map(({ type, data }) => ({ type, data }))
}

describe('server-sent events', () => {
  it.each([
    ['data: a\n\n', ['a']],
    ['data:a\r\n\r\ndata:b\r\n\r\n', ['a', 'b']],
    ['data: a\r\rdata: b\r\r', ['a', 'b']],
    [': keep-alive\n\ndata: a\ndata: b\n\n', ['a\nb']],
    ['\uFEFFdata:  a\n\n', [' a']],
    ['data\n\n', ['']],
    ['event: x\n\n', []],
    ['data: unfinished', []],
  ])('%j holds %j', (text, data) => {
    expect(parseSse(text).events.map(event => event.data)).toEqual(data)
  })

  it('keep type and id, and forget the type after each event', () => {
    expect(parseSse('event: error\nid: 7\ndata: a\n\ndata: b\n\n').events).toEqual([
      { type: 'error', data: 'a', id: '7' },
      { type: 'message', data: 'b', id: '7' },
    ])
  })

  it('show what is left after the last whole event', () => {
    expect(parseSse('data: a\n\ndata: b').rest).toBe('data: b')
    expect(parseSse('data: a\n\ndata: b\n').rest).toBe('data: b\n')
    expect(parseSse('data: a\n\n').rest).toBe('')
  })

  it('are the same however the text is cut, and the same as another parser finds', () => {
    const line = fc.constantFrom(
      'data: a',
      'data:é',
      'data: {"b":1}',
      'event: e',
      ': note',
      'id: 1',
      'data',
      'other: x',
      '',
      '',
    )
    const text = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 })
      .map(lines => lines.flat().join(''))
    const property = fc.property(text, fc.array(fc.nat()), (text, cuts) => {
      expect(inPieces(text, cuts)).toEqual(secondOpinion(text))
    })
    fc.assert(property, { numRuns: 500 })
  })

  it('are found one character at a time, with a line end of two characters cut in half', () => {
    const text = 'event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n'
    expect(
      inPieces(
        text,
        [...text].map((_, index) => index),
      ),
    ).toEqual([
      { type: 'x', data: '1' },
      { type: 'message', data: '2' },
    ])
  })

  it('are the same wherever the bytes are cut, also within a character and within a line end', () => {
    const text = '\uFEFF: Zürich\r\n\r\ndata: {"t":"🚂 é"}\r\ndata:東京\r\n\r\nevent: x\rdata: 2\r\rdata: [DONE]\n\n'
    const bytes = new TextEncoder().encode(text)
    const expected = parseSse(text)
    expect(expected.events.map(({ data }) => data)).toEqual(['{"t":"🚂 é"}\n東京', '2', '[DONE]'])
    const cutAt = (...cuts: number[]) => {
      const parser = createSseByteParser()
      const bounds = [0, ...cuts, bytes.length]
      const events = bounds.slice(1).flatMap((end, index) => parser.push(bytes.subarray(bounds[index], end)))
      const end = parser.end()
      return { events: [...events, ...end.events], rest: end.rest }
    }
    for (let first = 0; first <= bytes.length; first++)
      for (let second = first; second <= bytes.length; second++) expect(cutAt(first, second)).toEqual(expected)
  })

  it('show bytes that are not UTF-8 as the standard has it', () => {
    const parser = createSseByteParser()
    const events = parser.push(new Uint8Array([...new TextEncoder().encode('data: '), 0xff, 0x0a, 0x0a]))
    expect(events.map(({ data }) => data)).toEqual(['\uFFFD'])
  })
})
