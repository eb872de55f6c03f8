import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, createArtifact, createModel, home, project, runId, target, unknownId, uriOf } from './setup.ts'
import { checkpointSteps, conversations, followJob, rollOut, toJsonLines, waitForJob } from './training-data.ts'

const job = (id: string) => ({ path: { training_job_id: id } })

section('Training jobs, which a mock does not run', { needs: ['memory', 'training'] }, () => {
  const LIMIT = 2 * target.jobTimeoutMs
  section('a reinforcement-learning job from end to end', { flow: true }, () => {
    let model: Success<'createModel'>
    let id: string
    const uri = () => uriOf(model)

    check('createRlTrainingJob/takes-rollouts-as-they-are', { timeout: LIMIT }, async () => {
      model = await createModel('rl')
      const prompts = ['Say yes.', 'Say no.', 'Say maybe.']
      const trajectory_groups = await Promise.all(prompts.map(prompt => rollOut(uri(), prompt, 4)))
      const created = await client.ok('createRlTrainingJob', {
        body: { model_id: model.id, trajectory_groups, experimental_config: { learning_rate: 7e-4 } },
      })
      expect(created).toMatchObject({ model_id: model.id, type: 'rl' })
      id = created.id
      const events = await followJob(id)
      const stepEvents = events.filter(event => event.type === 'gradient_step')
      expect(events.map(event => event.type)).toEqual([
        'training_started',
        ...stepEvents.map(() => 'gradient_step'),
        'training_ended',
      ])
      expect(events[0]!.data.num_sequences).toBe(stepEvents.length)
      expect(stepEvents.length).toBeGreaterThan(0)
      for (const { data } of stepEvents) {
        const keys = [
          'reward',
          'reward_std_dev',
          'policy_loss',
          'entropy',
          'grad_norm',
          'learning_rate',
          'num_trajectories',
          'num_trainable_tokens',
          'tokens_per_second',
        ]
        expect(Object.keys(data)).toEqual(expect.arrayContaining(keys))
        expect(data).toMatchObject({ learning_rate: 7e-4, reward: expect.closeTo(0.5, 5) })
        for (const key of ['entropy', 'grad_norm', 'tokens_per_second'])
          expect(data[key], key).toBeGreaterThanOrEqual(0)
      }
    })

    check('listCheckpoints/has-the-new-one-first-when-asked-backwards', async () => {
      const query = { limit: 1, order: 'desc' }
      const { data } = await client.ok('listCheckpoints', { path: { model_id: model.id }, query })
      expect(data).toMatchObject([{ step: 1, metrics: { reward: expect.closeTo(0.5, 5) } }])
      expect(data[0]!.artifact).toBe(`${uri()}:step1`)
      expect(await checkpointSteps(model.id)).toEqual([0, 1])
    })

    check('getTrainingJob/tells-when-it-ran', async () => {
      const record = await client.ok('getTrainingJob', job(id))
      expect(record).toMatchObject({ status: 'COMPLETED', error_message: null })
      const times = [record.created_at, record.training_start!, record.training_end!].map(Date.parse)
      expect(times.toSorted((a, b) => a - b)).toEqual(times)
      expect(await client.ok('cancelTrainingJob', job(id))).toEqual(record)
    })

    check('createChatCompletion/answers-with-the-tuned-model', async () => {
      const body = {
        messages: [{ role: 'user', content: 'Say yes.' }],
        temperature: 0,
        max_completion_tokens: 8,
        top_logprobs: 1,
        logprobs: true,
      }
      const logprobs = async (name: string) =>
        (await client.ok('createChatCompletion', { body: { ...body, model: name } })).choices[0]!.logprobs
      const tuned = await logprobs(`${uri()}:step1`)
      expect(await logprobs(uri()), 'the plain URI is the latest checkpoint').toEqual(tuned)
      expect(await logprobs(`${uri()}:latest`)).toEqual(tuned)
      expect(await logprobs(`${uri()}:step0`), 'training changed the probabilities').not.toEqual(tuned)
      const { data } = await client.ok('listInferenceModels')
      expect(data.map(one => one.id)).toEqual(expect.arrayContaining([`${uri()}:step0`, `${uri()}:step1`]))
    })

    check('getArtifactVersion/shows-the-checkpoint-as-a-peft-folder', async () => {
      const path = { entity: model.entity, project, name: model.name, version: 'step1' }
      const version = await client.ok('getArtifactVersion', { path })
      expect(version).toMatchObject({ type: 'lora', aliases: ['latest', 'step1'] })
      expect(version.files.map(file => file.path)).toEqual(
        expect.arrayContaining(['adapter_config.json', 'adapter_model.safetensors']),
      )
      const { body } = await client.call('getArtifactFile', { path: { ...path, path: 'adapter_config.json' } })
      expect(body).toMatchObject({ peft_type: 'LORA' })
      await client.refused('deleteArtifactVersion', 400, { path })
    })

    check('listTrainingJobs/narrows-by-model-and-status', { timeout: LIMIT }, async () => {
      const list = async (query: Record<string, string>) =>
        (await client.ok('listTrainingJobs', { query })).data.map(one => one.id)
      expect(await list({ model_id: model.id })).toEqual([id])
      expect(await list({ model_id: model.id, status: 'COMPLETED' })).toEqual([id])
      expect(await list({ model_id: model.id, status: 'FAILED' })).toEqual([])
      expect(await list({ model_id: unknownId })).toEqual([])
    })

    check('createRlTrainingJob/with-nothing-to-learn-still-makes-a-checkpoint', { timeout: LIMIT }, async () => {
      const same = await rollOut(uri(), 'Say yes.', 2)
      const equal = { trajectories: same.trajectories.map(({ reward, ...trajectory }) => trajectory) }
      const { id: next } = await client.ok('createRlTrainingJob', {
        body: { model_id: model.id, trajectory_groups: [equal, { trajectories: [] }] },
      })
      const events = await followJob(next)
      expect(events.map(event => event.type)).toEqual(['training_started', 'training_ended'])
      expect(events[0]!.data.num_sequences).toBe(0)
      expect(await checkpointSteps(model.id)).toEqual([0, 1, 2])
    })

    check('deleteCheckpoints/takes-the-artifact-and-the-chat-name-along', async () => {
      const path = { model_id: model.id }
      expect(await client.ok('deleteCheckpoints', { path, body: { steps: [1, 9] } })).toEqual({
        deleted_count: 1,
        not_found_steps: [9],
      })
      expect(await checkpointSteps(model.id)).toEqual([0, 2])
      await client.refused('getArtifactVersion', 404, {
        path: { entity: model.entity, project, name: model.name, version: 'step1' },
      })
      const body = { model: `${uri()}:step1`, messages: [{ role: 'user', content: 'hi' }] }
      await client.refused('createChatCompletion', 404, { body })
    })
  })

  section('a fine-tuning job from end to end', { flow: true }, () => {
    let model: Success<'createModel'>
    let data: Success<'createArtifactVersion'>
    const config = { batch_size: 4, learning_rate: [0.002, 0.001] }

    check('createSftTrainingJob/trains-on-an-artifact', { timeout: LIMIT }, async () => {
      model = await createModel('sft')
      const files = {
        'trajectories.jsonl': toJsonLines(conversations(10)),
        'metadata.json': '{"format":"jsonl","num_trajectories":10}',
      }
      data = await createArtifact('sft-data', { files, version: { type: 'dataset' } })
      const body = { model_id: model.id, training_data_url: data.uri, config }
      const created = await client.ok('createSftTrainingJob', { body })
      expect(created).toMatchObject({ model_id: model.id, type: 'sft' })
      const twin = await client.ok('createSftTrainingJob', { body })
      const { training_end } = await client.ok('getTrainingJob', job(created.id))
      if (twin.id !== created.id) expect(Date.parse(training_end!)).toBeLessThanOrEqual(Date.parse(twin.created_at))
      const events = await followJob(created.id)
      expect(events.map(event => event.type)).toEqual([
        'training_started',
        'gradient_step',
        'gradient_step',
        'gradient_step',
        'training_ended',
      ])
      expect(events[0]!.data.num_sequences).toBe(3)
      expect(events.slice(1, -1).map(event => event.data.learning_rate)).toEqual([0.002, 0.001, 0.001])
      for (const event of events.slice(1, -1)) expect(event.data.loss).toBeGreaterThan(0)
      await waitForJob(twin.id)
    })

    check('createSftTrainingJob/takes-the-other-file-name-and-uri-forms', { timeout: LIMIT }, async () => {
      const other = await createArtifact('sft-train', {
        files: { 'train.jsonl': toJsonLines(conversations(2)) },
        version: { type: 'dataset' },
      })
      const [, rest] = other.uri.split(':///')
      for (const url of [
        `wandb-artifact:///${rest}`,
        other.uri.replace(':///', '://'),
        other.uri.replace(/:v0$/, ':latest'),
      ]) {
        const { id } = await client.ok('createSftTrainingJob', {
          body: { model_id: model.id, training_data_url: url, config: { batch_size: 'auto', learning_rate: null } },
        })
        expect(await waitForJob(id)).toMatchObject({ status: 'COMPLETED' })
      }
    })

    check('createSftTrainingJob/refuses-an-artifact-that-is-not-there', async () => {
      if (data === undefined) throw new SkipError('no artifact could be made')
      for (const url of [data.uri.replace(':v0', ':v9'), uriOf({ ...home, name: `${runId}-none` }, ':v0')]) {
        await client.refused('createSftTrainingJob', 400, { body: { model_id: model.id, training_data_url: url } })
      }
    })

    check('createSftTrainingJob/names-the-line-at-fault', async () => {
      const rows = [...conversations(2), { messages: [{ role: 'user' }, { role: 'assistant', content: 'x' }] }]
      const bad = await createArtifact('sft-bad', {
        files: { 'trajectories.jsonl': toJsonLines(rows), 'metadata.json': '{}' },
        version: { type: 'dataset' },
      })
      const refusal = await client.refused('createSftTrainingJob', 422, {
        body: { model_id: model.id, training_data_url: bad.uri },
        bad: false,
      })
      const [detail] = refusal.detail as { loc: string[] }[]
      expect(detail!.loc).toEqual(expect.arrayContaining(['trajectories.jsonl', '3']))
      expect((await client.ok('listTrainingJobs', { query: { model_id: model.id, status: 'FAILED' } })).data).toEqual(
        [],
      )
    })
  })
})
