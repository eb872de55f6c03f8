/** Runs training jobs, one after another. */
import { workerData } from 'node:worker_threads'
import type { TrainTask } from '../training/engine.ts'
import { ProgramCache } from './program-cache.ts'
import { serveWorker } from './serve-worker.ts'
import type { SessionSettings } from './session.ts'
import { runTrainTask } from './train-task.ts'

const programs = new ProgramCache(workerData as SessionSettings)
let last: Promise<unknown> = Promise.resolve()

serveWorker({
  train: (task: TrainTask, { emit, signal }) => {
    const result = last.then(() => {
      signal.throwIfAborted()
      return runTrainTask(task, { programs, onProgress: emit, signal })
    })
    last = result.catch(() => {})
    return result
  },
})
