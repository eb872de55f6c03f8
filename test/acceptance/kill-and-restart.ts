/**
 * Whether a job outlives its server:
 *
 *     node test/acceptance/kill-and-restart.ts
 *
 * A server of our own is killed (SIGKILL) at several points of an SFT job and of an RL job, and started again on the same
 * data. Each time the job must complete with exactly one new checkpoint and with its events in order and without a gap.
 */
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, type Output } from '../../generated/client.ts'
import { startFineTune } from '../../src/demo/fine-tune.ts'
import { followJob, type TrainingEvent } from '../../src/demo/follow-job.ts'
import { getNewestCheckpoint } from '../../src/demo/newest-checkpoint.ts'
import { PAIRS } from '../../src/demo/question-answers.ts'
import { runRollOut, type TrajectoryGroup } from '../../src/demo/roll-out.ts'
import { PROMPTS } from '../../src/demo/yes-no-maybe.ts'
import { startServerProcess } from './server-process.ts'
import { createApiKey, createDataFolder } from './target.ts'

/** Makes a job for the model and resolves with its id. The jobs that one of these makes have equally many gradient steps. */
export type StartJob = (client: Client, model: Output<'createModel'>) => Promise<string>

export interface KillResult {
  /** Gradient steps of the same job on another model, with nobody disturbing it. */
  undisturbedSteps: number
  /** Events that could be read before the kill, and all of them after the end. */
  seen: TrainingEvent[]
  events: TrainingEvent[]
  /** Steps of the checkpoints at the end, ascending. */
  checkpoints: number[]
  status: string
  /** From the start of the second server to the end of the job. */
  seconds: number
}

const POLL_MS = 20

/** Kills the server as soon as that many gradient steps of the job can be read; 0 kills it right after the job was made. */
export async function killDuringJob(startJob: StartJob, killAtStep: number): Promise<KillResult> {
  const folder = await createDataFolder()
  const environment = { DATA_DIR: folder, API_KEY: createApiKey() }
  const start = async () => {
    const server = await startServerProcess(environment)
    return { server, client: createClient({ baseUrl: server.url, apiKey: environment.API_KEY }) }
  }
  let { server, client } = await start()
  try {
    const createModel = (name: string) => client.createModel({ project: 'kill', name, base_model: 'tiny-chat' })
    const undisturbed = await followJob(client, await startJob(client, await createModel('undisturbed')))
    const model = await createModel('killed')
    const job = await startJob(client, model)
    const seen = await waitForSteps(client, job, killAtStep)
    await server.end('SIGKILL')
    const restarted = performance.now()
    ;({ server, client } = await start())
    const events = await followJob(client, job)
    const { status } = await client.getTrainingJob({ training_job_id: job })
    const checkpoints = (await collect(client.iterateCheckpoints({ model_id: model.id }))).map(({ step }) => step)
    const seconds = (performance.now() - restarted) / 1000
    return { undisturbedSteps: countSteps(undisturbed), seen, events, checkpoints, status, seconds }
  } finally {
    await server.end('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  }
}

async function waitForSteps(client: Client, job: string, steps: number): Promise<TrainingEvent[]> {
  if (steps === 0) return []
  for (;;) {
    const events = await collect(client.iterateTrainingJobEvents({ training_job_id: job, limit: 100 }))
    if (
      countSteps(events) >= steps ||
      events.some(({ type }) => type.startsWith('training_') && type !== 'training_started')
    ) {
      return events
    }
    await sleep(POLL_MS)
  }
}

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = []
  for await (const value of values) collected.push(value)
  return collected
}

const countSteps = (events: TrainingEvent[]) => events.filter(({ type }) => type === 'gradient_step').length

/** What is wrong with the outcome, in words; empty when nothing is. */
export function findFaults({ undisturbedSteps, seen, events, checkpoints, status }: KillResult): string[] {
  const steps = countSteps(events)
  const expected = ['training_started', ...Array<string>(undisturbedSteps).fill('gradient_step'), 'training_ended']
  const rules: [boolean, string][] = [
    [
      seen.every(({ type }) => type !== 'training_ended'),
      'the job had ended before the kill, which therefore showed nothing',
    ],
    [status === 'COMPLETED', `the job is ${status}`],
    [events[0]?.data.num_sequences === undisturbedSteps, `num_sequences is ${events[0]?.data.num_sequences}`],
    [String(events.map(({ type }) => type)) === String(expected), `${steps} gradient steps or another order of events`],
    [events.every(({ id }, i) => i === 0 || id > events[i - 1]!.id), 'the ids of the events do not ascend'],
    [seen.every(({ id }, i) => id === events[i]!.id), 'events that were there before the kill are others now'],
    [String(checkpoints) === '0,1', `the checkpoints are ${checkpoints}`],
  ]
  return rules.flatMap(([holds, fault]) => (holds ? [] : [fault]))
}

/** 32 gradient steps. */
export const startSftJob: StartJob = (client, model) =>
  startFineTune(client, model, { pairs: PAIRS, epochs: 4, batchSize: 8, learningRate: 1e-3 })

/** One roll-out of the first model, sent for both: about 20 gradient steps. */
export function createRlStart(): StartJob {
  let groups: TrajectoryGroup[] | null = null
  return async (client, model) => {
    const { artifact } = await getNewestCheckpoint(client, model.id)
    groups ??= (await runRollOut(client, { model: artifact, prompts: PROMPTS, answersPerPrompt: 8 })).groups
    const { id } = await client.createRlTrainingJob({ model_id: model.id, trajectory_groups: groups })
    return id
  }
}

async function main(): Promise<void> {
  const cases = [
    ...[0, 1, 10, 25].map(step => ({ name: 'SFT', startJob: startSftJob, step })),
    ...[1, 4].map(step => ({ name: 'RL', startJob: createRlStart(), step })),
  ]
  for (const { name, startJob, step } of cases) {
    const result = await killDuringJob(startJob, step)
    const faults = findFaults(result)
    const course = `killed at ${countSteps(result.seen)} of ${result.undisturbedSteps} gradient steps, ended ${result.seconds.toFixed(1)} s after the restart began`
    console.log(`${name}: ${course}: ${faults.length ? `FAILED: ${faults.join('; ')}` : 'passed'}`)
    if (faults.length) process.exitCode = 1
  }
}

if (import.meta.main) await main()
