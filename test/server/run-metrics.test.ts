import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGatedTraining } from './gated-engine.ts'
import { createModel, startTestServer, type TestServer, toRlJob, until } from './start.ts'

const JOBS = '/v1/preview/training-jobs'

let server: TestServer
let training: ReturnType<typeof createGatedTraining>
let model: string
let run: string

const start = (dataDir?: string) =>
  startTestServer({ parts: { training: training.engine }, ...(dataDir ? { dataDir } : {}) })

beforeEach(async () => {
  training = createGatedTraining()
  server = await start()
  model = await createModel(server, 'm')
  run = (await server.call(`/v1/preview/models/${model}`)).body.run_id
})
afterEach(() => server.close())

const createJob = async (): Promise<string> => (await server.call(JOBS, { json: toRlJob(model) })).body.id
const hasRuns = (count: number) =>
  until(
    () => training.runs.length,
    length => length === count,
  )
const hasEnded = (id: string, status: string) =>
  until(
    async () => (await server.call(`${JOBS}/${id}`)).body.status,
    found => found === status,
  )

/** For each metric its points as `[step, value]`. */
async function readMetrics(): Promise<Record<string, [number, number][]>> {
  const { metrics } = (await server.call(`/v1/preview/runs/${run}/metrics`)).body
  const toPairs = (points: { step: number; value: number }[]) => points.map(({ step, value }) => [step, value])
  return Object.fromEntries(
    Object.entries(metrics).map(([name, points]) => [name, toPairs(points as { step: number; value: number }[])]),
  ) as Record<string, [number, number][]>
}

test('optimiser steps write their values while the job runs, with the step of the checkpoint to come', async () => {
  for (const [index, losses] of [[3, 2], [1]].entries()) {
    const id = await createJob()
    await hasRuns(index + 1)
    training.runs[index]!.progress({ type: 'started', data: { num_sequences: losses.length } })
    for (const loss of losses) training.runs[index]!.progress({ type: 'step', data: { loss, grad_norm: loss / 2 } })
    await until(readMetrics, metrics => metrics.loss?.length === (index === 0 ? 2 : 3))
    training.runs[index]!.finish()
    await hasEnded(id, 'COMPLETED')
  }
  expect(await readMetrics()).toEqual({
    loss: [
      [1, 3],
      [1, 2],
      [2, 1],
    ],
    grad_norm: [
      [1, 1.5],
      [1, 1],
      [2, 0.5],
    ],
  })
})

test('what no optimiser step had is written with the checkpoint', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.progress({ type: 'started', data: { num_sequences: 0 } })
  training.runs[0]!.finish()
  await hasEnded(id, 'COMPLETED')
  expect(await readMetrics()).toEqual({ loss: [[1, 0.5]] })
})

test('a value that is no number is left out, and the job goes on', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.progress({ type: 'step', data: { loss: Number.NaN, grad_norm: Infinity, learning_rate: 0.5 } })
  training.runs[0]!.finish()
  await hasEnded(id, 'COMPLETED')
  expect(await readMetrics()).toEqual({ learning_rate: [[1, 0.5]] })
})

test('a job that runs again writes no step twice', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.progress({ type: 'started', data: { num_sequences: 3 } })
  training.runs[0]!.progress({ type: 'step', data: { loss: 3 } })
  await until(readMetrics, metrics => metrics.loss?.length === 1)
  await server.close(true)
  server = await start(server.dataDir)
  await hasRuns(2)
  training.runs[1]!.progress({ type: 'started', data: { num_sequences: 3 } })
  for (const loss of [3, 2, 1]) training.runs[1]!.progress({ type: 'step', data: { loss } })
  training.runs[1]!.finish()
  await hasEnded(id, 'COMPLETED')
  expect(await readMetrics()).toEqual({
    loss: [
      [1, 3],
      [1, 2],
      [1, 1],
    ],
  })
})

test('a job writes nothing once it is cancelled', async () => {
  const id = await createJob()
  await hasRuns(1)
  await server.call(`${JOBS}/${id}/cancel`, { method: 'POST' })
  training.runs[0]!.progress({ type: 'step', data: { loss: 3 } })
  await until(() => training.runs[0]!.signal.aborted, Boolean)
  const next = await createJob()
  await hasRuns(2)
  training.runs[1]!.finish()
  await hasEnded(next, 'COMPLETED')
  expect(await readMetrics()).toEqual({ loss: [[1, 0.5]] })
})

test('logged values belong to the last step that there was, also where its checkpoint is gone', async () => {
  const { trajectory_groups } = toRlJob(model) as { trajectory_groups: unknown[] }
  const log = () => server.call(`/v1/preview/models/${model}/log`, { json: { split: 'val', trajectory_groups } })
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.finish()
  await hasEnded(id, 'COMPLETED')
  expect((await log()).body.step).toBe(1)
  const json = { steps: [0, 1] }
  await server.call(`/v1/preview/models/${model}/checkpoints`, { method: 'DELETE', json })
  expect((await log()).body.step).toBeNull()
  expect((await readMetrics())['val/reward']).toEqual([
    [1, 0.5],
    [1, 0.5],
  ])
})

test('a run’s values go with the model', async () => {
  const id = await createJob()
  await hasRuns(1)
  training.runs[0]!.finish()
  await hasEnded(id, 'COMPLETED')
  const count = async () =>
    (await server.service.database.selectFrom('run_metrics').select('id').where('run_id', '=', run).execute()).length
  expect(await count()).toBe(1)
  await server.call(`/v1/preview/models/${model}`, { method: 'DELETE' })
  expect(await count()).toBe(0)
})

test('of the trajectories’ own metrics, at most a thousand names count, and none that are too long', async () => {
  const metrics = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`m${index}`, index]))
  const trajectory_groups = [{ trajectories: [{ metrics: { ['x'.repeat(201)]: 1, ...metrics } }] }]
  const reply = await server.call(`/v1/preview/models/${model}/log`, { json: { split: 'val', trajectory_groups } })
  const names = Object.keys(reply.body.metrics)
  expect(names).toHaveLength(1005)
  expect(names).toContain('val/m999')
  expect(names.filter(name => name.includes('xx'))).toEqual([])
})

test('more metrics than come at once are all there, hundred by hundred', async () => {
  const metrics = Object.fromEntries(Array.from({ length: 245 }, (_, index) => [`m${index}`, index]))
  const trajectory_groups = [{ trajectories: [{ metrics }] }]
  await server.call(`/v1/preview/models/${model}/log`, { json: { split: 'val', trajectory_groups } })
  const names: string[] = []
  for (let after = ''; ; ) {
    const query = after ? `?after_name=${encodeURIComponent(after)}` : ''
    const { body } = await server.call(`/v1/preview/runs/${run}/metrics${query}`)
    names.push(...Object.keys(body.metrics))
    after = body.last_name
    if (!body.has_more) break
    expect(Object.keys(body.metrics)).toHaveLength(100)
  }
  expect(names).toHaveLength(250)
  expect(new Set(names).size).toBe(250)
})
