/** What the status of a training job says about its other fields, on every job that comes. */
import type { Violation } from './conform.ts'
import { type Json, toBreach } from './law-breach.ts'

const PROPERTIES = '/components/schemas/TrainingJob/properties'

const OPERATIONS: ReadonlySet<string> = new Set([
  'createRlTrainingJob',
  'createSftTrainingJob',
  'getTrainingJob',
  'cancelTrainingJob',
  'listTrainingJobs',
])

const FIELDS = ['training_start', 'training_end', 'error_message'] as const
type Field = (typeof FIELDS)[number]

/** Whether a field has a value, or the very value that it has. A job may end before a worker claims it. */
const EXPECTED: Readonly<Record<string, Partial<Record<Field, boolean | string>>>> = {
  QUEUED: { training_start: false, training_end: false, error_message: false },
  RUNNING: { training_start: true, training_end: false, error_message: false },
  COMPLETED: { training_start: true, training_end: true, error_message: false },
  FAILED: { training_end: true, error_message: true },
  CANCELLED: { training_end: true, error_message: 'cancelled' },
}

export function checkJobs(operationId: string, body: Json): Violation[] {
  if (!OPERATIONS.has(operationId)) return []
  const jobs = Array.isArray(body.data) ? (body.data as Json[]) : [body]
  return jobs.flatMap((job, index) => checkJob(job, jobs[0] === body ? '' : `/data/${index}`))
}

function checkJob(job: Json, at: string): Violation[] {
  const expected = EXPECTED[String(job?.status)] ?? {}
  return FIELDS.filter(field => job[field] !== undefined && !isAsExpected(job[field], expected[field])).map(field => {
    const value = JSON.stringify(job[field])
    return toBreach(
      `${PROPERTIES}/${field}/description`,
      `${field} of a ${job.status} job is ${value}`,
      `${at}/${field}`,
    )
  })
}

function isAsExpected(value: unknown, expected: boolean | string | undefined): boolean {
  return expected === undefined || (typeof expected === 'string' ? value === expected : (value !== null) === expected)
}
