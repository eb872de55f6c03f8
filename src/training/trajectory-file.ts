/**
 * Trajectories as a file of which any part can be read alone: one line of JSON for each, `[group, trajectory, isShort]`, then for each the
 * place where its line ends, a double (little-endian). What belongs to the file in the database is its size and the number of trajectories.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { isObject, type JsonObject } from './json-values.ts'

/** A trajectory with the number of its group, and whether it was too long to be kept whole. */
export type KeptTrajectory = [group: number, trajectory: JsonObject, isShort: boolean]

/** A trajectory whose line is longer is kept without its lists and objects, so that reading one never takes long. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
/** What stays of it then. */
const SHORT_KEYS = ['reward', 'initial_policy_version', 'final_policy_version', 'start_time']

const ENTRY_BYTES = 8
const WRITE_BYTES = 1024 * 1024

/** Where the file that is made of a spooled body lies: beside it. */
export function toTrajectoryFilePath(spoolFile: string): string {
  return `${spoolFile}.trajectories`
}

/** All trajectories of a body's groups, in order. */
export function* eachTrajectory(trajectory_groups: unknown[]): Generator<KeptTrajectory> {
  for (const [group, value] of trajectory_groups.entries()) {
    if (!isObject(value) || !Array.isArray(value.trajectories)) continue
    for (const trajectory of value.trajectories) if (isObject(trajectory)) yield [group, trajectory, false]
  }
}

/** Writes the file and returns its size in bytes. Blocks while it does so: for a worker thread. */
export function writeTrajectoryFile(file: string, trajectory_groups: unknown[]): number {
  const handle = openSync(file, 'w')
  let size = 0
  let waiting: Buffer[] = []
  let waitingBytes = 0
  const flush = () => {
    writeAll(handle, Buffer.concat(waiting))
    waiting = []
    waitingBytes = 0
  }
  const write = (bytes: Buffer) => {
    size += bytes.length
    waitingBytes += bytes.length
    waiting.push(bytes)
    if (waitingBytes >= WRITE_BYTES) flush()
  }
  try {
    const ends: number[] = []
    for (const kept of eachTrajectory(trajectory_groups)) {
      write(toLine(kept))
      ends.push(size)
    }
    write(Buffer.from(Float64Array.from(ends).buffer))
    flush()
    return size
  } finally {
    closeSync(handle)
  }
}

function writeAll(handle: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(handle, bytes, written)
}

function toLine(kept: KeptTrajectory): Buffer {
  const line = Buffer.from(`${JSON.stringify(kept)}\n`)
  if (line.length <= MAX_LINE_BYTES) return line
  const [group, trajectory] = kept
  const short = Object.fromEntries(Object.entries(trajectory).filter(([key]) => SHORT_KEYS.includes(key)))
  return Buffer.from(`${JSON.stringify([group, short, true] satisfies KeptTrajectory)}\n`)
}

export interface TrajectoryFile {
  sha256: string
  /** In bytes. */
  size: number
  /** Number of trajectories. */
  count: number
}

/**
 * Reads the trajectories `first` to `last` (both included, counted from 0) of a stored file, or as many of them as fit into some bytes,
 * at least one: the first ones, or the last ones when read `backwards`. In the order of the file.
 */
export async function readTrajectories(
  artifacts: ArtifactStore,
  { sha256, size, count }: TrajectoryFile,
  { first, last, backwards, maxBytes }: { first: number; last: number; backwards: boolean; maxBytes: number },
): Promise<{ trajectories: KeptTrajectory[]; bytes: number }> {
  const index = size - count * ENTRY_BYTES
  const from = Math.max(first - 1, 0)
  const entries = await readRange(artifacts, sha256, index + from * ENTRY_BYTES, index + (last + 1) * ENTRY_BYTES)
  const endOf = (number: number) => (number < 0 ? 0 : entries.readDoubleLE((number - from) * ENTRY_BYTES))
  const bytesOf = (one: number, other: number) => endOf(other) - endOf(one - 1)
  let [start, end] = [first, last]
  while (start < end && bytesOf(start, end) > maxBytes) backwards ? start++ : end--
  const lines = await readRange(artifacts, sha256, endOf(start - 1), endOf(end))
  const texts = lines.toString('utf8').split('\n').slice(0, -1)
  return { trajectories: texts.map(text => JSON.parse(text)), bytes: lines.length }
}

/** Bytes from `start` up to `end`, which is not included. */
async function readRange(artifacts: ArtifactStore, sha256: string, start: number, end: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of artifacts.open(sha256, { start, end: end - 1 })) chunks.push(chunk)
  return Buffer.concat(chunks)
}
