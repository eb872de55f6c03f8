/** What comes before a training job, on a thread that no training step blocks. */
import { writeUntrainedAdapter } from './adapter.ts'
import { checkRuntime } from './check-runtime.ts'
import { serveWorker } from './serve-worker.ts'

serveWorker({
  createAdapter: (task: { modelFolder: string; outputFolder: string; seed: number }) =>
    writeUntrainedAdapter(task.modelFolder, task.outputFolder, task.seed),
  check: () => checkRuntime(),
})
