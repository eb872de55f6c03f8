import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claimJob } from '../../src/storage/leases.ts'
import { DataError } from '../../src/training/engine.ts'
import { createGatedTraining } from './gated-engine.ts'
import { createModel, startTestServer, type TestServer, toRlJob, until } from './start.ts'

const JOBS = '/v1/preview/training-jobs'
const environment = { JOB_LEASE_MS: '400' }

let server: TestServer
let training: ReturnType<typeof createGatedTraining>
let model: string

beforeEach(async () => {
  training = createGatedTraining()
  server = await startTestServer({ environment, parts: { training: training.engine } })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

const createJob = async (name = model): Promise<string> => (await server.call(JOBS, { json: toRlJob(name) })).body.id
const readJob = async (id: string) => (await server.call(`${JOBS}/${id}`)).body
const readEvents = async (id: string): Promise<{ type: string; data: object }[]> =>
  (await server.call(`${JOBS}/${id}/events`)).body.data.map(({ type, data }: { type: string; data: object }) => ({
    type,
    data,
  }))
const readTypes = async (id: string) => (await readEvents(id)).map(event => event.type)
const readSteps = async (name = model): Promise<number[]> =>
  (await server.call(`/v1/preview/models/${name}/checkpoints`)).body.data.map(({ step }: { step: number }) => step)
const hasStatus = (id: string, status: string) =>
  until(
    () => readJob(id),
    job => job.status === status,
  )
const hasRuns = (count: number) =>
  until(
    () => training.runs.length,
    length => length === count,
  )

/** Names of all contents of the artifact store. */
async function readStore(): Promise<string[]> {
  const entries = await readdir(join(server.dataDir, 'artifacts'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => entry.name)
}

test('a job is queued, runs and completes, with its events in order and a checkpoint', async () => {
  const id = await createJob()
  await hasRuns(1)
  expect(await readJob(id)).toMatchObject({ status: 'RUNNING', type: 'rl', model_id: model, training_end: null })
  const [run] = training.runs
  run!.progress({ type: 'started', data: { num_sequences: 2 } })
  run!.progress({ type: 'step', data: { loss: 0.5 } })
  await until(
    () => readTypes(id),
    types => types.length === 2,
  )
  run!.finish()
  const job = await hasStatus(id, 'COMPLETED')
  expect(job.error_message).toBeNull()
  expect(Date.parse(job.training_end)).toBeGreaterThanOrEqual(Date.parse(job.training_start))
  expect(await readEvents(id)).toEqual([
    { type: 'training_started', data: { num_sequences: 2 } },
    { type: 'gradient_step', data: { loss: 0.5 } },
    { type: 'training_ended', data: {} },
  ])
  const { data } = (await server.call(`/v1/preview/models/${model}/checkpoints`)).body
  expect(data.map(({ step, artifact, metrics }: Record<string, unknown>) => [step, artifact, metrics])).toEqual([
    [0, 'artifact:///default/tests/m:step0', {}],
    [1, 'artifact:///default/tests/m:step1', { loss: 0.5 }],
  ])
  const version = await server.call('/v1/preview/artifacts/default/tests/m/versions/step1')
  expect(version.body.aliases).toEqual(['latest', 'step1'])
})

test('jobs of one model run one after the other', async () => {
  const [first, second] = [await createJob(), await createJob()]
  await hasRuns(1)
  expect((await readJob(second)).status).toBe('QUEUED')
  training.runs[0]!.finish()
  await hasRuns(2)
  training.runs[1]!.finish()
  await hasStatus(second, 'COMPLETED')
  expect((await readJob(first)).status).toBe('COMPLETED')
  expect(await readSteps()).toEqual([0, 1, 2])
})

describe('cancelling', () => {
  const cancel = async (id: string) => (await server.call(`${JOBS}/${id}/cancel`, { method: 'POST' })).body

  test('ends a queued job at once', async () => {
    const [, waiting] = [await createJob(), await createJob()]
    expect(await cancel(waiting)).toMatchObject({
      status: 'CANCELLED',
      error_message: 'cancelled',
      training_start: null,
    })
    expect(await readEvents(waiting)).toEqual([{ type: 'training_failed', data: { error_message: 'cancelled' } }])
  })

  test('stops a running one: no checkpoint, no event after the last, and the next job runs', async () => {
    const [id, next] = [await createJob(), await createJob()]
    await hasRuns(1)
    training.runs[0]!.progress({ type: 'started', data: { num_sequences: 1 } })
    await until(
      () => readTypes(id),
      types => types.length === 1,
    )
    expect(await cancel(id)).toMatchObject({ status: 'CANCELLED', error_message: 'cancelled' })
    training.runs[0]!.progress({ type: 'step', data: { loss: 1 } })
    await until(() => training.runs[0]!.signal.aborted, Boolean)
    await hasRuns(2)
    expect(await readTypes(id)).toEqual(['training_started', 'training_failed'])
    expect(await readSteps()).toEqual([0])
    training.runs[1]!.finish()
    await hasStatus(next, 'COMPLETED')
  })

  test('wins over an end that comes before the worker knows of it', async () => {
    const id = await createJob()
    await hasRuns(1)
    await cancel(id)
    training.runs[0]!.finish()
    const next = await createJob()
    await hasRuns(2)
    training.runs[1]!.finish()
    await hasStatus(next, 'COMPLETED')
    expect((await readJob(id)).status).toBe('CANCELLED')
    expect(await readSteps()).toEqual([0, 1])
  })

  test('gives an ended job back unchanged', async () => {
    const id = await createJob()
    await hasRuns(1)
    training.runs[0]!.finish()
    const ended = await hasStatus(id, 'COMPLETED')
    expect(await cancel(id)).toEqual(ended)
    expect(await cancel(id)).toEqual(await readJob(id))
  })
})

test('a model deleted while its job runs takes the job with it, and leaves no content behind', async () => {
  const id = await createJob()
  await hasRuns(1)
  expect((await server.call(`/v1/preview/models/${model}`, { method: 'DELETE' })).body).toMatchObject({
    deleted_checkpoints: 1,
  })
  training.runs[0]!.finish()
  expect((await server.call(`${JOBS}/${id}`)).status).toBe(404)
  const next = await createJob(await createModel(server, 'other'))
  await hasRuns(2)
  training.runs[1]!.finish()
  await hasStatus(next, 'COMPLETED')
  expect(await readStore()).toHaveLength(2)
})

test('what the engine fails with is the job’s error, in its last event too', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.progress({ type: 'started', data: { num_sequences: 1 } })
  training.runs[0]!.progress({ type: 'step', data: { loss: 1 } })
  training.runs[0]!.fail(new Error('the loss is not a number'))
  const error_message = 'the loss is not a number'
  expect(await hasStatus(id, 'FAILED')).toMatchObject({ error_message })
  expect(await readTypes(id)).toEqual(['training_started', 'gradient_step', 'training_failed'])
  expect((await readEvents(id)).at(-1)!.data).toEqual({ error_message })
  expect(await readSteps()).toEqual([0])
})

test('data at fault is told with its place', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.fail(new DataError(['trajectory_groups', '0'], 'is too long'))
  expect(await hasStatus(id, 'FAILED')).toMatchObject({ error_message: 'trajectory_groups.0: is too long' })
})

test('a job that the disk had no room for is not lost: it runs again', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.fail(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
  await hasRuns(2)
  expect((await readJob(id)).status).toBe('RUNNING')
  training.runs[1]!.finish()
  await hasStatus(id, 'COMPLETED')
})

describe('a job that a process gave up', () => {
  async function restart(): Promise<void> {
    await server.close(true)
    server = await startTestServer({ environment, dataDir: server.dataDir, parts: { training: training.engine } })
  }

  test('by a shutdown is queued, runs again, and its events have neither gap nor repetition', async () => {
    const id = await createJob()
    await hasRuns(1)
    training.runs[0]!.progress({ type: 'started', data: { num_sequences: 1 } })
    training.runs[0]!.progress({ type: 'step', data: { loss: 3 } })
    await until(
      () => readTypes(id),
      types => types.length === 2,
    )
    await restart()
    expect(training.runs[0]!.signal.aborted).toBe(true)
    await hasRuns(2)
    const { progress, finish, task } = training.runs[1]!
    expect(task.seed).toBe(training.runs[0]!.task.seed)
    progress({ type: 'started', data: { num_sequences: 1 } })
    for (const loss of [3, 2, 1]) progress({ type: 'step', data: { loss } })
    finish()
    await hasStatus(id, 'COMPLETED')
    const events = await readEvents(id)
    expect(events.map(({ type }) => type)).toEqual([
      'training_started',
      'gradient_step',
      'gradient_step',
      'gradient_step',
      'training_ended',
    ])
    expect(events.slice(1, 4).map(({ data }) => data)).toEqual([{ loss: 3 }, { loss: 2 }, { loss: 1 }])
    expect(await readSteps()).toEqual([0, 1])
  })

  test('by any number of shutdowns is never given up', async () => {
    const id = await createJob()
    for (let round = 1; round <= 7; round++) {
      await hasRuns(round)
      await restart()
    }
    await hasRuns(8)
    training.runs[7]!.finish()
    await hasStatus(id, 'COMPLETED')
  })

  test('by its death is picked up when the lease has run out', async () => {
    await server.service.jobs.stop()
    const id = await createJob()
    await claimJob(server.service.database, 'a process that died', 300)
    await restart()
    await hasRuns(1)
    training.runs[0]!.finish()
    await hasStatus(id, 'COMPLETED')
    expect(await readSteps()).toEqual([0, 1])
  })

  test('by dying again and again fails in the end', async () => {
    await server.service.jobs.stop()
    const id = await createJob()
    for (let round = 0; round < 5; round++) await claimJob(server.service.database, `process ${round}`, -1)
    await restart()
    expect(await hasStatus(id, 'FAILED')).toMatchObject({ error_message: expect.stringContaining('5 times') })
    expect(training.runs).toHaveLength(0)
  })
})

test('a worker that is stopped while it claims a job does not begin it', async () => {
  await server.service.jobs.stop()
  const id = await createJob()
  await server.close(true)
  server = await startTestServer({
    environment,
    dataDir: server.dataDir,
    parts: { training: training.engine },
    runJobs: false,
  })
  server.service.jobs.start()
  await server.service.jobs.stop()
  expect(training.runs).toHaveLength(0)
  expect((await readJob(id)).status).toBe('RUNNING')
})
