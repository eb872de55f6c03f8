import type { Client, Output } from '../../generated/client.ts'
import { followJob, type TrainingEvent } from './follow-job.ts'
import { type QuestionAnswer, toTrainingFile } from './question-answers.ts'

export interface FineTunePlan {
  pairs: QuestionAnswer[]
  epochs: number
  /** Conversations per gradient step. */
  batchSize: number
  /** The first step's; it falls in a straight line to a tenth of it, so that the last steps settle. */
  learningRate: number
}

const FINAL_SHARE = 0.1

/** Rates of all gradient steps, one for each. */
export function toLearningRates({ pairs, epochs, batchSize, learningRate }: FineTunePlan): number[] {
  const steps = Math.ceil((pairs.length * epochs) / batchSize)
  return Array.from({ length: steps }, (_, step) => {
    const progress = steps > 1 ? step / (steps - 1) : 0
    return learningRate * (1 - progress * (1 - FINAL_SHARE))
  })
}

/** Uploads the pairs as an artifact and makes an SFT job of it. Resolves with the job's id. */
export async function startFineTune(
  client: Client,
  model: Output<'createModel'>,
  plan: FineTunePlan,
  signal?: AbortSignal,
): Promise<string> {
  const metadata = { format: 'jsonl', num_trajectories: plan.pairs.length * plan.epochs, epochs: plan.epochs }
  const artifact = await client.createArtifactVersion(
    {
      entity: model.entity,
      project: model.project,
      name: `${model.name}-data`,
      files: [
        { name: 'trajectories.jsonl', data: toTrainingFile(plan.pairs, plan.epochs) },
        { name: 'metadata.json', data: JSON.stringify(metadata) },
      ],
      version: { type: 'dataset', metadata },
    },
    { signal },
  )
  const job = await client.createSftTrainingJob(
    {
      model_id: model.id,
      training_data_url: artifact.uri,
      config: { batch_size: plan.batchSize, learning_rate: toLearningRates(plan) },
    },
    { signal },
  )
  return job.id
}

/** Starts the job and follows it to its end. Resolves with its events. */
export async function runFineTune(
  client: Client,
  model: Output<'createModel'>,
  plan: FineTunePlan,
  onStep?: (data: Record<string, number>, steps: number) => void,
  signal?: AbortSignal,
): Promise<TrainingEvent[]> {
  return followJob(client, await startFineTune(client, model, plan, signal), onStep, signal)
}
