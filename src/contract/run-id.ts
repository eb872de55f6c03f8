/** How runs name what they make, and how that is found again. */
import { randomBytes } from 'node:crypto'

/** `contract-<milliseconds since 1970 in base 36>-<random>`. */
const RUN_ID = /contract-([0-9a-z]{6,10})-[0-9a-f]{6}/

export function createRunId(): string {
  return `contract-${Date.now().toString(36)}-${randomBytes(3).toString('hex')}`
}

/** Whether some text within a value of JSON holds the id of a run. Names that take no hyphens have `_` instead. */
export function bearsRunId(value: unknown, runId: string): boolean {
  return toText(value).includes(runId)
}

/** The id of the run that a value of JSON is named after; null: none. */
export function findRunId(value: unknown): string | null {
  return RUN_ID.exec(toText(value))?.[0] ?? null
}

/** How long ago a run began, in milliseconds. */
export function ageOfRun(runId: string): number {
  return Date.now() - Number.parseInt(RUN_ID.exec(runId)![1]!, 36)
}

function toText(value: unknown): string {
  return JSON.stringify(value).replaceAll('_', '-')
}
