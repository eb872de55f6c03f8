import { isAbsolute } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeSettings, readSettings, SettingError } from '../../src/config.ts'

describe('a value that cannot be read names its variable and the rule', () => {
  test.each([
    ['PORT', 'eighty', 'a whole number'],
    ['PORT', '-1', 'a whole number'],
    ['PORT', '80.5', 'a whole number'],
    ['PORT', '65536', 'at most 65535'],
    ['STRICT', 'yes', '1 or 0'],
    ['BASE_PATH', 'training', 'begins with a slash'],
    ['BASE_PATH', '/a b', 'begins with a slash'],
    ['LOG_LEVEL', 'loud', 'one of trace'],
    ['ARTIFACT_SCHEME', 'a b', 'a URI scheme'],
    ['VENDOR', 'My Vendor', 'letters, digits and hyphens'],
    ['JOB_LEASE_MS', '0', 'at least 100'],
    ['MAX_BODY_BYTES', '256MB', 'a whole number'],
  ])('%s=%s', (variable, value, rule) => {
    const read = () => readSettings({ [variable]: value })
    expect(read).toThrow(SettingError)
    expect(read).toThrow(variable)
    expect(read).toThrow(rule)
  })
})

test('an empty value is like none: it opens no address and takes no other folder', () => {
  const empty = Object.fromEntries(describeSettings().map(({ variable }) => [variable, '']))
  expect(readSettings(empty)).toEqual(readSettings({}))
  expect(readSettings(empty)).toMatchObject({ host: '127.0.0.1', port: 8080, corsOrigins: [], apiKey: '' })
})

test('values are read as what they are', () => {
  expect(
    readSettings({
      PORT: '0',
      BASE_PATH: '/a/b//',
      STRICT: 'true',
      CORS_ORIGINS: ' https://a , ,https://b ',
      DATA_DIR: 'data',
    }),
  ).toMatchObject({ port: 0, basePath: '/a/b', strict: true, corsOrigins: ['https://a', 'https://b'] })
  expect(readSettings({ BASE_PATH: '/' }).basePath).toBe('')
  expect(isAbsolute(readSettings({ DATA_DIR: 'data' }).dataDir)).toBe(true)
})
