import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SecretBox, UnreadableSecretError } from '../../src/secrets/secret-box.ts'

const PLACE = 'lab/TOKEN'
const VALUE = 'the value \u{1f600} of a secret'
const keys = [randomBytes(32), randomBytes(32)] as [Buffer, Buffer]
const box = new SecretBox([keys[0]])

test('a value comes back as it was, and is sealed differently each time', () => {
  const one = box.seal(VALUE, PLACE)
  expect(box.open(one, PLACE)).toBe(VALUE)
  expect(box.seal(VALUE, PLACE).sealed).not.toBe(one.sealed)
  expect(JSON.stringify(one)).not.toContain(keys[0].toString('base64').slice(0, 20))
})

describe('what was changed cannot be opened', () => {
  const { keyId, sealed } = box.seal(VALUE, PLACE)
  const bytes = Buffer.from(sealed, 'base64')

  test('in any byte', () => {
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(() => box.open({ keyId, sealed: changed.toString('base64') }, PLACE)).toThrow(UnreadableSecretError)
    }
  })

  test('in its length', () => {
    for (const length of [0, 5, 12, 20, 27, 28, bytes.length - 1]) {
      const cut = bytes.subarray(0, length).toString('base64')
      expect(() => box.open({ keyId, sealed: cut }, PLACE), String(length)).toThrow(UnreadableSecretError)
    }
  })

  test('in its place', () => {
    for (const place of ['lab/OTHER', 'lab2/TOKEN', '']) {
      expect(() => box.open({ keyId, sealed }, place)).toThrow(UnreadableSecretError)
    }
  })

  test('and the reason names the place, not the content', () => {
    expect(() => box.open({ keyId, sealed }, 'lab/OTHER')).toThrow(/^The secret lab\/OTHER cannot be read/)
  })
})

test('a value under a key that is not at hand cannot be opened', () => {
  const other = new SecretBox([keys[1]])
  expect(() => other.open(box.seal(VALUE, PLACE), PLACE)).toThrow(/master key, [0-9a-f]{16}, is not at hand/)
})

test('the newest key seals, and the older ones open', () => {
  const rotated = new SecretBox([keys[1], keys[0]])
  expect(rotated.open(box.seal(VALUE, PLACE), PLACE)).toBe(VALUE)
  const sealed = rotated.seal(VALUE, PLACE)
  expect(new SecretBox([keys[1]]).open(sealed, PLACE)).toBe(VALUE)
  expect(() => box.open(sealed, PLACE)).toThrow(UnreadableSecretError)
})

test('keys that come later are read when one is missing and before each sealing, and earlier ones stay', () => {
  let current = [keys[0]]
  const following = new SecretBox(() => current)
  const old = following.seal(VALUE, PLACE)
  current = [keys[1]]
  const sealed = new SecretBox([keys[1]]).seal(VALUE, PLACE)
  expect(following.open(sealed, PLACE)).toBe(VALUE)
  expect(following.seal(VALUE, PLACE).keyId).toBe(sealed.keyId)
  expect(following.open(old, PLACE)).toBe(VALUE)
})

test('a key of another length, or none, is refused', () => {
  expect(() => new SecretBox([randomBytes(31)])).toThrow(RangeError)
  expect(() => new SecretBox([])).toThrow(RangeError)
})
