import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { checkPages, walk } from './pages.ts'
import { asMember } from './second-member.ts'
import { client, createModel, foreignTeam, home, project, runId, target, unknownId } from './setup.ts'

const SPREAD = '/components/schemas/TrainingEventData/properties/reward_std_dev/description'
const CHECKPOINT = '/components/schemas/Checkpoint/properties/metrics/description'
const NO_STEP = '/components/schemas/LoggedTrajectory/properties/step/description'
const USER = '/components/schemas/Run/properties/user/description'
const message = { role: 'user', content: 'hi' }
const answer = { role: 'assistant', content: 'yes' }

section('Runs, which a mock does not keep', { needs: ['memory'] }, () => {
  const trajectory = (reward: number, more: object = {}) => ({
    messages_and_choices: [message, answer],
    reward,
    ...more,
  })
  const log = (model_id: string, split: string, rewards: number[], more: object = {}) =>
    client.ok('logTrajectories', {
      path: { model_id },
      body: { split, trajectory_groups: rewards.map(reward => ({ trajectories: [trajectory(reward, more)] })) },
    })
  const readMetrics = (run_id: string, query: Record<string, string | number> = {}) =>
    client.ok('getRunMetrics', { path: { run_id }, query })

  check('listRuns/holds-the-run-of-each-model', async () => {
    const model = await createModel('run')
    const { data } = await client.ok('listRuns', { query: { project, entity: home.entity, limit: 100 } })
    expect(data.find(run => run.id === model.run_id)).toEqual({
      id: model.run_id,
      entity: model.entity,
      project,
      name: model.name,
      user: expect.stringMatching(/./),
      model_id: model.id,
      created_at: model.created_at,
    })
    expect(await walk('listRuns', {}, { limit: 100 })).toContain(model.run_id)
    expect((await client.ok('listRuns', { query: { project: `${runId}-none` } })).data).toEqual([])
    await client.refused('listRuns', 403, { query: { entity: foreignTeam } })
  })

  check('getRunMetrics/gives-what-was-logged-as-series', async () => {
    const { id, run_id } = await createModel('metrics')
    expect(await readMetrics(run_id!)).toEqual({ run_id, metrics: {}, num_points: {}, last_name: '', has_more: false })
    await log(id, 'val', [1, 0.5], { metrics: { turns: 3, correct: true } })
    await log(id, 'val', [0])
    await log(id, 'test', [])
    const { metrics, num_points, last_name, has_more } = await readMetrics(run_id!)
    expect(metrics['val/reward']!.map(({ step, value }) => [step, value])).toEqual([
      [0, 0.75],
      [0, 0],
    ])
    const values = Object.fromEntries(Object.entries(metrics).map(([name, points]) => [name, points[0]!.value]))
    expect(values).toEqual({
      'val/correct': 1,
      'val/exception_rate': 0,
      'val/num_groups': 2,
      'val/num_trajectories': 2,
      'val/reward': 0.75,
      'val/reward_std_dev': expect.any(Number),
      'val/turns': 3,
    })
    expect(num_points).toMatchObject({ 'val/reward': 2, 'val/turns': 1 })
    expect({ last_name, has_more }).toEqual({ last_name: 'val/turns', has_more: false })
    const { data } = await client.ok('listCheckpoints', { path: { model_id: id } })
    expect(data[0]!.metrics).toMatchObject({ 'val/reward': 0, 'val/num_groups': 1, 'val/turns': 3 })
  })

  check('logTrajectories/averages-over-attempts-and-groups', { source: SPREAD }, async () => {
    const { id, run_id } = await createModel('averages')
    const groups = [
      { trajectories: [trajectory(1), trajectory(0), trajectory(0)], exceptions: [{}, {}] },
      { trajectories: [trajectory(5)] },
      { trajectories: [trajectory(1), trajectory(3)], exceptions: [{}] },
    ]
    const body = { split: 'val', trajectory_groups: groups }
    await client.ok('logTrajectories', { path: { model_id: id }, body })
    const { metrics } = await readMetrics(run_id!)
    const value = (name: string) => metrics[`val/${name}`]![0]!.value
    expect(value('reward')).toBeCloseTo(10 / 6, 5)
    // Of thirds 1, 0, 0 and of 1, 3; a group of one has no spread.
    expect(value('reward_std_dev')).toBeCloseTo((Math.sqrt(2) / 3 + 1) / 2, 5)
    expect(value('exception_rate')).toBeCloseTo(3 / 9, 5)
  })

  check('listCheckpoints/keeps-the-metrics-of-each-split', { source: CHECKPOINT }, async () => {
    const { id } = await createModel('two-splits')
    await log(id, 'val', [1])
    await log(id, 'test', [2])
    const { data } = await client.ok('listCheckpoints', { path: { model_id: id } })
    expect(data[0]!.metrics).toMatchObject({ 'val/reward': 1, 'test/reward': 2 })
  })

  check('listRuns/tells-who-made-the-model', { needs: ['second-key'], alone: true, source: USER }, () =>
    asMember({}, async ({ as }) => {
      const query = { entity: home.entity, project, limit: 100 }
      const runOf = async (options: object) =>
        (await client.ok('listRuns', { query, ...options })).data.find(run => run.model_id === home.id)
      expect(await runOf({ as })).toEqual(await runOf({}))
    }),
  )

  check('getRunMetrics/selects-names', async () => {
    const { id, run_id } = await createModel('names')
    await log(id, 'val', [1])
    const names = async (query: Record<string, string>) =>
      Object.keys((await readMetrics(run_id!, query)).metrics).toSorted()
    expect(await names({ name: 'val/reward' })).toEqual(['val/reward'])
    expect(await names({ name: 'no such name' })).toEqual([])
    expect(await names({ after_name: 'val/num_trajectories' })).toEqual(['val/reward', 'val/reward_std_dev'])
  })

  check('getRunMetrics/thins-out-long-series-and-keeps-their-ends', async () => {
    const { id, run_id } = await createModel('thinned')
    for (let value = 0; value < 11; value++) await log(id, 'val', [value])
    const read = async (points: number) => {
      const { metrics, num_points } = await readMetrics(run_id!, { name: 'val/reward', points })
      expect(num_points['val/reward']).toBe(11)
      return metrics['val/reward']!.map(point => point.value)
    }
    expect(await read(11)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(await read(2)).toEqual([0, 10])
    const thinned = await read(6)
    expect(thinned.length).toBeLessThanOrEqual(6)
    expect(thinned.length).toBeGreaterThanOrEqual(5)
    expect([thinned[0], thinned.at(-1)]).toEqual([0, 10])
    expect(thinned).toEqual(thinned.toSorted((one, other) => one - other))
    await client.refused('getRunMetrics', 422, { path: { run_id: run_id! }, query: { points: 1 } })
  })

  check('getRunMetrics/is-gone-with-the-model', async () => {
    const { id, run_id } = await createModel('gone-run')
    await log(id, 'val', [1])
    await client.ok('deleteModel', { path: { model_id: id } })
    await client.refused('getRunMetrics', 404, { path: { run_id: run_id! } })
    await client.refused('getRunMetrics', 404, { path: { run_id: unknownId } })
  })

  check('listTrajectories/gives-what-was-logged', async () => {
    const { id } = await createModel('trajectories')
    const more = {
      metrics: { turns: 1 },
      metadata: { prompt: { id: 7 } },
      logs: ['a line', 2],
      start_time: '2026-11-21T10:15:29.004Z',
      initial_policy_version: 0,
      final_policy_version: 1,
      tools: [{ type: 'function', function: { name: 'look' } }],
      additional_histories: [
        { messages_and_choices: [message], tools: [{ type: 'function', function: { name: 'ask' } }] },
        { messages_and_choices: [answer, message] },
      ],
      unknown: 'is not kept',
    }
    await client.ok('logTrajectories', {
      path: { model_id: id },
      body: {
        split: 'val',
        trajectory_groups: [
          { trajectories: [] },
          { trajectories: [trajectory(1, more), { messages_and_choices: [message] }] },
        ],
      },
    })
    const { unknown: _, ...kept } = more
    const { data } = await client.ok('listTrajectories', { path: { model_id: id } })
    expect(data).toMatchObject([
      { split: 'val', step: 0, group: 1, reward: 1, messages_and_choices: [message, answer], ...kept },
      { reward: 0, messages_and_choices: [message], tools: [], metrics: {}, start_time: null, is_shortened: false },
    ])
    expect(data[0]).not.toHaveProperty('unknown')
  })

  check('listTrajectories/tells-no-step-without-a-checkpoint', { source: NO_STEP }, async () => {
    const { id } = await createModel('no-checkpoint')
    await client.ok('deleteCheckpoints', { path: { model_id: id }, body: { steps: [0] } })
    expect((await log(id, 'val', [1])).step).toBeNull()
    const { data } = await client.ok('listTrajectories', { path: { model_id: id } })
    expect(data.map(({ step, reward }) => [step, reward])).toEqual([[null, 1]])
  })

  check('listTrajectories/keeps-choices-as-they-were-sent', async () => {
    const { id } = await createModel('choices')
    const body = {
      messages: [message],
      model: target.baseModel,
      logprobs: true,
      top_logprobs: 1,
      return_token_ids: true,
    }
    const [choice] = (await client.ok('createChatCompletion', { body: { ...body, max_completion_tokens: 4 } })).choices
    const logged = { messages_and_choices: [message, choice], reward: 1 }
    const trajectory_groups = [{ trajectories: [logged] }]
    await client.ok('logTrajectories', { path: { model_id: id }, body: { split: 'val', trajectory_groups } })
    const { data } = await client.ok('listTrajectories', { path: { model_id: id } })
    expect(data[0]!.messages_and_choices).toEqual([message, choice])
  })

  check('listTrajectories/selects-a-split', async () => {
    const { id } = await createModel('splits')
    await log(id, 'val', [1])
    await log(id, 'test', [2, 3])
    await log(id, 'val', [4])
    const rewards = async (query: Record<string, string>) =>
      (await client.ok('listTrajectories', { path: { model_id: id }, query })).data.map(item => item.reward)
    expect(await rewards({ split: 'val' })).toEqual([1, 4])
    expect(await rewards({ split: 'test', order: 'desc' })).toEqual([3, 2])
    expect(await rewards({ split: 'none' })).toEqual([])
    expect(await rewards({})).toEqual([1, 2, 3, 4])
  })

  check('listTrajectories/follows-the-laws-of-pages-across-calls', async () => {
    const { id } = await createModel('paged')
    for (const count of [3, 1, 0, 2, 1])
      await log(
        id,
        'val',
        Array.from({ length: count }, () => count),
      )
    await checkPages('listTrajectories', { path: { model_id: id } }, 7)
  })

  check('runs/unknown-or-foreign-are-404', { source: '/info/description#Errors' }, async () => {
    await client.refused('listTrajectories', 404, { path: { model_id: unknownId } })
    if (!target.secondApiKey) return
    const as = { bearer: target.secondApiKey }
    await client.refused('listTrajectories', 404, { path: { model_id: home.id }, as })
    await client.refused('getRunMetrics', 404, { path: { run_id: home.run_id! }, as })
    await client.refused('listRuns', 403, { query: { entity: home.entity }, as })
    expect(await walk('listRuns', { as }, { limit: 100 })).not.toContain(home.run_id)
  })
})
