import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createModel, FIRST_KEY, sendRaw, startTestServer, type TestServer, toRlJob, until } from './start.ts'

const JOBS = '/v1/preview/training-jobs'
const SPOOL_BYTES = 10_000

let server: TestServer
let model: string

beforeEach(async () => {
  server = await startTestServer({ environment: { SPOOL_BYTES: String(SPOOL_BYTES) }, runJobs: false })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

const readSpool = () => readdir(join(server.dataDir, 'spool'))
const hasEmptySpool = () => until(readSpool, files => files.length === 0)
const sha256 = (body: string) => createHash('sha256').update(body).digest('hex')
const isStored = (body: string) => server.service.artifacts.has(sha256(body))
const post = (path: string, body: string, headers = {}) =>
  server.call(path, { body, headers: { 'content-type': 'application/json', ...headers } })

function toLargeJob(filler = 'x'): string {
  return JSON.stringify(toRlJob(model, filler.repeat(SPOOL_BYTES)))
}

test('the body of a job ends in the artifact store, byte for byte, and the spool file is removed', async () => {
  const body = toLargeJob()
  expect((await post(JOBS, body)).status).toBe(200)
  expect(await text(server.service.artifacts.open(sha256(body)))).toBe(body)
  await hasEmptySpool()
})

test('the kept body goes with the job that was cancelled', async () => {
  const body = toLargeJob()
  const { id } = (await post(JOBS, body)).body
  await server.call(`${JOBS}/${id}/cancel`, { method: 'POST' })
  expect(await isStored(body)).toBe(false)
})

test('the kept body stays while another job needs it', async () => {
  const body = toLargeJob()
  const [first, second] = [(await post(JOBS, body)).body.id, (await post(JOBS, body)).body.id]
  await server.call(`${JOBS}/${first}/cancel`, { method: 'POST' })
  expect(await isStored(body)).toBe(true)
  await server.call(`${JOBS}/${second}/cancel`, { method: 'POST' })
  expect(await isStored(body)).toBe(false)
})

test('the kept body goes with the job that ended', async () => {
  const body = toLargeJob()
  const { id } = (await post(JOBS, body)).body
  server.service.jobs.start()
  await until(
    () => server.call(`${JOBS}/${id}`),
    ({ body: { status } }) => status === 'COMPLETED',
  )
  await until(
    () => isStored(body),
    stored => !stored,
  )
})

describe('a refused body leaves neither a spool file nor a content behind', () => {
  const cases: [string, number, (body: string) => [path: string, body: string]][] = [
    ['no JSON', 422, body => [JOBS, body.slice(1)]],
    ['against the schema', 422, body => [JOBS, body.replace('"reward":0', '"reward":"much"')]],
    [
      'against a rule that the schema cannot say',
      422,
      body => [JOBS, body.replace('"token_ids":[7]', '"token_ids":[7,8]')],
    ],
    ['of an unknown model', 404, body => [JOBS, body.replaceAll(model, '01990c5e-0000-7000-8000-000000000000')]],
    ['of another shape than the operation takes', 422, body => ['/v1/chat/completions', body]],
  ]
  test.each(cases)('%s', async (_name, status, change) => {
    const [path, body] = change(toLargeJob())
    expect((await post(path, body)).status).toBe(status)
    await hasEmptySpool()
    expect(await isStored(body)).toBe(false)
  })

  test('one whose idempotency key was used for another', async () => {
    const key = { 'idempotency-key': 'once' }
    await post(JOBS, toLargeJob('a'), key)
    const other = toLargeJob('b')
    expect((await post(JOBS, other, key)).status).toBe(422)
    expect(await isStored(other)).toBe(false)
    await hasEmptySpool()
  })

  test('one that finds the queue full', async () => {
    server.service.settings.jobQueueLength = 1
    await post(JOBS, toLargeJob('a'))
    const other = toLargeJob('b')
    expect((await post(JOBS, other)).status).toBe(429)
    expect(await isStored(other)).toBe(false)
  })
})

test('a client that goes away in the middle of a body leaves nothing behind', async () => {
  const body = toLargeJob()
  const socket = connect(server.port, '127.0.0.1')
  socket.write(
    `POST ${JOBS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5000)}`,
  )
  await until(readSpool, files => files.length === 1)
  socket.destroy()
  await until(readSpool, files => files.length === 0)
  expect((await server.call(JOBS)).body.data).toEqual([])
})

test('a body that cannot be spooled is a 500, and its connection goes on', async () => {
  await rm(join(server.dataDir, 'spool'), { recursive: true })
  const body = 'x'.repeat(3_000_000)
  const answer = await sendRaw(server.port, [
    `POST ${JOBS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    body,
    'GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n',
  ])
  expect(answer).toContain('HTTP/1.1 500')
  expect(answer).toContain('{"status":"ok"}')
})

test('metrics beyond what JSON can say are left out', async () => {
  const body = JSON.stringify({
    split: 'val',
    trajectory_groups: [{ trajectories: [{ metrics: { good: 1, huge: 'HUGE' } }, { metrics: { good: 0 } }] }],
  }).replace('"HUGE"', '1e999')
  const reply = await post(`/v1/preview/models/${model}/log`, body)
  expect(reply.body.metrics).toEqual({
    'val/good': 0.5,
    'val/num_groups': 1,
    'val/num_trajectories': 2,
    'val/reward': 0,
    'val/reward_std_dev': 0,
    'val/exception_rate': 0,
  })
})

test('small requests are answered while a large job arrives', async () => {
  const filler = 'x'.repeat(200_000)
  const job = toRlJob(model, filler) as { trajectory_groups: object[] }
  const groups = Array.from({ length: 125 }, () => job.trajectory_groups[0])
  const body = JSON.stringify({ ...job, trajectory_groups: groups })
  expect(body.length).toBeGreaterThan(50_000_000)
  let arrived = false
  const large = post(JOBS, body).finally(() => (arrived = true))
  let answered = 0
  let slowest = 0
  while (!arrived) {
    const start = performance.now()
    expect((await server.call('/v1/health')).status).toBe(200)
    slowest = Math.max(slowest, performance.now() - start)
    answered++
  }
  expect((await large).status).toBe(200)
  expect(answered).toBeGreaterThan(5)
  // This process is the client too, and sends 50 MB meanwhile: the bound only tells parsing inline (seconds) from not.
  expect(slowest).toBeLessThan(1500)
})
