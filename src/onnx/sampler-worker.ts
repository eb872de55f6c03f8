/** Generates tokens for the inference engine; runs of the graph block this thread and no other. */
import { workerData } from 'node:worker_threads'
import { checkRuntime } from './check-runtime.ts'
import type { SamplerRequest } from './sampler-request.ts'
import { Scheduler, type SchedulerSettings } from './scheduler.ts'
import { serveWorker } from './serve-worker.ts'
import { readWeightIndex } from './weights.ts'

const scheduler = new Scheduler(workerData as SchedulerSettings)

serveWorker({
  generate: (request: SamplerRequest, { emit, signal }) => scheduler.generate(request, signal, emit),
  check: async ({ folders }: { folders: string[] }) => {
    folders.forEach(readWeightIndex)
    await checkRuntime()
  },
})
