/** Rollouts, data and waiting, as a training client does them. */
import type { Success } from '../../src/contract/client.ts'
import { walk } from './pages.ts'
import { client, target } from './setup.ts'

/** Between two looks at a job, in milliseconds. */
const POLL_INTERVAL_MS = 100

type Event = Success<'listTrainingJobEvents'>['data'][number]

/** Waits for the job's last event and checks what every job's events have in common. Throws when the job takes too long. */
export async function followJob(id: string): Promise<Event[]> {
  const path = { training_job_id: id }
  const deadline = Date.now() + target.jobTimeoutMs
  const events: Event[] = []
  while (!['training_ended', 'training_failed'].includes(events.at(-1)?.type ?? '')) {
    if (Date.now() > deadline)
      throw new Error(`The job ${id} did not end in time; its events: ${JSON.stringify(events)}`)
    const after = events.at(-1)?.id
    const { data } = await client.ok('listTrainingJobEvents', { path, query: { limit: 100, after } })
    events.push(...data)
    if (data.length === 0) await new Promise(resolve => setTimeout(resolve, POLL_INTERVAL_MS))
  }
  const ids = events.map(event => event.id)
  if (ids.some((one, index) => index > 0 && one <= ids[index - 1]!)) throw new Error('The ids of events do not ascend')
  const again = await walk('listTrainingJobEvents', { path }, { limit: 3 })
  if (JSON.stringify(again) !== JSON.stringify(ids)) throw new Error('The events are not the same when read again')
  return events
}

export async function waitForJob(id: string): Promise<Success<'getTrainingJob'>> {
  await followJob(id)
  return client.ok('getTrainingJob', { path: { training_job_id: id } })
}

export async function checkpointSteps(modelId: string): Promise<number[]> {
  const { data } = await client.ok('listCheckpoints', { path: { model_id: modelId }, query: { limit: 100 } })
  return data.map(({ step }) => step)
}

/** One group: attempts of the model at one prompt, whose rewards differ so that there is something to learn. */
export async function rollOut(model: string, prompt: string, attempts: number) {
  const messages = [{ role: 'user', content: prompt }]
  const body = { model, messages, temperature: 1, max_completion_tokens: 8 }
  const completions = await Promise.all(
    Array.from({ length: attempts }, () => client.ok('createChatCompletion', { body })),
  )
  return {
    trajectories: completions.map(({ choices }, index) => ({
      messages_and_choices: [...messages, choices[0]],
      reward: index / (attempts - 1),
      metrics: { length: choices[0]!.token_ids?.length ?? 0 },
      metadata: { prompt },
      tools: null,
      additional_histories: [],
      logs: [],
    })),
  }
}

export function toJsonLines(rows: object[]): string {
  return rows.map(row => `${JSON.stringify(row)}\n`).join('')
}

export function conversations(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    messages: [
      { role: 'user', content: `What is the code of box ${index}?` },
      { role: 'assistant', content: `It is ${(index * 37) % 100}.` },
    ],
  }))
}
