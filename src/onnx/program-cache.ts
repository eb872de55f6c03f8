/**
 * Keeps the last training programs open, because jobs of one model follow each other and opening takes longer than a
 * step.
 */
import type { Adapter } from './adapter.ts'
import type { Objective } from './losses.ts'
import type { SessionSettings } from './session.ts'
import type { TrainGraphShape } from './train-graph.ts'
import { openLoraProgram, type TrainProgram } from './train-program.ts'

/** One for each row length. */
const MAX_PROGRAMS = 3

export class ProgramCache {
  readonly #settings: SessionSettings
  readonly #programs = new Map<string, TrainProgram>()

  constructor(settings: SessionSettings) {
    this.#settings = settings
  }

  /** The program is the cache's: do not close it. It serves until others have taken its place. */
  async open(folder: string, adapter: Adapter, shape: TrainGraphShape, objective: Objective): Promise<TrainProgram> {
    const { rank, alpha, factors } = adapter
    const key = JSON.stringify([folder, rank, alpha, [...factors.keys()], shape, toLossKey(objective)])
    const known = this.#programs.get(key)
    // taken out and put back, so that the first of the map is the one not used for longest
    this.#programs.delete(key)
    const program = known ?? (await openLoraProgram(folder, adapter, shape, objective, this.#settings))
    this.#programs.set(key, program)
    for (const [oldKey, old] of this.#programs) {
      if (this.#programs.size <= MAX_PROGRAMS) break
      this.#programs.delete(oldKey)
      await old.session.release()
    }
    return program
  }
}

/** The part of the configuration that the graph is built from: a new learning rate needs no new graph. */
function toLossKey(objective: Objective): unknown {
  if (objective.type === 'sft') return objective.type
  const { ppo, epsilon, epsilonHigh, maskProbRatio, k2Tau, importanceSamplingLevel } = objective.config
  const cap = objective.config.maxNegativeAdvantageImportanceSamplingWeight
  return [ppo, epsilon, epsilonHigh, maskProbRatio, k2Tau, importanceSamplingLevel, cap]
}
