import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Item } from '../../generated/client.ts'

export type TrainingEvent = Item<'listTrainingJobEvents'>

const POLL_MS = 150

/** A job ended otherwise than by finishing its work. */
export class JobError extends Error {
  override name = 'JobError' as const
}

/**
 * Polls a job's events until the last one, calls `onStep` for each gradient step as it is seen, and resolves with all events.
 * Throws a JobError when the job fails or is cancelled, and the signal's reason when it is aborted.
 */
export async function followJob(
  client: Client,
  jobId: string,
  onStep: (data: Record<string, number>, steps: number) => void = () => {},
  signal?: AbortSignal,
): Promise<TrainingEvent[]> {
  const events: TrainingEvent[] = []
  let steps = 0
  for (;;) {
    for await (const event of client.iterateTrainingJobEvents(
      { training_job_id: jobId, after: events.at(-1)?.id, limit: 100 },
      { signal },
    )) {
      events.push(event)
      if (event.type === 'training_started') steps = Number(event.data.num_sequences)
      if (event.type === 'gradient_step') onStep(event.data as Record<string, number>, steps)
      if (event.type === 'training_ended') return events
      if (event.type === 'training_failed') throw new JobError(`job ${jobId} failed: ${event.data.error_message}`)
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}
