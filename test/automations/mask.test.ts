import { describe, expect, test } from 'vitest'
import { MASK, Mask } from '../../src/automations/mask.ts'

const SECRET = 'pa"ss/w+rd&ünïque ~key\\1'

const FORMS: [string, string][] = [
  ['plain', SECRET],
  ['JSON', JSON.stringify(SECRET)],
  ['JSON within JSON', JSON.stringify(JSON.stringify({ a: SECRET }))],
  ['JSON with escaped slashes', JSON.stringify(SECRET).replaceAll('/', '\\/')],
  [
    'JSON in ASCII',
    JSON.stringify(SECRET).replace(/[\u0080-\uffff]/g, one => `\\u00${one.charCodeAt(0).toString(16)}`),
  ],
  ['a URL', encodeURIComponent(SECRET)],
  ['a URL in small letters', encodeURIComponent(SECRET).replace(/%../g, code => code.toLowerCase())],
  ['a form', new URLSearchParams({ a: SECRET }).toString()],
  ['HTML', SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ['hexadecimal digits', Buffer.from(SECRET).toString('hex')],
  ...['', 'a', 'ab', 'abc'].map(
    before =>
      [`base64 after ${before.length} bytes`, Buffer.from(`${before}${SECRET}!`).toString('base64')] as [
        string,
        string,
      ],
  ),
  ['base64 for URLs', Buffer.from(`x${SECRET}`).toString('base64url')],
  ['base64 of JSON', Buffer.from(JSON.stringify({ a: SECRET })).toString('base64')],
]

describe('a secret is masked', () => {
  test.each(FORMS)('in %s', (_name, form) => {
    const masked = new Mask([SECRET, 'another-one']).apply(`before ${form} after another-one.`)
    expect(masked).toContain(MASK)
    expect(masked).not.toContain(form)
    expect(masked).not.toContain('another-one')
    // What is left of an encoding is what its neighbours share with it.
    const left = masked.replaceAll(MASK, '').replace(/^before | after \.$/g, '')
    expect(left.length).toBeLessThanOrEqual(16)
  })

  test('also where one secret is part of the other', () => {
    expect(new Mask(['secret', 'secret-and-more']).apply('secret-and-more secret')).toBe(`${MASK} ${MASK}`)
  })

  test('and nothing else is', () => {
    const mask = new Mask(['s3cr3t', ''])
    expect(mask.apply('a text about nothing')).toBe('a text about nothing')
    expect(new Mask([]).apply('anything')).toBe('anything')
  })
})

describe('of a text that is cut', () => {
  const mask = new Mask(['0123456789'])

  test.each([0, 1, 5, 9, 10, 11])('no part of a secret is left, %i characters before the cut', before => {
    const bytes = Buffer.from(`${'x'.repeat(100 - before)}0123456789${'y'.repeat(50)}`)
    const kept = mask.applyToStart(bytes.subarray(0, 100 + mask.longestBytes), 100)
    expect(kept).toBe('x'.repeat(100 - before) + (before >= 10 ? MASK + 'y'.repeat(before - 10) : ''))
  })

  test('the cut is made in bytes', () => {
    const bytes = Buffer.from(`${'é'.repeat(49)}0123456789`)
    expect(mask.applyToStart(bytes, 100)).toBe('é'.repeat(49))
    expect(mask.applyToStart(bytes, 1000)).toBe('é'.repeat(49) + MASK)
  })
})
