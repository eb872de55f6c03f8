import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAXIMUM_DEPTH, parseJsonBody } from '../../src/spec/json-body.ts'

describe('JSON text', () => {
  const parse = (text: string) => parseJsonBody(Buffer.from(text))

  it.each<[string, number]>([
    ['', 0],
    ['{"a": 1,}', 8],
    ['{"a" 1}', 5],
    ['[1 2]', 3],
    ['[1,]', 3],
    ['{a: 1}', 1],
    ['nul', 0],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['01', 1],
    ['[1', 2],
    ['"abc', 4],
    ['{}}', 2],
    ['[}', 1],
  ])('at fault: %j, offset %i', (text, offset) => {
    expect(parse(text)).toEqual({
      ok: false,
      detail: [{ loc: ['body', String(offset)], msg: expect.any(String), type: 'json_invalid' }],
    })
  })

  it('is judged as JSON.parse judges it, and the offset lies in the text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '.5',
      'e9',
      'true',
      'null',
      ' ',
      '\\',
      'x',
    )
    const property = fc.property(fc.array(pieces, { maxLength: 8 }), list => {
      const text = list.join('')
      const result = parse(text)
      let expected = true
      try {
        JSON.parse(text)
      } catch {
        expected = false
      }
      if (result.ok !== expected) return false
      return result.ok || Number(result.detail[0]!.loc[1]) <= text.length
    })
    fc.assert(property, { numRuns: 2000 })
  })

  it('that is not UTF-8 is at fault where the bytes are', () => {
    const bytes = Buffer.concat([Buffer.from('{"é\uFFFD": "'), Buffer.from([0xc3]), Buffer.from('"}')])
    expect(parseJsonBody(bytes)).toMatchObject({ ok: false, detail: [{ loc: ['body', '8'], type: 'json_invalid' }] })
  })

  it('may start with a byte order mark and may nest, but not without end', () => {
    expect(parse('\uFEFF[1]')).toEqual({ ok: true, value: [1], text: '[1]' })
    const nest = (depth: number) => '['.repeat(depth) + `"\\"${'['.repeat(300)}\\\\"` + ']'.repeat(depth)
    expect(parse(nest(MAXIMUM_DEPTH)).ok).toBe(true)
    expect(parse(nest(MAXIMUM_DEPTH + 1))).toMatchObject({ ok: false, detail: [{ loc: ['body', '256'] }] })
  })
})
