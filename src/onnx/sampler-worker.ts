/** Generates tokens for the inference engine; runs of the graph block this thread and no other. */
import { workerData } from 'node:worker_threads'
import { checkRuntime } from './check-runtime.ts'
import { type SamplerRequest, Scheduler } from './scheduler.ts'
import { serveWorker } from './serve-worker.ts'
import type { SessionSettings } from './session.ts'
import { readWeightIndex } from './weights.ts'

export interface SamplerSettings extends SessionSettings {
  maxBatch: number
}

const { maxBatch, ...settings } = workerData as SamplerSettings
const scheduler = new Scheduler(settings, maxBatch)

serveWorker({
  generate: (request: SamplerRequest, { emit, signal }) => scheduler.generate(request, signal, emit),
  check: async ({ folders }: { folders: string[] }) => {
    folders.forEach(readWeightIndex)
    await checkRuntime()
  },
})
