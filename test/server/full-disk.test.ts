import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'
import { createModel, type Reply, startTestServer, type TestServer, toRlJob, until } from './start.ts'
import { uploadVersion } from './upload.ts'

const JOBS = '/v1/preview/training-jobs'

let server: TestServer
let model: string
let isStoreFull: boolean

beforeEach(async () => {
  isStoreFull = false
  server = await startTestServer({
    environment: { SPOOL_BYTES: '10000', JOB_LEASE_MS: '400' },
    change: service => {
      service.artifacts = withFullDisk(service.artifacts)
    },
  })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

/** The store's own answers, but where it would write when the disk is full. */
function withFullDisk(store: ArtifactStore): ArtifactStore {
  const full = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  return {
    put: async content => {
      if (isStoreFull) throw full()
      return store.put(content)
    },
    check: async () => {
      if (isStoreFull) throw full()
      return store.check()
    },
    open: (sha256, range) => store.open(sha256, range),
    has: sha256 => store.has(sha256),
    checkout: (sha256, file) => store.checkout(sha256, file),
    delete: sha256 => store.delete(sha256),
  }
}

/** SQLite's own limit of pages: it answers as on a full disk. */
async function setDatabaseFull(isFull: boolean): Promise<void> {
  await sql.raw(`pragma max_page_count = ${isFull ? 1 : 1_000_000_000}`).execute(server.service.database)
}

function expectFull(reply: Reply): void {
  expect(reply.status).toBe(503)
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(reply.body.error).toMatchObject({ type: 'server_error', code: 'service_unavailable' })
  expect(reply.body.detail).toContain('disk is full')
}

async function readAll(): Promise<string> {
  const paths = ['/v1/preview/models', JOBS, '/v1/preview/artifacts/default/p/a/versions', '/v2/default/p/scorers']
  return (await Promise.all(paths.map(async path => (await server.call(path)).text))).join('\n')
}

const filler = 'x'.repeat(20_000)

describe('where the database has no room', () => {
  const log = { ...toRlJob('', filler.slice(0, 4000)), split: 'val' }
  const writes: [string, (name: string) => Promise<Reply>][] = [
    ['a model', name => server.call('/v1/preview/models', { json: { project: 'p', name, base_model: 'tiny-chat' } })],
    ['a job', () => server.call(JOBS, { json: toRlJob(model, filler.slice(0, 4000)) })],
    ['a scorer', name => server.call('/v2/default/p/scorers', { json: { object_id: name, filler } })],
    [
      'an upload',
      name => uploadVersion(server, 'default/p/a', { files: { name }, version: { metadata: { filler, name } } }),
    ],
    ['a log', () => server.call(`/v1/preview/models/${model}/log`, { json: log })],
  ]
  test.each(writes)(
    '%s is a 503, nothing is changed, and all is well when there is room again',
    async (_name, write) => {
      await setDatabaseFull(true)
      for (let round = 0; ; round++) {
        const before = await readAll()
        const reply = await write(`name${round}`)
        // A few small rows still find room in pages that are there.
        if (reply.status === 200 && round < 50) continue
        expectFull(reply)
        expect(await readAll()).toBe(before)
        break
      }
      await setDatabaseFull(false)
      expect((await write('again')).status).toBe(200)
    },
  )

  test('reading goes on', async () => {
    await setDatabaseFull(true)
    for (const path of ['/v1/health', '/v1/models', '/v1/preview/models', JOBS]) {
      expect((await server.call(path)).status).toBe(200)
    }
    const chat = { messages: [{ role: 'user', content: 'hi' }] }
    expect((await server.call('/v1/chat/completions', { json: chat })).status).toBe(200)
  })
})

describe('where the artifact store has no room', () => {
  beforeEach(() => {
    isStoreFull = true
  })

  test('an upload is a 503, and adds no version', async () => {
    expectFull(await uploadVersion(server, 'default/p/a', { files: { a: 'x' } }))
    expect((await server.call('/v1/preview/artifacts/default/p/a/versions')).body.data).toEqual([])
  })

  test('a spooled job is a 503, and is created when there is room', async () => {
    const job = { json: toRlJob(model, filler) }
    expectFull(await server.call(JOBS, job))
    expect((await server.call(JOBS)).body.data).toEqual([])
    isStoreFull = false
    expect((await server.call(JOBS, job)).status).toBe(200)
  })

  test('a new model is a 503, and its name stays free', async () => {
    const json = { project: 'p', name: 'n', base_model: 'tiny-chat' }
    expectFull(await server.call('/v1/preview/models', { json }))
    isStoreFull = false
    expect((await server.call('/v1/preview/models', { json })).status).toBe(200)
  })

  test('the system check says so', async () => {
    const reply = await server.call('/v1/system-check', { key: null })
    expect(reply.status).toBe(503)
    expect(reply.body.disk).toMatchObject({ success: false })
    expect(reply.body.database).toMatchObject({ success: true })
  })
})

test('a job whose events or checkpoint find no room is not lost', async () => {
  await server.service.jobs.stop()
  const { id } = (await server.call(JOBS, { json: toRlJob(model) })).body
  await server.close(true)
  server = await startTestServer({ environment: { JOB_LEASE_MS: '400' }, dataDir: server.dataDir, runJobs: false })
  await setDatabaseFull(true)
  server.service.jobs.start()
  await new Promise(resolve => setTimeout(resolve, 1500))
  const waiting = await server.call(`${JOBS}/${id}`)
  expect(waiting.body.status).toBeOneOf(['QUEUED', 'RUNNING', 'COMPLETED'])
  await setDatabaseFull(false)
  await until(
    () => server.call(`${JOBS}/${id}`),
    reply => reply.body.status === 'COMPLETED',
  )
})
