/**
 * The training port: one job's computation, whoever does it. Engines get files and callbacks and never see the database;
 * run-job.ts is the only writer of job state.
 */

/** The seed's experimental_config of RL jobs with every default resolved (facts/training-clients, section 3). */
export interface RlConfig {
  learningRate: number
  ppo: boolean
  epsilon: number
  epsilonHigh: number
  /** In [-1, 1]. */
  advantageBalance: number
  scaleRewards: boolean
  maskProbRatio: boolean
  /** Null: no cap. */
  maxNegativeAdvantageImportanceSamplingWeight: number | null
  /** Null: no correction. */
  k2Tau: number | null
  precalculateLogprobs: boolean
  importanceSamplingLevel: 'token' | 'sequence' | 'average' | 'geometric_average'
}

export interface SftConfig {
  /** Conversations per optimiser step. */
  batchSize: number
  /** One rate for all steps, or one per step; a list shorter than the steps goes on with its last value. */
  learningRate: number | number[]
}

interface TrainTaskBase {
  jobId: string
  /** Folder of the base model (Hugging Face layout). */
  baseModelFolder: string
  /** PEFT folder of the checkpoint to start from; `optimizer.safetensors` in it, when present and of the same kind, is continued. */
  adapterFolder: string
  /** An existing empty folder; the new PEFT folder is written into it, with `optimizer.safetensors`. */
  outputFolder: string
  /** Seeds shuffling, so that a job run again after a crash takes the same steps. */
  seed: number
}

export interface RlTask extends TrainTaskBase {
  type: 'rl'
  /** The request body as JSON: `trajectory_groups` is read from it. */
  inputFile: string
  config: RlConfig
}

export interface SftTask extends TrainTaskBase {
  type: 'sft'
  /** JSON lines, one conversation each. */
  inputFile: string
  config: SftConfig
}

export type TrainTask = RlTask | SftTask

/** `started` once, then one `step` per optimiser step with numeric data only. */
export type TrainProgress =
  | { type: 'started'; data: { num_sequences: number } & Record<string, number> }
  | { type: 'step'; data: Record<string, number> }

export interface TrainingEngine {
  /** Runs the job to its end and resolves with the checkpoint's metrics. Aborting the signal stops it before the next step. */
  train(
    task: TrainTask,
    onProgress: (progress: TrainProgress) => void,
    signal: AbortSignal,
  ): Promise<Record<string, number>>
  /** Writes an untrained adapter (PEFT folder whose B factors are zero) into an existing empty folder. */
  createAdapter(baseModelFolder: string, outputFolder: string, seed: number): Promise<void>
  /** Resolves when the engine can work, throws the reason when it cannot. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The training data is at fault: answered before the job starts. */
export class DataError extends Error {
  override name = 'DataError' as const
  /** Such as ['trajectory_groups', '0', 'trajectories', '1', 'messages_and_choices', '2'] or ['trajectories.jsonl', '17', 'messages', '0', 'role'] (line numbers from 1). */
  loc: string[]
  constructor(loc: string[], message: string) {
    super(message)
    this.loc = loc
  }
}
