import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pino from 'pino'
import { v7 as uuid } from 'uuid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createModel, startTestServer, type TestServer, toRlJob, until } from './start.ts'

const DAY_MS = 24 * 3_600_000
const SPOOL_BYTES = 2000
/** More than are deleted in one transaction. */
const MANY = 1201

let server: TestServer
let model: string
let lines: string[]

beforeEach(async () => {
  lines = []
  const environment = {
    SPOOL_BYTES: String(SPOOL_BYTES),
    RETAIN_TRAJECTORIES_DAYS: '10',
    RETAIN_DELIVERIES_DAYS: '20',
    RETAIN_EVENTS_DAYS: '30',
    RETAIN_SPOOL_HOURS: '2',
  }
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  server = await startTestServer({ environment, parts: { log: pino({ level: 'info' }, stream) } })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

/** After so many days. */
const sweep = (days: number) => server.service.retention.sweep(Date.now() + days * DAY_MS)
const nothing = { trajectoryLogs: 0, deliveries: 0, executions: 0, trainingEvents: 0, spoolFiles: 0 }

const log = (content: string) => {
  const trajectory_groups = [{ trajectories: [{ messages_and_choices: [{ role: 'user', content }] }] }]
  return server.call(`/v1/preview/models/${model}/log`, { json: { split: 'val', trajectory_groups } })
}
const listed = async () =>
  (await server.call(`/v1/preview/models/${model}/trajectories?limit=100`)).body.data.length as number
const hasContent = async (sha256: string) => server.service.artifacts.has(sha256)

/** An automation with executions and deliveries of an age in days. */
async function addDeliveries(ages: { days: number; ended: boolean }[]): Promise<void> {
  const { database } = server.service
  const created_at = new Date().toISOString()
  const shared = { entity: 'default', name: 'n', created_by: 'admin', created_at, updated_at: created_at }
  await database
    .insertInto('webhooks')
    .values({
      ...shared,
      id: 'w',
      endpoint_url: 'https://example.com',
      access_token_secret: null,
      signing_secret: null,
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
    })
    .execute()
  await database
    .insertInto('automations')
    .values({
      ...shared,
      id: 'a',
      description: null,
      enabled: 1,
      scope_type: 'project',
      scope_name: 'p',
      event_type: 'ADD_ARTIFACT_ALIAS',
      alias_regex: '.',
      metric: null,
      operator: null,
      threshold: null,
      filter_user: null,
      filter_run_name_regex: null,
      webhook_id: 'w',
      payload: '{}',
    })
    .execute()
  for (const { days, ended } of ages) {
    const time = new Date(Date.now() - days * DAY_MS)
    const id = uuid({ msecs: time.getTime() })
    const status = ended ? ('Finished' as const) : ('Pending' as const)
    const of = { id, event_type: 'ADD_ARTIFACT_ALIAS' as const, status, error: null, created_at: time.toISOString() }
    const finished_at = ended ? time.toISOString() : null
    await database
      .insertInto('automation_executions')
      .values({ ...of, automation_id: 'a', event: '{}', run_id: null, finished_at })
      .execute()
    await database
      .insertInto('webhook_deliveries')
      .values({
        ...of,
        webhook_id: 'w',
        execution_id: id,
        payload: '{}',
        variables: '{}',
        round_attempts: 1,
        attempts: 1,
        next_attempt_at: null,
        lease_owner: null,
        lease_until: null,
        response_status: 200,
        finished_at,
      })
      .execute()
    await database
      .insertInto('webhook_attempts')
      .values({
        id,
        delivery_id: id,
        number: 1,
        duration_ms: 1,
        response_status: 200,
        response_headers: null,
        response_body: null,
        error: null,
        created_at: time.toISOString(),
      })
      .execute()
  }
}

async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of ['webhook_deliveries', 'webhook_attempts', 'automation_executions'] as const) {
    counts[table] = (await server.service.database.selectFrom(table).select('id').execute()).length
  }
  return counts
}

test('logged trajectories go when they are past their time, with the contents that nothing else refers to', async () => {
  const { database } = server.service
  await log('small')
  await log('large'.repeat(SPOOL_BYTES))
  await log('shared'.repeat(SPOOL_BYTES))
  const [large, shared] = (
    await database
      .selectFrom('trajectory_logs')
      .select('input_sha256')
      .where('input', 'is', null)
      .orderBy('id')
      .execute()
  ).map(row => row.input_sha256!)
  // A spool file goes after the answer.
  const readSpool = () => readdir(join(server.dataDir, 'spool'))
  await until(readSpool, files => files.length === 0)
  expect(await sweep(9.9)).toEqual(nothing)
  expect(await listed()).toBe(3)
  // The newest one refers to the content of an old one.
  const id = uuid({ msecs: Date.now() + 5 * DAY_MS })
  const row = await database
    .selectFrom('trajectory_logs')
    .selectAll()
    .where('input_sha256', '=', shared!)
    .executeTakeFirstOrThrow()
  await database
    .insertInto('trajectory_logs')
    .values({ ...row, id })
    .execute()
  expect(await sweep(10.1)).toEqual({ ...nothing, trajectoryLogs: 3 })
  expect(await listed()).toBe(1)
  expect([await hasContent(large!), await hasContent(shared!)]).toEqual([false, true])
  expect(await sweep(15.1)).toEqual({ ...nothing, trajectoryLogs: 1 })
  expect(await hasContent(shared!)).toBe(false)
})

