import { parentPort } from 'node:worker_threads'
import { validateBodyFile } from './spec/validate.ts'
import { hasTrajectories, summariseTrajectories } from './training/trajectory-summary.ts'

parentPort!.on('message', ({ operationId, file }: { operationId: string; file: string }) => {
  try {
    parentPort!.postMessage(read(operationId, file))
  } catch (error) {
    parentPort!.postMessage({ failure: String(error) })
  }
})

function read(operationId: string, file: string) {
  const result = validateBodyFile(operationId, file)
  if (!result.ok || !hasTrajectories(result.value)) return { result, summary: null }
  const { trajectory_groups, ...rest } = result.value
  return { result: { ok: true, value: rest }, summary: summariseTrajectories(trajectory_groups) }
}
