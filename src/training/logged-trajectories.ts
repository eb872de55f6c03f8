import type { Service } from '../context.ts'
import { type LogPart, readLogInput } from '../storage/trajectory-logs.ts'
import { eachTrajectory, type KeptTrajectory, readTrajectories } from './trajectory-file.ts'

/** A page ends early where its trajectories come to this many bytes of JSON: they are parsed and sent on the main thread. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

export interface LoggedTrajectory {
  log: LogPart['log']
  /** Its place in the log, from 0. */
  number: number
  group: number
  trajectory: KeptTrajectory[1]
  isShort: boolean
}

/** Reads parts of logs, the last trajectory first when read `backwards`, as far as fits into a page: `isWhole` tells whether all did. */
export async function readLogParts(
  stores: Pick<Service, 'database' | 'artifacts'>,
  parts: readonly LogPart[],
  backwards: boolean,
): Promise<{ items: LoggedTrajectory[]; isWhole: boolean }> {
  const items: LoggedTrajectory[] = []
  let left = MAX_PAGE_BYTES
  for (const part of parts) {
    if (left <= 0) return { items, isWhole: false }
    const read = await readPart(stores, part, { backwards, maxBytes: left })
    if (!read) continue
    const { log, first, last } = part
    const { trajectories, bytes } = read
    const start = backwards ? last - trajectories.length + 1 : first
    const found = trajectories.map(([group, trajectory, isShort], index) => {
      return { log, number: start + index, group, trajectory, isShort }
    })
    items.push(...(backwards ? found.toReversed() : found))
    left -= bytes
    if (found.length <= last - first) return { items, isWhole: false }
  }
  return { items, isWhole: true }
}

/** Null where the log was deleted meanwhile. */
async function readPart(
  { database, artifacts }: Pick<Service, 'database' | 'artifacts'>,
  { log, first, last }: LogPart,
  { backwards, maxBytes }: { backwards: boolean; maxBytes: number },
): Promise<{ trajectories: KeptTrajectory[]; bytes: number } | null> {
  if (log.input_sha256 !== null) {
    const file = { sha256: log.input_sha256, size: Number(log.file_size), count: log.num_trajectories }
    return readTrajectories(artifacts, file, { first, last, backwards, maxBytes }).catch(error => {
      if (error.code === 'ENOENT') return null
      throw error
    })
  }
  const input = await readLogInput(database, log.id)
  if (input === null) return null
  const all = [...eachTrajectory(JSON.parse(input).trajectory_groups)]
  return { trajectories: all.slice(first, last + 1), bytes: Buffer.byteLength(input) }
}
