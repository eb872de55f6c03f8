/** Which checkpoint a job begins with, and which one a model's name means. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, createArtifact, createModel, target, uriOf } from './setup.ts'
import { checkpointSteps, conversations, toJsonLines, waitForJob } from './training-data.ts'

const NEWEST = '/components/schemas/ChatCompletionRequest/properties/model/description'
const LOGGED = '/paths/~1v1~1preview~1models~1{model_id}~1log/post/description'
/** Of log-probabilities: what else a machine computes at the same time may change their last digits. */
const ROUNDING = 0.05

type Alternatives = ReadonlyMap<string, number>

section('The latest checkpoint, which a mock does not have', { needs: ['memory', 'training'], flow: true }, () => {
  const timeout = 2 * target.jobTimeoutMs
  let model: Success<'createModel'>
  const path = () => ({ model_id: model.id })

  /** What the model thinks of its first token. */
  async function askFor(suffix: string): Promise<Alternatives> {
    const messages = [{ role: 'user', content: 'What is the code of box 0?' }]
    const body = { messages, temperature: 0, max_completion_tokens: 1, logprobs: true, top_logprobs: 5 }
    const { choices } = await client.ok('createChatCompletion', { body: { ...body, model: uriOf(model, suffix) } })
    return new Map(choices[0]!.logprobs!.content!.flatMap(({ top_logprobs }) => top_logprobs ?? []).map(toEntry))
  }

  const toEntry = ({ token, logprob }: { token: string; logprob: number }): [string, number] => [token, logprob]

  /** The largest difference in what both name; infinite where they name nothing alike. */
  function toDistance(one: Alternatives, other: Alternatives): number {
    const both = [...one.keys()].filter(token => other.has(token))
    if (both.length === 0) return Number.POSITIVE_INFINITY
    return Math.max(...both.map(token => Math.abs(one.get(token)! - other.get(token)!)))
  }

  /** Of the untrained checkpoint and the trained one of step 1, the latter is what answers. */
  async function expectTrained(suffix: string): Promise<void> {
    const asked = await askFor(suffix)
    const distance = toDistance(asked, await askFor(':step1'))
    expect(distance, suffix).toBeLessThanOrEqual(toDistance(asked, await askFor(':step0')) + ROUNDING)
  }

  check('createRlTrainingJob/goes-on-from-the-latest-checkpoint', { timeout }, async () => {
    model = await createModel('goes-on')
    const files = { 'train.jsonl': toJsonLines(conversations(12)) }
    const { uri } = await createArtifact('goes-on', { files, version: { type: 'dataset' } })
    const body = { model_id: model.id, training_data_url: uri, config: { batch_size: 2, learning_rate: 0.002 } }
    await waitForJob((await client.ok('createSftTrainingJob', { body })).id)
    const nothing = { model_id: model.id, trajectory_groups: [] }
    await waitForJob((await client.ok('createRlTrainingJob', { body: nothing })).id)
    expect(await checkpointSteps(model.id)).toEqual([0, 1, 2])
    await expectTrained(':step2')
  })

  check('deleteCheckpoints/leaves-the-newest-that-is-left', { source: NEWEST }, async () => {
    await client.ok('deleteCheckpoints', { path: path(), body: { steps: [2] } })
    for (const suffix of ['', ':latest']) await expectTrained(suffix)
  })

  check('logTrajectories/counts-for-the-newest-that-is-left', { source: LOGGED }, async () => {
    const trajectory_groups = [{ trajectories: [{ messages_and_choices: [{ role: 'user', content: 'hi' }] }] }]
    const body = { split: 'left', trajectory_groups }
    expect((await client.ok('logTrajectories', { path: path(), body })).step).toBe(1)
    const { data } = await client.ok('listCheckpoints', { path: path() })
    const steps = data.filter(({ metrics }) => 'left/reward' in metrics).map(({ step }) => step)
    expect(steps).toEqual([1])
  })
})
