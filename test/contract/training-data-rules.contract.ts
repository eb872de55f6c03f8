/** Which data can be trained on, what of it is trained, and what goes when its model goes. */
import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import { client, createArtifact, createModel, target, uriOf } from './setup.ts'
import { conversations, followJob, rollOut, toJsonLines, waitForJob } from './training-data.ts'

const FILES = '/components/schemas/CreateSftTrainingJobRequest/properties/training_data_url/description'
const RATE = '/components/schemas/SftConfig/properties/learning_rate/description'
const METADATA = '{"format":"jsonl"}'

type Files = Record<string, object[]>
type Choice = { token_ids?: number[] | null }

section('Data of training jobs, which a mock does not read', { needs: ['memory', 'training'] }, () => {
  const LIMIT = 2 * target.jobTimeoutMs
  const timeout = LIMIT

  async function upload(name: string, files: Files): Promise<string> {
    const contents = Object.entries(files).map(([path, rows]) => [path, toJsonLines(rows)])
    const all = { ...Object.fromEntries(contents), 'metadata.json': METADATA }
    return (await createArtifact(name, { files: all, version: { type: 'dataset' } })).uri
  }

  /** Its first event tells what it counted. */
  async function fineTune(name: string, files: Files, config: object = {}) {
    const { id: model_id } = await createModel(name)
    const body = { model_id, training_data_url: await upload(name, files), config }
    return followJob((await client.ok('createSftTrainingJob', { body })).id)
  }

  check('deleteModel/takes-the-training-jobs-along', { timeout }, async () => {
    const model = await createModel('with-jobs')
    const { id } = await client.ok('createRlTrainingJob', { body: { model_id: model.id, trajectory_groups: [] } })
    await waitForJob(id)
    await client.ok('deleteModel', { path: { model_id: model.id } })
    const path = { training_job_id: id }
    for (const operation of ['getTrainingJob', 'listTrainingJobEvents', 'cancelTrainingJob'] as const)
      await client.refused(operation, 404, { path })
    expect((await client.ok('listTrainingJobs', { query: { model_id: model.id } })).data).toEqual([])
  })

  check('deleteModel/cancels-unfinished-training-jobs', { timeout }, async () => {
    const model = await createModel('with-a-long-job')
    const training_data_url = await upload('with-a-long-job', { 'train.jsonl': conversations(400) })
    const body = { model_id: model.id, training_data_url, config: { batch_size: 1 } }
    const { id } = await client.ok('createSftTrainingJob', { body })
    await client.ok('deleteModel', { path: { model_id: model.id } })
    await client.refused('getTrainingJob', 404, { path: { training_job_id: id } })
  })

  check('createSftTrainingJob/trains-what-the-assistant-says', { timeout }, async () => {
    const rows = (before: string, after: string) =>
      [1, 2, 3].map(index => ({
        messages: [
          { role: 'user', content: `${before}What is the code of box ${index}?` },
          { role: 'assistant', content: `It is ${index}.${after}` },
        ],
      }))
    const words = 'And here are some more words. '.repeat(4)
    const count = async (name: string, before: string, after: string) => {
      const [started] = await fineTune(name, { 'trajectories.jsonl': rows(before, after) })
      const { num_trainable_tokens } = started!.data
      if (num_trainable_tokens === undefined) throw new SkipError('no trained tokens are told')
      return num_trainable_tokens
    }
    const trained = await count('assistant-only', '', '')
    expect(await count('longer-questions', words, ''), 'questions are not trained').toBe(trained)
    expect(await count('longer-answers', '', ` ${words.trim()}`), 'answers are').toBeGreaterThan(trained)
  })

  checkEach<[string, Files, number]>([
    [
      'messages-and-choices',
      { 'trajectories.jsonl': conversations(3).map(row => ({ messages_and_choices: Object.values(row)[0] })) },
      3,
    ],
    ['trajectories-first', { 'train.jsonl': conversations(3), 'trajectories.jsonl': conversations(2) }, 2],
  ])(
    'createSftTrainingJob/reads-%s',
    () => ({ timeout, source: FILES }),
    async (name, files, count) => {
      const events = await fineTune(`reads-${name}`, files)
      expect(events.at(-1)!.type).toBe('training_ended')
      expect(events[0]!.data).toMatchObject({ num_trajectories: count })
    },
  )

  check('createSftTrainingJob/refuses-conversations-that-end-with-a-question', { timeout }, async () => {
    const { id: model_id } = await createModel('open-end')
    const open = { messages: [{ role: 'user', content: 'What is the code?' }] }
    const training_data_url = await upload('open-end', { 'trajectories.jsonl': [...conversations(1), open] })
    const body = { model_id, training_data_url }
    const { detail } = await client.refused('createSftTrainingJob', 422, { body, bad: false })
    for (const { loc } of detail as { loc: string[] }[])
      expect(loc).toEqual(expect.arrayContaining(['trajectories.jsonl', '2']))
    expect((await client.ok('listTrainingJobs', { query: { model_id } })).data).toEqual([])
  })

  checkEach<[string, number | number[], number[]]>([
    ['one-rate-for-all-steps', 0.0015, [0.0015, 0.0015, 0.0015]],
    ['the-first-rates-of-too-many', [0.002, 0, 0.001, 0.5, 0.25], [0.002, 0, 0.001]],
  ])(
    'createSftTrainingJob/uses-%s',
    () => ({ timeout, source: RATE }),
    async (name, learning_rate, expected) => {
      const events = await fineTune(name, { 'train.jsonl': conversations(5) }, { batch_size: 2, learning_rate })
      const steps = events.filter(({ type }) => type === 'gradient_step')
      expect(steps.map(({ data }) => data.learning_rate)).toEqual(expected.map(rate => expect.closeTo(rate, 7)))
    },
  )

  checkEach<[string, (conversation: unknown[]) => unknown[]]>([
    ['a-choice-before-any-message', ([, choice]) => [choice]],
    [
      'more-token-ids-than-log-probabilities',
      ([message, choice]) => [message, { ...(choice as Choice), token_ids: [...(choice as Choice).token_ids!, 1] }],
    ],
  ])(
    'createRlTrainingJob/refuses-%s',
    () => ({ timeout }),
    async (name, change) => {
      const model = await createModel(name)
      const { trajectories } = await rollOut(uriOf(model), 'Say yes.', 2)
      const [first, second] = trajectories as [(typeof trajectories)[number], (typeof trajectories)[number]]
      const bad = { ...first, messages_and_choices: change(first.messages_and_choices) }
      const body = { model_id: model.id, trajectory_groups: [{ trajectories: [second, bad] }] }
      const { detail } = await client.refused('createRlTrainingJob', 422, { body, bad: false })
      const place = ['body', 'trajectory_groups', '0', 'trajectories', '1', 'messages_and_choices']
      for (const { loc } of detail as { loc: string[] }[]) expect(loc.slice(0, place.length)).toEqual(place)
      expect((await client.ok('listTrainingJobs', { query: { model_id: model.id } })).data).toEqual([])
    },
  )
})
