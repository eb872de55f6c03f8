import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from './start.ts'
import { uploadVersion } from './upload.ts'

const CONTENT = '0123456789'
const FILES = '/v1/preview/artifacts/default/p/a/versions/v0/files'

let server: TestServer
let digests: Map<string, string>

beforeAll(async () => {
  server = await startTestServer()
  const files = { 'digits.txt': CONTENT, empty: '', 'deep/er/file name é%.txt': 'deep', lost: 'about to be lost' }
  const { body } = await uploadVersion(server, 'default/p/a', { files })
  digests = new Map(body.files.map((file: { path: string; sha256: string }) => [file.path, file.sha256]))
})
afterAll(() => server.close())

describe('a Range of a file of ten bytes', () => {
  test.each([
    ['bytes=0-4', 206, '01234', 'bytes 0-4/10'],
    ['bytes=3-3', 206, '3', 'bytes 3-3/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=0-', 206, CONTENT, 'bytes 0-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, CONTENT, 'bytes 0-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, null, 'bytes */10'],
    ['bytes=99-100', 416, null, 'bytes */10'],
    ['bytes=-0', 416, null, 'bytes */10'],
    ['bytes=99999999999999999999-', 416, null, 'bytes */10'],
    ['bytes=4-2', 200, CONTENT, null],
    ['bytes=0-1,3-4', 200, CONTENT, null],
    ['bytes=-', 200, CONTENT, null],
    ['bytes=a-b', 200, CONTENT, null],
    ['items=0-4', 200, CONTENT, null],
    ['0-4', 200, CONTENT, null],
  ])('%s is a %i', async (range, status, text, contentRange) => {
    const reply = await server.call(`${FILES}/digits.txt`, { headers: { range } })
    expect(reply.status).toBe(status)
    expect(reply.headers.get('content-range')).toBe(contentRange)
    if (text === null) expect(reply.body.error.code).toBe('range_not_satisfiable')
    else {
      expect(reply.text).toBe(text)
      expect(reply.headers.get('content-length')).toBe(String(text.length))
      expect(reply.headers.get('etag')).toBe(`"${digests.get('digits.txt')}"`)
      expect(reply.headers.get('accept-ranges')).toBe('bytes')
      expect(reply.headers.get('content-type')).toBe('application/octet-stream')
    }
  })
})

test('an empty file is read, and has no range', async () => {
  const whole = await server.call(`${FILES}/empty`)
  expect([whole.status, whole.text, whole.headers.get('content-length')]).toEqual([200, '', '0'])
  expect((await server.call(`${FILES}/empty`, { headers: { range: 'bytes=0-' } })).status).toBe(416)
})

test('a path may be encoded whole, or have plain slashes', async () => {
  const path = 'deep/er/file name é%.txt'
  for (const sent of [encodeURIComponent(path), path.split('/').map(encodeURIComponent).join('/')]) {
    expect((await server.call(`${FILES}/${sent}`)).text).toBe('deep')
  }
})

test('a file that is not there is a 404, a path that cannot be is a 422', async () => {
  for (const path of ['none', 'deep', 'deep/er']) expect((await server.call(`${FILES}/${path}`)).status).toBe(404)
  for (const path of ['', 'a//b', '%2Fetc', 'deep%2F..%2Fempty']) {
    expect((await server.call(`${FILES}/${path}`)).status).toBe(422)
  }
  expect((await server.call(FILES.replace('v0', 'v9'))).status).toBe(404)
})

test('HEAD tells the size', async () => {
  const reply = await server.call(`${FILES}/digits.txt`, { method: 'HEAD' })
  expect([reply.status, reply.headers.get('content-length')]).toEqual([200, '10'])
})

test('a content that the disk lost is a 500 with the error body', async () => {
  const digest = digests.get('lost')!
  await rm(join(server.dataDir, 'artifacts', digest.slice(0, 2), digest))
  for (const headers of [{}, { range: 'bytes=0-1' }] as Record<string, string>[]) {
    const reply = await server.call(`${FILES}/lost`, { headers })
    expect(reply.status).toBe(500)
    expect(reply.body.error.code).toBe('internal_error')
    expect(reply.headers.get('content-range')).toBeNull()
  }
})
