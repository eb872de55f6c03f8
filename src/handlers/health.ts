import { statfs } from 'node:fs/promises'
import type { components } from '../../generated/schema.d.ts'
import type { Service } from '../context.ts'
import { unavailable } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { checkDatabase } from '../storage/database.ts'

type Result = components['schemas']['SystemCheckResult']

/** Less room than this, in bytes, and the disk counts as full. */
const LEAST_DISK_BYTES = 64 * 1024 * 1024
/** A part that has not answered within this time counts as failed. */
const CHECK_TIMEOUT_MS = 5000

export const getHealth: Handler<'getHealth'> = async () => ({ status: 200, body: { status: 'ok' } })

export const getSystemCheck: Handler<'getSystemCheck'> = async (_input, context) => {
  const { database, jobs, deliveries, inference } = context
  const [databaseResult, worker, engine, disk] = await Promise.all([
    check(() => checkDatabase(database)),
    check(async () => {
      jobs.check()
      deliveries.check()
    }),
    check(() => inference.check()),
    check(() => checkDisk(context)),
  ])
  const parts = { database: databaseResult, job_worker: worker, engine, disk }
  const failed = Object.entries(parts).flatMap(([name, result]) => (result.success ? [] : [name]))
  if (failed.length === 0) return { status: 200, body: { api: true, ...parts } }
  const failure = unavailable(`The system check failed: ${failed.join(', ')}`)
  return {
    status: 503,
    body: { detail: failure.message, error: failure.toBody().error, api: true, ...parts },
    headers: failure.headers,
  }
}

async function check(run: () => Promise<void>): Promise<Result> {
  const start = performance.now()
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS)
  const error = await Promise.race([run(), timeout.promise]).then(
    () => null,
    (reason: Error) => reason,
  )
  clearTimeout(timer)
  return { success: error === null, duration_ms: performance.now() - start, errors: error ? [error.message] : [] }
}

async function checkDisk({ artifacts, settings }: Service): Promise<void> {
  await artifacts.check()
  const { bavail, bsize } = await statfs(settings.dataDir)
  if (bavail * bsize < LEAST_DISK_BYTES) throw new Error(`only ${bavail * bsize} bytes are free`)
}
