import { parentPort } from 'node:worker_threads'
import type { ReadResult } from './body-reader.ts'
import { validateBodyFile } from './spec/validate.ts'
import { toTrajectoryFilePath, writeTrajectoryFile } from './training/trajectory-file.ts'
import { hasTrajectories, summariseTrajectories } from './training/trajectory-summary.ts'

parentPort!.on('message', ({ operationId, file }: { operationId: string; file: string }) => {
  try {
    parentPort!.postMessage(read(operationId, file))
  } catch (error) {
    parentPort!.postMessage({ failure: String(error) })
  }
})

function read(operationId: string, file: string): ReadResult {
  const result = validateBodyFile(operationId, file)
  if (!result.ok || !hasTrajectories(result.value)) return { result, summary: null, trajectories: null }
  const { trajectory_groups, ...rest } = result.value
  const summary = summariseTrajectories(trajectory_groups)
  const isKept = operationId === 'logTrajectories' && !summary.fault
  return {
    result: { ok: true, value: rest },
    summary,
    trajectories: isKept ? writeBeside(file, trajectory_groups) : null,
  }
}

function writeBeside(spoolFile: string, trajectory_groups: unknown[]): { file: string; size: number } {
  const file = toTrajectoryFilePath(spoolFile)
  return { file, size: writeTrajectoryFile(file, trajectory_groups) }
}
