import { describe, expect, test } from 'vitest'
import { TextStream } from '../../src/onnx/text-stream.ts'

function pushAll(stream: TextStream, parts: (string | number[])[]): string[] {
  const shown = parts.map(part => stream.push(typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part)))
  return [...shown, stream.end()]
}

describe('characters', () => {
  test('appear when they are whole', () => {
    const [first, ...rest] = Buffer.from('🙂')
    const shown = pushAll(new TextStream([]), ['a', [first!], rest.slice(0, 2), rest.slice(2), 'b'])
    expect(shown).toEqual(['a', '', '', '🙂', 'b', ''])
  })

  test('left unfinished at the end are dropped', () => {
    expect(pushAll(new TextStream([]), ['a', [0xf0, 0x9f]])).toEqual(['a', '', ''])
  })

  test('that cannot be UTF-8 show as the replacement character', () => {
    expect(pushAll(new TextStream([]), [[0xff], 'a']).join('')).toBe('\ufffda')
  })

  test('of two UTF-16 units are never cut by what is held back', () => {
    const shown = pushAll(new TextStream(['xy']), ['a', '🙂', 'b'])
    expect(shown.join('')).toBe('a🙂b')
    for (const text of shown) expect(text).not.toMatch(/[\ud800-\udbff]$/)
  })
})

describe('stop strings', () => {
  test('and everything after them are not shown, wherever tokens are cut', () => {
    for (const parts of [['one STOP two'], ['one S', 'TO', 'P two'], [...'one STOP two']]) {
      const stream = new TextStream(['STOP'])
      const shown: string[] = []
      for (const part of parts) {
        shown.push(stream.push(Buffer.from(part)))
        if (stream.isStopped) break
      }
      expect([...shown, stream.end()].join('')).toBe('one ')
      expect(stream.isStopped).toBe(true)
    }
  })

  test('the first in the text ends it, whatever their order', () => {
    const stream = new TextStream(['c', 'ab'])
    expect(stream.push(Buffer.from('xabc'))).toBe('x')
  })

  test('hold back no more than their length less one', () => {
    const stream = new TextStream(['1234'])
    expect(stream.push(Buffer.from('abcdef'))).toBe('abc')
    expect(stream.end()).toBe('def')
  })

  test('that do not come leave the text whole', () => {
    expect(pushAll(new TextStream(['STOP', 'x']), ['ST', 'OST', 'O']).join('')).toBe('STOSTO')
  })
})
