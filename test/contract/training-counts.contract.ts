/** What a job counts, and what of its data is trained: told by its first event and by the metrics of its checkpoint. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, createArtifact, createModel, target, uriOf } from './setup.ts'
import { conversations, followJob, rollOut, toJsonLines } from './training-data.ts'

const DATA = '/components/schemas/TrainingEventData/properties'
const TRAJECTORY = '/components/schemas/Trajectory/properties'
const MESSAGES = `${TRAJECTORY}/messages_and_choices/description`
const CHOICE = '/components/schemas/TrajectoryChoice/description'
const LOGPROBS = '/components/schemas/TrajectoryLogprobs/description'
const CONFIG = '/components/schemas/SftConfig/properties/batch_size/description'
const FILES = '/components/schemas/CreateSftTrainingJobRequest/properties/training_data_url/description'

type Group = Awaited<ReturnType<typeof rollOut>>
type Choice = { message: object; token_ids?: number[] | null; logprobs?: { content?: unknown } | null }

section('What jobs count, which a mock does not', { needs: ['memory', 'training'] }, () => {
  const LIMIT = 2 * target.jobTimeoutMs

  async function startOf(model: Success<'createModel'>, trajectory_groups: object[]) {
    const body = { model_id: model.id, trajectory_groups }
    const { id } = await client.ok('createRlTrainingJob', { body })
    const [started] = await followJob(id)
    return started!.data
  }

  const choiceOf = ({ messages_and_choices }: Group['trajectories'][number]) => messages_and_choices[1] as Choice
  const tokensOf = (group: Group) =>
    group.trajectories.reduce((sum, trajectory) => sum + choiceOf(trajectory).token_ids!.length, 0)

  /** The group with a turn more at the beginning, of what the choice is made into. */
  function putBefore(group: Group, change: (choice: Choice) => object): { group: object; tokens: number } {
    const trajectories = group.trajectories.map(trajectory => {
      const [message, choice] = trajectory.messages_and_choices
      const messages_and_choices = [message, change(choiceOf(trajectory)), message, choice]
      return { ...trajectory, messages_and_choices }
    })
    return { group: { trajectories }, tokens: 0 }
  }

  check(
    'createRlTrainingJob/counts-groups-and-trajectories',
    { timeout: LIMIT, source: `${DATA}/num_groups_skipped/description` },
    async () => {
      const model = await createModel('counted')
      const group = await rollOut(uriOf(model), 'Say yes.', 2)
      const [one] = group.trajectories
      const equal = group.trajectories.map(trajectory => ({ ...trajectory, reward: 1 }))
      const groups = [
        { trajectories: [] },
        { trajectories: [one!] },
        { trajectories: equal },
        { ...group, exceptions: [{ type: 'TimeoutError' }] },
      ]
      expect(await startOf(model, groups)).toMatchObject({
        num_groups_submitted: 4,
        num_groups_trainable: 1,
        num_groups_skipped: 3,
        num_trajectories: 5,
        num_trainable_tokens: tokensOf(group),
      })
      const { data } = await client.ok('listCheckpoints', { path: { model_id: model.id }, query: { order: 'desc' } })
      // Rewards 0; 1, 1; 0, 1; one attempt of six failed.
      expect(data[0]!.metrics).toMatchObject({
        reward: expect.closeTo(3 / 5, 5),
        reward_std_dev: expect.closeTo(1 / 4, 5),
        exception_rate: expect.closeTo(1 / 6, 5),
      })
    },
  )

  checkEach<[string, string, (group: Group) => { group: object; tokens: number }]>([
    [
      'further-histories',
      `${TRAJECTORY}/additional_histories/description`,
      group => {
        const [first, second] = group.trajectories as [Group['trajectories'][number], Group['trajectories'][number]]
        const { messages_and_choices } = second
        const trajectories = [{ ...first, additional_histories: [{ messages_and_choices }] }, second]
        return { group: { trajectories }, tokens: choiceOf(second).token_ids!.length }
      },
    ],
    [
      'nothing-behind-the-last-choice',
      MESSAGES,
      group => {
        const more = { role: 'user', content: 'And so on.' }
        const trajectories = group.trajectories.map(trajectory => ({
          ...trajectory,
          messages_and_choices: [...trajectory.messages_and_choices, more],
        }))
        return { group: { trajectories }, tokens: 0 }
      },
    ],
    ['no-messages-of-an-assistant', MESSAGES, group => putBefore(group, ({ message }) => message)],
    [
      'no-choices-without-log-probabilities',
      CHOICE,
      group => putBefore(group, choice => ({ ...choice, logprobs: null })),
    ],
    [
      'refusals',
      LOGPROBS,
      group => {
        const trajectories = group.trajectories.map(trajectory => {
          const [message] = trajectory.messages_and_choices
          const choice = choiceOf(trajectory)
          const logprobs = { content: null, refusal: choice.logprobs!.content }
          return { ...trajectory, messages_and_choices: [message, { ...choice, logprobs }] }
        })
        return { group: { trajectories }, tokens: 0 }
      },
    ],
  ])(
    'createRlTrainingJob/trains-%s',
    (_, source) => ({ timeout: LIMIT, source }),
    async (name, _, change) => {
      const model = await createModel(`trains-${name}`)
      const rolled = await rollOut(uriOf(model), 'Say yes.', 2)
      const { group, tokens } = change(rolled)
      expect(await startOf(model, [group])).toMatchObject({
        num_groups_trainable: 1,
        num_trainable_tokens: tokensOf(rolled) + tokens,
      })
    },
  )

  checkEach<[string, unknown, number]>([
    ['auto', 'auto', 3],
    ['null', null, 3],
    ['nothing', undefined, 3],
    ['more-than-there-are', 8, 1],
  ])(
    'createSftTrainingJob/takes-batches-of-%s',
    () => ({ timeout: LIMIT, source: CONFIG }),
    async (name, batch_size, steps) => {
      const model = await createModel(`batches-${name}`)
      const files = { 'train.jsonl': toJsonLines(conversations(5)) }
      const { uri } = await createArtifact('batches', { files, version: { type: 'dataset' } })
      const body = { model_id: model.id, training_data_url: uri, config: { batch_size } }
      const { id } = await client.ok('createSftTrainingJob', { body })
      const events = await followJob(id)
      expect(events[0]!.data).toMatchObject({ num_sequences: steps, num_trajectories: 5 })
      expect(events.filter(({ type }) => type === 'gradient_step')).toHaveLength(steps)
    },
  )

  check('createSftTrainingJob/reads-the-only-other-file', { timeout: LIMIT, source: FILES }, async () => {
    const model = await createModel('only-file')
    const files = { 'notes.txt': 'no lines', 'rows.jsonl': toJsonLines(conversations(2)) }
    const { uri } = await createArtifact('only-file', { files, version: { type: 'dataset', aliases: ['best'] } })
    const training_data_url = uri.replace(/:v0$/, ':best')
    const { id } = await client.ok('createSftTrainingJob', { body: { model_id: model.id, training_data_url } })
    expect((await followJob(id))[0]!.data).toMatchObject({ num_trajectories: 2 })
    const both = { ...files, 'more.jsonl': toJsonLines(conversations(1)) }
    const unclear = await createArtifact('unclear-file', { files: both, version: { type: 'dataset' } })
    const body = { model_id: model.id, training_data_url: unclear.uri }
    await client.refused('createSftTrainingJob', 422, { body, bad: false })
  })
})
