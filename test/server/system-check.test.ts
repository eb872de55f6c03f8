import { afterEach, describe, expect, test } from 'vitest'
import type { Service } from '../../src/context.ts'
import { startTestServer, type TestServer } from './start.ts'

let server: TestServer
afterEach(() => server.close())

const PARTS = ['database', 'job_worker', 'engine', 'disk']
const fail = async () => {
  throw new Error('it is broken')
}

test('all parts in order are a 200 without a key', async () => {
  server = await startTestServer()
  const reply = await server.call('/v1/system-check', { key: null })
  expect(reply.status).toBe(200)
  expect(Object.keys(reply.body)).toEqual(['api', ...PARTS])
  for (const part of PARTS) {
    expect(reply.body[part]).toEqual({ success: true, duration_ms: expect.any(Number), errors: [] })
  }
})

describe('a part that fails is a 503 that names it', () => {
  const faults: [string, (service: Service) => void, boolean, string][] = [
    ['database', service => service.database.destroy(), true, 'destroyed'],
    ['job_worker', () => {}, false, 'not running'],
    ['engine', service => Object.assign(service, { inference: { ...service.inference, check: fail } }), true, 'broken'],
    ['disk', service => Object.assign(service.artifacts, { check: fail }), true, 'broken'],
  ]
  test.each(faults)('%s', async (part, change, runJobs, message) => {
    const isDatabase = part === 'database'
    server = await startTestServer({ runJobs, ...(isDatabase ? {} : { change }) })
    if (isDatabase) {
      await server.service.jobs.stop()
      change(server.service)
    }
    const reply = await server.call('/v1/system-check', { key: null })
    expect(reply.status).toBe(503)
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(reply.body[part]).toMatchObject({ success: false, errors: [expect.stringContaining(message)] })
    expect(reply.body.detail).toContain(part)
    expect(reply.body.detail).toBe(reply.body.error.message)
    expect((await server.call('/v1/health', { key: null })).status).toBe(200)
  })
})

test('a part that never answers counts as failed after its time', async () => {
  server = await startTestServer({
    change: service =>
      Object.assign(service, { inference: { ...service.inference, check: () => new Promise(() => {}) } }),
  })
  const reply = await server.call('/v1/system-check', { key: null })
  expect(reply.status).toBe(503)
  expect(reply.body.engine).toMatchObject({ success: false, errors: ['no answer within 5000 ms'] })
})
