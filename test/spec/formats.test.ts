import { describe, expect, it } from 'vitest'
import { formats } from '../../src/spec/formats.ts'

const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'

describe('formats', () => {
  const judge = (name: string, value: unknown) => (formats[name]!.validate as (value: unknown) => boolean)(value)

  it.each([
    ['date-time', '2026-02-28T23:59:60.123456Z'],
    ['date-time', '2024-02-29T00:00:00+14:00'],
    ['date', '2000-02-29'],
    ['uuid', ID.toUpperCase()],
    ['uri', 'artifact:///default/p/n:v0'],
    ['int64', -(2 ** 63)],
    ['byte', 'aGk='],
  ])('%s takes %s', (name, value) => expect(judge(name, value)).toBe(true))

  it.each([
    ['date-time', '2026-01-02 03:04:05Z'],
    ['date-time', '2026-01-02T03:04:05'],
    ['date-time', '2026-02-30T03:04:05Z'],
    ['date-time', '2026-01-02T24:00:00Z'],
    ['date', '1900-02-29'],
    ['date', '2026-1-2'],
    ['uuid', `urn:uuid:${ID}`],
    ['uuid', ID.replaceAll('-', '')],
    ['uri', 'no scheme'],
    ['uri', 'http://a/%zz'],
    ['int64', 1e30],
    ['int64', 2 ** 63],
    ['int64', 1.5],
    ['int32', 2 ** 31],
    ['byte', 'a'],
  ])('%s refuses %s', (name, value) => expect(judge(name, value)).toBe(false))
})