test('more than fit into a transaction go in one sweep', async () => {
  const { database } = server.service
  await log('small')
  const row = await database.selectFrom('trajectory_logs').selectAll().executeTakeFirstOrThrow()
  const rows = Array.from({ length: MANY - 1 }, () => ({ ...row, id: uuid() }))
  await database.insertInto('trajectory_logs').values(rows).execute()
  expect((await sweep(11)).trajectoryLogs).toBe(MANY)
})

test('ended deliveries and executions go after their days, pending ones stay', async () => {
  await addDeliveries([
    { days: 40, ended: true },
    { days: 25, ended: true },
    { days: 19, ended: true },
    { days: 40, ended: false },
  ])
  expect(await sweep(0)).toEqual({ ...nothing, deliveries: 2, executions: 1 })
  expect(await countRows()).toEqual({ webhook_deliveries: 2, webhook_attempts: 2, automation_executions: 3 })
  expect(await sweep(0)).toEqual(nothing)
})

test('a delivery that ended late is kept from its end on', async () => {
  await addDeliveries([{ days: 40, ended: true }])
  const finished_at = new Date(Date.now() - DAY_MS).toISOString()
  await server.service.database.updateTable('webhook_deliveries').set({ finished_at }).execute()
  expect((await sweep(0)).deliveries).toBe(0)
  expect((await sweep(19.5)).deliveries).toBe(1)
})

test('events of ended jobs go, the job and those of unfinished ones stay', async () => {
  const createJob = async () => (await server.call('/v1/preview/training-jobs', { json: toRlJob(model) })).body.id
  const readEvents = async (id: string) => (await server.call(`/v1/preview/training-jobs/${id}/events`)).body.data
  const [ended, other] = [await createJob(), await createJob()]
  for (const id of [ended, other]) {
    await until(
      async () => (await server.call(`/v1/preview/training-jobs/${id}`)).body.status,
      status => status === 'COMPLETED',
    )
  }
  await server.service.jobs.stop()
  await server.service.database
    .updateTable('training_jobs')
    .set({ status: 'RUNNING' })
    .where('id', '=', other)
    .execute()
  expect(await sweep(29.9)).toEqual(nothing)
  expect(await sweep(30.1)).toEqual({ ...nothing, trainingEvents: 3 })
  expect(await readEvents(ended)).toEqual([])
  expect(await readEvents(other)).toHaveLength(3)
  expect((await server.call(`/v1/preview/training-jobs/${ended}`)).body.status).toBe('COMPLETED')
})

test('spool files that nothing reads any more go after their hours', async () => {
  const spool = join(server.dataDir, 'spool')
  for (const [name, hours] of [
    ['old', 3],
    ['new', 1],
  ] as const) {
    await writeFile(join(spool, name), 'x')
    const time = new Date(Date.now() - hours * 3_600_000)
    await utimes(join(spool, name), time, time)
  }
  expect(await sweep(0)).toEqual({ ...nothing, spoolFiles: 1 })
  expect(await readdir(spool)).toEqual(['new'])
})

test('what is deleted is counted in the log, and nothing is said of nothing', async () => {
  const said = () => lines.filter(line => line.includes('past its time'))
  await sweep(0)
  expect(said()).toEqual([])
  await log('small')
  await sweep(11)
  expect(JSON.parse(said()[0]!)).toMatchObject({ trajectoryLogs: 1, deliveries: 0, executions: 0 })
})

test('a sweep runs at the start', async () => {
  const { database } = server.service
  await log('small')
  const row = await database.selectFrom('trajectory_logs').selectAll().executeTakeFirstOrThrow()
  await database
    .insertInto('trajectory_logs')
    .values({ ...row, id: uuid({ msecs: Date.now() - 11 * DAY_MS }) })
    .execute()
  server.service.retention.start()
  expect(await until(listed, count => count === 1)).toBe(1)
})

test('zero days keep things', async () => {
  const { settings } = server.service
  Object.assign(settings, { retainTrajectoriesDays: 0, retainDeliveriesDays: 0, retainEventsDays: 0 })
  await addDeliveries([{ days: 400, ended: true }])
  await log('small')
  expect(await sweep(4000)).toEqual(nothing)
})
