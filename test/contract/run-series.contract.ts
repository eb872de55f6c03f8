/** What training and logging write into the series of a run. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { client, createArtifact, createModel, target, uriOf } from './setup.ts'
import { conversations, followJob, rollOut, toJsonLines, waitForJob } from './training-data.ts'

const SERIES = '/paths/~1v1~1preview~1runs~1{run_id}~1metrics/get/description'
const MEANS = '/components/schemas/Checkpoint/properties/metrics/description'
const NAMES = '/paths/~1v1~1preview~1models~1{model_id}~1log/post/description'
const NOT_LISTED = '/paths/~1v1~1preview~1models~1{model_id}~1trajectories/get/description'
/** At most so many come at once. */
const MOST_SERIES = 100

section('Series of runs, which a mock does not keep', { needs: ['memory'], tag: 'runs' }, () => {
  const LIMIT = 2 * target.jobTimeoutMs

  /** Of three optimiser steps. */
  async function fineTune(name: string) {
    const model = await createModel(name)
    const files = { 'train.jsonl': toJsonLines(conversations(6)) }
    const { uri } = await createArtifact(name, { files, version: { type: 'dataset' } })
    const body = { model_id: model.id, training_data_url: uri, config: { batch_size: 2, learning_rate: 0.002 } }
    const events = await followJob((await client.ok('createSftTrainingJob', { body })).id)
    const losses = events.filter(({ type }) => type === 'gradient_step').map(({ data }) => data.loss!)
    expect(losses).toHaveLength(3)
    return { model, losses }
  }

  check(
    'getRunMetrics/has-a-value-of-each-optimiser-step',
    { timeout: LIMIT, needs: ['training'], source: SERIES },
    async () => {
      const { model, losses } = await fineTune('series')
      const path = { run_id: model.run_id! }
      const { metrics, num_points } = await client.ok('getRunMetrics', { path, query: { name: 'loss' } })
      expect(metrics.loss!.map(({ step }) => step)).toEqual([1, 1, 1])
      expect(metrics.loss!.map(({ value }) => value)).toEqual(losses.map(loss => expect.closeTo(loss, 5)))
      expect(num_points).toEqual({ loss: 3 })
    },
  )

  check('listCheckpoints/has-means-over-the-job', { timeout: LIMIT, needs: ['training'], source: MEANS }, async () => {
    const { model, losses } = await fineTune('job-means')
    const query = { order: 'desc', limit: 1 }
    const { data } = await client.ok('listCheckpoints', { path: { model_id: model.id }, query })
    // Whatever each step weighs in the mean.
    const { loss } = data[0]!.metrics
    expect(loss).toBeGreaterThanOrEqual(Math.min(...losses) - 1e-4)
    expect(loss).toBeLessThanOrEqual(Math.max(...losses) + 1e-4)
  })

  check('getRunMetrics/gives-many-names-page-by-page', { source: SERIES }, async () => {
    const { id, run_id } = await createModel('many-names')
    const given = Array.from({ length: 150 }, (_, index) => `m${String(index).padStart(3, '0')}`)
    const trajectory = { messages_and_choices: [{ role: 'user', content: 'hi' }], metrics: {} }
    const metrics = Object.fromEntries(given.map((name, index) => [name, index]))
    const body = { split: 'val', trajectory_groups: [{ trajectories: [{ ...trajectory, metrics }] }] }
    await client.ok('logTrajectories', { path: { model_id: id }, body })
    const all: string[] = []
    for (let after_name: string | undefined; ; after_name = all.at(-1)) {
      const page = await client.ok('getRunMetrics', { path: { run_id: run_id! }, query: { after_name } })
      const names = Object.keys(page.metrics).toSorted()
      expect(names.length).toBeLessThanOrEqual(MOST_SERIES)
      expect(page.last_name).toBe(names.at(-1))
      expect(Object.keys(page.num_points).toSorted()).toEqual(names)
      all.push(...names)
      if (!page.has_more) break
    }
    expect(all, 'in alphabetical order').toEqual(all.toSorted())
    expect(all.filter(name => name.startsWith('val/m'))).toEqual(given.map(name => `val/${name}`))
    expect(all).toEqual(expect.arrayContaining(['val/exception_rate', 'val/reward']))
  })

  check('logTrajectories/counts-names-of-up-to-200-characters', { source: NAMES }, async () => {
    const { id } = await createModel('long-names')
    const [longest, tooLong] = ['a'.repeat(200), 'b'.repeat(201)] as const
    const trajectory = { messages_and_choices: [], metrics: { [longest]: 1, [tooLong]: 2, short: 3 } }
    const body = { split: 'val', trajectory_groups: [{ trajectories: [trajectory] }] }
    const { metrics } = await client.ok('logTrajectories', { path: { model_id: id }, body })
    expect(metrics).toMatchObject({ [`val/${longest}`]: 1, 'val/short': 3 })
    expect(Object.keys(metrics).filter(name => name.startsWith('val/b'))).toEqual([])
  })

  check(
    'listTrajectories/lists-nothing-of-training-jobs',
    { timeout: LIMIT, needs: ['training'], source: NOT_LISTED },
    async () => {
      const model = await createModel('only-logged')
      const group = await rollOut(uriOf(model), 'Say yes.', 2)
      const body = { model_id: model.id, trajectory_groups: [group] }
      await waitForJob((await client.ok('createRlTrainingJob', { body })).id)
      expect((await client.ok('listTrajectories', { path: { model_id: model.id } })).data).toEqual([])
    },
  )
})
