/** The embedded training engine: jobs run in one worker thread, untrained adapters are made in another. */
import { availableParallelism } from 'node:os'
import type { TrainingEngine, TrainProgress } from '../training/engine.ts'
import type { SessionSettings } from './session.ts'
import { WorkerClient, workerFile } from './worker-client.ts'

export interface OnnxTrainingOptions {
  /** Threads of one training step; default: all cores. */
  threads?: number
  /** Whether idle threads wait actively; default: no. */
  spinning?: boolean
}

/** Milliseconds without a job after which the memory of training is given back. */
const IDLE_MS = 60_000
const CHECK_LIMIT_MS = 30_000

export function createOnnxTrainingEngine(options: OnnxTrainingOptions = {}): TrainingEngine {
  const settings: SessionSettings = {
    threads: options.threads ?? availableParallelism(),
    spinning: options.spinning ?? false,
  }
  const trainer = new WorkerClient(workerFile('train-worker', import.meta.url), { data: settings, idleMs: IDLE_MS })
  const adapters = new WorkerClient(workerFile('adapter-worker', import.meta.url), { idleMs: IDLE_MS })
  return {
    train: (task, onProgress, signal) =>
      trainer.call<Record<string, number>, TrainProgress>('train', task, { onPart: onProgress, signal }),
    createAdapter: (modelFolder, outputFolder, seed) =>
      adapters.call('createAdapter', { modelFolder, outputFolder, seed }),
    check: () => adapters.call('check', {}, { limitMs: CHECK_LIMIT_MS }),
    async close() {
      await Promise.all([trainer.close(), adapters.close()])
    },
  }
}
