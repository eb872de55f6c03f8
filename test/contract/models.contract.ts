import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { walk } from './pages.ts'
import { client, createModel, foreignTeam, home, project, runId, target, unknownId, uriOf } from './setup.ts'

const NAME = '/components/schemas/Model/properties/name/description'
const METRICS = '/components/schemas/LoggedTrajectories/properties/metrics/description'
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

section('Models, which a mock does not keep', { needs: ['memory'] }, () => {
  const create = (more: object) => ({ body: { project, name: home.name, base_model: target.baseModel, ...more } })

  check('createModel/fills-in-the-team-of-the-key', { needs: ['writes'] }, () => {
    expect(home).toMatchObject({ project, name: `${runId}-home`, base_model: target.baseModel })
    expect(home.entity).not.toBe('')
    expect(home.id).toMatch(UUID_V7)
    expect(Math.abs(Date.parse(home.created_at) - Date.now())).toBeLessThan(60 * 60 * 1000)
  })

  check('createModel/gives-an-existing-model-back-when-asked', async () => {
    expect(await client.ok('createModel', create({ return_existing: true }))).toEqual(home)
    expect(await client.ok('createModel', create({ entity: home.entity, return_existing: true }))).toEqual(home)
  })

  check('createModel/refuses-a-duplicate-name', async () => {
    const refusal = await client.refused('createModel', 400, create({}))
    expect(refusal.error.param).toBe('name')
  })

  check('createModel/refuses-an-unknown-base-model', async () => {
    for (const base_model of [`${runId}-none`, '../tiny-chat', '/etc']) {
      const refusal = await client.refused('createModel', 400, create({ name: `${runId}-x`, base_model }))
      expect(refusal.error.param).toBe('base_model')
    }
  })

  check('createModel/refuses-a-team-that-the-caller-is-not-in', async () => {
    await client.refused('createModel', 403, create({ entity: foreignTeam }))
  })

  check('getModel/gives-what-was-created', async () => {
    expect(await client.ok('getModel', { path: { model_id: home.id } })).toEqual(home)
    expect(await client.ok('getModel', { path: { model_id: home.id.toUpperCase() } })).toEqual(home)
  })

  check('createModel/tells-names-apart-by-letter-case', { source: NAME }, async () => {
    const lower = await createModel('letter-case')
    const upper = await client.ok('createModel', create({ name: `${runId}-LETTER-case`, entity: home.entity }))
    expect(upper.id).not.toBe(lower.id)
    expect(upper.name).toBe(`${runId}-LETTER-case`)
    const existing = create({ name: lower.name, entity: home.entity, return_existing: true })
    expect(await client.ok('createModel', existing)).toEqual(lower)
  })

  check('listModels/holds-each-model-once', async () => {
    const made = [home, await createModel('second'), await createModel('third')].map(model => model.id)
    const ids = await walk('listModels', {}, { limit: 100 })
    expect(ids.filter(id => made.includes(id))).toEqual(made)
    const backwards = await walk('listModels', {}, { limit: 100, order: 'desc' })
    expect(backwards.filter(id => made.includes(id))).toEqual(made.toReversed())
  })

  check('listCheckpoints/starts-with-step-0', { needs: ['writes'] }, async () => {
    const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id } })
    expect(data).toMatchObject([{ step: 0, metrics: {} }])
    expect(data[0]!.artifact).toMatch(new RegExp(`^[a-z-]+:///${home.entity}/${project}/${home.name}:step0$`))
  })

  check('logTrajectories/puts-the-means-on-the-latest-checkpoint', async () => {
    const message = { role: 'user', content: 'hi' }
    const trajectory = (reward: number, length: number) => ({
      messages_and_choices: [message],
      reward,
      metrics: { length },
    })
    const body = {
      split: 'val',
      trajectory_groups: [{ trajectories: [trajectory(1, 4), trajectory(0.5, 2)] }, { trajectories: [] }],
    }
    const path = { model_id: home.id }
    const logged = await client.ok('logTrajectories', { path, body })
    expect(logged).toMatchObject({
      split: 'val',
      step: 0,
      num_trajectories: 2,
      metrics: { 'val/reward': 0.75, 'val/length': 3 },
    })
    const { data } = await client.ok('listCheckpoints', { path })
    expect(data[0]!.metrics).toMatchObject({ 'val/reward': 0.75, 'val/length': 3 })
  })

  check('logTrajectories/gives-means-over-those-that-have-a-metric', { source: METRICS }, async () => {
    const { id, run_id } = await createModel('means')
    const one = (more: object) => ({ messages_and_choices: [{ role: 'user', content: 'hi' }], ...more })
    const trajectories = [
      one({ reward: 1, metrics: { length: 4, solved: true } }),
      one({ reward: 0, metrics: { length: 2 } }),
      one({ metrics: { solved: false, turns: 7 } }),
      one({ reward: 3, metrics: {} }),
    ]
    const body = { split: 'val', trajectory_groups: [{ trajectories }] }
    const means = { 'val/reward': 1, 'val/length': 3, 'val/solved': 0.5, 'val/turns': 7, 'val/num_trajectories': 4 }
    expect((await client.ok('logTrajectories', { path: { model_id: id }, body })).metrics).toMatchObject(means)
    const { metrics } = await client.ok('getRunMetrics', { path: { run_id: run_id! } })
    for (const [name, mean] of Object.entries(means)) expect(metrics[name]!.at(-1)!.value, name).toBe(mean)
  })

  check('deleteCheckpoints/tells-what-was-not-there', async () => {
    const model = await createModel('checkpoints')
    const path = { model_id: model.id }
    expect(await client.ok('deleteCheckpoints', { path, body: { steps: [7, 0, 3, 0, 7] } })).toEqual({
      deleted_count: 1,
      not_found_steps: [7, 3],
    })
    expect(await client.ok('deleteCheckpoints', { path, body: { steps: [] } })).toEqual({
      deleted_count: 0,
      not_found_steps: [],
    })
    expect(await client.ok('listCheckpoints', { path })).toEqual({
      object: 'list',
      data: [],
      first_id: '',
      last_id: '',
      has_more: false,
    })
  })

  check('deleteModel/takes-the-checkpoints-along-and-cannot-be-repeated', async () => {
    const { id, name } = await createModel('deleted')
    const path = { model_id: id }
    // What was used may be kept by a cache.
    const chat = {
      model: uriOf({ entity: home.entity, project, name }),
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 1,
    }
    await client.ok('createChatCompletion', { body: chat })
    for (let time = 0; time < 2; time++) await client.ok('getModel', { path })
    await client.ok('listCheckpoints', { path })
    expect(await client.ok('deleteModel', { path })).toEqual({
      model_id: id,
      deleted_checkpoints: 1,
      deleted_run: true,
    })
    await client.refused('deleteModel', 404, { path })
    await client.refused('getModel', 404, { path })
    await client.refused('listCheckpoints', 404, { path })
    await client.refused('createChatCompletion', 404, { body: chat })
    await client.refused('getArtifactVersion', 404, { path: { entity: home.entity, project, name, version: 'step0' } })
    expect(await walk('listModels', {}, { limit: 100 })).not.toContain(id)
  })

  check('deleteModel/frees-the-name', async () => {
    const first = await createModel('again')
    await client.ok('deleteModel', { path: { model_id: first.id } })
    expect((await createModel('again')).id).not.toBe(first.id)
  })

  check('models/unknown-are-404-everywhere', { source: '/info/description#Errors' }, async () => {
    const path = { model_id: unknownId }
    for (const id of ['getModel', 'deleteModel', 'listCheckpoints'] as const) await client.refused(id, 404, { path })
    await client.refused('deleteCheckpoints', 404, { path, body: { steps: [0] } })
    await client.refused('logTrajectories', 404, { path, body: { split: 'val', trajectory_groups: [] } })
  })

  check(
    'models/are-not-seen-by-another-team',
    { source: '/info/description#Errors', needs: ['second-key'] },
    async () => {
      const as = { bearer: target.secondApiKey! }
      const path = { model_id: home.id }
      for (const id of ['getModel', 'deleteModel', 'listCheckpoints'] as const)
        await client.refused(id, 404, { path, as })
      await client.refused('deleteCheckpoints', 404, { path, as, body: { steps: [0] } })
      await client.refused('logTrajectories', 404, { path, as, body: { split: 'val', trajectory_groups: [] } })
      await client.refused('createModel', 403, { ...create({ entity: home.entity }), as })
      expect(await walk('listModels', { as }, { limit: 100 })).not.toContain(home.id)
      const { data } = await client.ok('listInferenceModels', { as })
      expect(data.filter(model => model.id.includes(runId))).toEqual([])
    },
  )
})
