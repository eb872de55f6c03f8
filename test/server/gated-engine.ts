import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GeneratePart, InferenceEngine } from '../../src/inference/engine.ts'
import type { TrainingEngine, TrainProgress, TrainTask } from '../../src/training/engine.ts'
import { noOpInference, noOpTraining } from '../no-op-engine.ts'

export interface GatedRun {
  task: TrainTask
  signal: AbortSignal
  progress(progress: TrainProgress): void
  finish(): void
  fail(error: Error): void
}

/** A training engine whose jobs run until the test ends them, or until they are aborted. */
export function createGatedTraining(): { engine: TrainingEngine; runs: GatedRun[] } {
  const runs: GatedRun[] = []
  const engine: TrainingEngine = {
    ...noOpTraining,
    async train(task, progress, signal) {
      const gate = Promise.withResolvers<void>()
      runs.push({ task, signal, progress, finish: gate.resolve, fail: gate.reject })
      signal.addEventListener('abort', () => gate.reject(signal.reason))
      await gate.promise
      await writeFile(join(task.outputFolder, 'adapter_model.safetensors'), `${task.jobId} ${runs.length}`)
      return { loss: 0.5 }
    },
  }
  return { engine, runs }
}

export interface GatedGeneration {
  signal: AbortSignal
  /** Lets the next part out. */
  push(part: GeneratePart): void
  end(): void
  fail(error: Error): void
}

/** An inference engine whose generations give their prompt at once and the rest when the test says so. */
export function createGatedInference(): { engine: InferenceEngine; generations: GatedGeneration[] } {
  const generations: GatedGeneration[] = []
  const engine: InferenceEngine = {
    ...noOpInference,
    async *generate(_request, signal): AsyncGenerator<GeneratePart> {
      const waiting: (() => GeneratePart | null)[] = []
      let wake = () => {}
      const add = (next: () => GeneratePart | null) => {
        waiting.push(next)
        wake()
      }
      const fail = (error: Error) =>
        add(() => {
          throw error
        })
      generations.push({ signal, push: part => add(() => part), end: () => add(() => null), fail })
      signal.addEventListener('abort', () => fail(signal.reason))
      yield { type: 'prompt', tokenIds: [1, 2, 3], cachedTokens: 0, logprobs: null }
      for (;;) {
        if (waiting.length === 0) await new Promise<void>(resolve => (wake = resolve))
        const part = waiting.shift()!()
        if (!part) return
        yield part
      }
    },
  }
  return { engine, generations }
}
