import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { checkPages, walk, whileStill } from './pages.ts'
import { client, createArtifact, createModel, foreignTeam, home, runId, target, unknownId, uriOf } from './setup.ts'
import { checkpointSteps, conversations, followJob, rollOut, toJsonLines, waitForJob } from './training-data.ts'

const TAU = '/components/schemas/RlExperimentalConfig/properties/kimi_k2_tau/description'
const DATA_URL = '/components/schemas/CreateSftTrainingJobRequest/properties/training_data_url/description'
const REPEATS = '/info/description#Safe repeats'
const STATUS = '/components/parameters/StatusFilter/description'
const STATUSES = ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED']

const job = (id: string) => ({ path: { training_job_id: id } })

section('Training jobs one by one, which a mock does not run', { needs: ['memory'] }, () => {
  const LIMIT = 2 * target.jobTimeoutMs

  /** Asks again for each status while jobs move on: what is listed under a status is in no other, and each job under one. */
  async function expectStatusLists(model_id: string): Promise<void> {
    const read = async (query: Record<string, string>) =>
      (await client.ok('listTrainingJobs', { query: { model_id, ...query } })).data
    const readAll = () => read({})
    await whileStill(readAll, async jobs => {
      for (const status of STATUSES) {
        const listed = (await read({ status })).map(({ id }) => id)
        expect(listed, status).toEqual(jobs.filter(job => job.status === status).map(({ id }) => id))
      }
    })
  }

  section('creating', {}, () => {
    check('createRlTrainingJob/is-safe-to-repeat-with-a-key', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('idempotent')
      const headers = { 'idempotency-key': `${runId}-rl` }
      const body = { model_id: model.id, trajectory_groups: [] }
      const ids = await Promise.all(
        [1, 2, 3].map(async () => (await client.ok('createRlTrainingJob', { headers, body })).id),
      )
      expect(new Set(ids).size).toBe(1)
      expect(
        (await client.ok('createRlTrainingJob', { headers: { 'idempotency-key': `${runId}-rl-2` }, body })).id,
      ).not.toBe(ids[0])
      const refusal = await client.refused('createRlTrainingJob', 422, {
        headers,
        body: { ...body, experimental_config: {} },
        bad: false,
      })
      expect(refusal.detail).toMatchObject([{ loc: ['header', 'idempotency-key'] }])
      await waitForJob(ids[0]!)
      expect((await client.ok('createRlTrainingJob', { headers, body })).id, 'also when the job has ended').toBe(ids[0])
    })

    check('createSftTrainingJob/is-safe-to-repeat-with-a-key', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('idempotent-sft')
      const data = await createArtifact('idempotent', {
        files: { 'train.jsonl': toJsonLines(conversations(1)) },
        version: { type: 'dataset' },
      })
      const headers = { 'idempotency-key': `${runId}-sft` }
      const body = { model_id: model.id, training_data_url: data.uri }
      const { id } = await client.ok('createSftTrainingJob', { headers, body })
      await waitForJob(id)
      expect((await client.ok('createSftTrainingJob', { headers, body })).id).toBe(id)
      await client.refused('createSftTrainingJob', 422, {
        headers,
        body: { ...body, config: { batch_size: 1 } },
        bad: false,
      })
    })

    check(
      'createRlTrainingJob/uses-up-no-key-for-a-refusal',
      { timeout: LIMIT, needs: ['training'], source: REPEATS },
      async () => {
        const model = await createModel('refused-key')
        const headers = { 'idempotency-key': `${runId}-refused` }
        const body = { model_id: unknownId, trajectory_groups: [] }
        await client.refused('createRlTrainingJob', 404, { headers, body })
        await client.refused('createRlTrainingJob', 422, { headers, body: { ...body, trajectory_groups: 7 } })
        const own = { ...body, model_id: model.id }
        const { id } = await client.ok('createRlTrainingJob', { headers, body: own })
        expect((await client.ok('createRlTrainingJob', { headers, body: own })).id).toBe(id)
      },
    )

    check('createRlTrainingJob/refuses-an-idempotency-key-with-spaces', async () => {
      const body = { model_id: home.id, trajectory_groups: [] }
      await client.refused('createRlTrainingJob', 422, { headers: { 'idempotency-key': 'a b' }, body })
    })

    check('training-jobs/need-a-model-of-the-caller', { source: '/info/description#Errors' }, async () => {
      const bodies = {
        model_id: unknownId,
        trajectory_groups: [],
        training_data_url: uriOf({ ...home, name: 'x' }, ':v0'),
      }
      for (const id of ['createRlTrainingJob', 'createSftTrainingJob'] as const)
        await client.refused(id, 404, { body: bodies })
      if (!target.secondApiKey) return
      const as = { bearer: target.secondApiKey }
      for (const id of ['createRlTrainingJob', 'createSftTrainingJob'] as const)
        await client.refused(id, 404, { body: { ...bodies, model_id: home.id }, as })
    })

    check('createSftTrainingJob/hides-data-of-other-teams', { source: DATA_URL }, async () => {
      const body = { model_id: home.id, training_data_url: uriOf({ ...home, entity: foreignTeam }, ':v0') }
      await client.refused('createSftTrainingJob', 404, { body })
    })

    check('createRlTrainingJob/names-the-choice-at-fault', async () => {
      const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant' } }
      const trajectory = {
        messages_and_choices: [
          { role: 'user', content: 'hi' },
          { ...choice, finish_reason: 7 },
        ],
      }
      const body = { model_id: home.id, trajectory_groups: [{ trajectories: [trajectory] }] }
      const refusal = await client.refused('createRlTrainingJob', 422, { body })
      const place = ['body', 'trajectory_groups', '0', 'trajectories', '0', 'messages_and_choices', '1']
      for (const { loc } of refusal.detail as { loc: string[] }[]) expect(loc.slice(0, place.length)).toEqual(place)
    })

    check('createRlTrainingJob/takes-every-key-of-its-config', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('config')
      const group = await rollOut(uriOf(model), 'Say no.', 3)
      const experimental_config = {
        learning_rate: 1e-4,
        ppo: true,
        epsilon: 0.2,
        epsilon_high: 0.3,
        advantage_balance: 0.1,
        scale_rewards: false,
        mask_prob_ratio: true,
        max_negative_advantage_importance_sampling_weight: 10,
        vendor_k2_tau: 0.1,
        precalculate_logprobs: true,
      }
      const { id } = await client.ok('createRlTrainingJob', {
        body: { model_id: model.id, trajectory_groups: [group], experimental_config },
      })
      expect(await waitForJob(id)).toMatchObject({ status: 'COMPLETED' })
    })

    check('createRlTrainingJob/refuses-two-values-under-both-names-of-one-key', { source: TAU }, async () => {
      const experimental_config = { vendor_k2_tau: 0.1, kimi_k2_tau: 0.2 }
      const body = { model_id: home.id, trajectory_groups: [], experimental_config }
      await client.refused('createRlTrainingJob', 422, { body })
    })

    check(
      'createRlTrainingJob/is-repeated-with-any-key-of-the-team',
      { timeout: LIMIT, needs: ['training'], source: REPEATS },
      async () => {
        const model = await createModel('any-key')
        const body = { model_id: model.id, trajectory_groups: [] }
        const headers = { 'idempotency-key': `${runId}-any-key` }
        const { key } = await client.ok('createApiKey', { body: { name: `${runId}-repeat`, team: home.entity } })
        const { id } = await client.ok('createRlTrainingJob', { headers, body })
        expect((await client.ok('createRlTrainingJob', { headers, body, as: { bearer: key } })).id).toBe(id)
      },
    )

    check('createRlTrainingJob/takes-a-large-body', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('large')
      const trajectory = { messages_and_choices: [{ role: 'user', content: 'x'.repeat(1000) }], reward: 1 }
      const groups = (count: number) => Array.from({ length: count }, () => ({ trajectories: [trajectory] }))
      const { id } = await client.ok('createRlTrainingJob', {
        body: { model_id: model.id, trajectory_groups: groups(2500) },
      })
      expect(await waitForJob(id)).toMatchObject({ status: 'COMPLETED' })
      const bad = [...groups(2500), { trajectories: 7 }, { trajectories: 8 }]
      const refusal = await client.refused('createRlTrainingJob', 422, {
        body: { model_id: model.id, trajectory_groups: bad },
      })
      expect(refusal.detail).toMatchObject([
        { loc: ['body', 'trajectory_groups', '2500', 'trajectories'], type: 'list_type' },
      ])
    })
  })

  section('reading and ending', {}, () => {
    check('listTrainingJobs/follows-the-laws-of-pages', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('jobs')
      const body = { model_id: model.id, trajectory_groups: [] }
      const ids: string[] = []
      for (let count = 0; count < 4; count++) ids.push((await client.ok('createRlTrainingJob', { body })).id)
      for (const id of ids) await waitForJob(id)
      const query = { model_id: model.id }
      expect(await walk('listTrainingJobs', {}, query), 'the oldest comes first').toEqual(ids)
      await checkPages('listTrainingJobs', { query }, 4)
      await checkPages('listCheckpoints', { path: { model_id: model.id } }, 5)
    })

    check('cancelTrainingJob/stops-a-job', { timeout: LIMIT, needs: ['training'] }, async () => {
      const model = await createModel('cancelled')
      const data = await createArtifact('long', {
        files: { 'train.jsonl': toJsonLines(conversations(400)) },
        version: { type: 'dataset' },
      })
      const body = { model_id: model.id, training_data_url: data.uri, config: { batch_size: 1 } }
      const { id } = await client.ok('createSftTrainingJob', { body })
      const cancelled = await client.ok('cancelTrainingJob', job(id))
      expect(cancelled).toMatchObject({ id, status: 'CANCELLED', error_message: 'cancelled' })
      expect(cancelled.training_end).not.toBeNull()
      expect(await client.ok('cancelTrainingJob', job(id))).toEqual(cancelled)
      const events = await followJob(id)
      expect(events.at(-1)).toMatchObject({ type: 'training_failed', data: { error_message: 'cancelled' } })
      expect(await client.ok('getTrainingJob', job(id))).toEqual(cancelled)
      expect(await checkpointSteps(model.id)).toEqual([0])
    })

    check(
      'listTrainingJobs/narrows-by-the-status-of-now',
      { timeout: LIMIT, source: STATUS, needs: ['training'] },
      async () => {
        const model = await createModel('by-status')
        const files = { 'train.jsonl': toJsonLines(conversations(400)) }
        const data = await createArtifact('by-status', { files, version: { type: 'dataset' } })
        const body = { model_id: model.id, training_data_url: data.uri, config: { batch_size: 1 } }
        const ids: string[] = []
        for (let count = 0; count < 3; count++) ids.push((await client.ok('createSftTrainingJob', { body })).id)
        await expectStatusLists(model.id)
        for (const id of ids) await client.ok('cancelTrainingJob', job(id))
        await expectStatusLists(model.id)
      },
    )

    check('training-jobs/unknown-are-404-everywhere', { source: '/info/description#Errors' }, async () => {
      const ids = ['getTrainingJob', 'listTrainingJobEvents', 'cancelTrainingJob'] as const
      for (const id of ids) await client.refused(id, 404, job(unknownId))
      if (!target.secondApiKey || !target.mayTrain) return
      const { id: own } = await client.ok('createRlTrainingJob', { body: { model_id: home.id, trajectory_groups: [] } })
      const as = { bearer: target.secondApiKey }
      for (const id of ids) await client.refused(id, 404, { ...job(own), as })
      expect((await client.ok('listTrainingJobs', { query: { model_id: home.id }, as })).data).toEqual([])
    })
  })
})
