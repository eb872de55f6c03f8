import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { claimJob, heartbeat, LeaseLostError, releaseJob, underLease } from '../../src/storage/leases.ts'
import { insertModel } from '../../src/storage/models.ts'
import { appendEvent, cancelJob, countEvents, findJob, insertJob } from '../../src/storage/training-jobs.ts'
import { createDataDir } from '../server/start.ts'

const LEASE_MS = 60_000
const CLAIM_JOBS = join(import.meta.dirname, 'claim-jobs.ts')
/** A lease that has run out when the next claim looks. */
const SHORT_MS = -1

let folder: string
/** Two connections, as of two processes on one database. */
let one: Database
let two: Database

beforeEach(async () => {
  folder = await createDataDir()
  one = await openDatabase(folder)
  two = await openDatabase(folder)
})
afterEach(async () => {
  await one.destroy()
  await two.destroy()
  await rm(folder, { recursive: true, force: true })
})

async function addModel(name: string): Promise<string> {
  const model = { entity: 'e', project: 'p', name, base_model: 'tiny-chat', created_by: 'u' }
  return (await insertModel(one, model)).id
}

async function addJob(model_id: string): Promise<string> {
  const job = {
    entity: 'e',
    model_id,
    type: 'rl' as const,
    config: '{}',
    input: '{}',
    input_sha256: null,
    input_version_id: null,
    created_by: 'u',
  }
  const creation = await insertJob(one, job, { idempotency: null, queueLength: 100, confirm: async () => {} })
  if (!('job' in creation)) throw new Error(creation.refused)
  return creation.job.id
}

test('processes that claim at once get each job once', async () => {
  const jobs: string[] = []
  for (let index = 0; index < 60; index++) jobs.push(await addJob(await addModel(`m${index}`)))
  const run = promisify(execFile)
  const workers = Array.from({ length: 3 }, () => run(process.execPath, [CLAIM_JOBS, folder]))
  const claimed = (await Promise.all(workers)).map(({ stdout }) => stdout.split('\n').filter(Boolean))
  expect(claimed.flat().toSorted()).toEqual(jobs.toSorted())
  expect(await claimJob(one, 'late', LEASE_MS)).toBeNull()
})

test('the oldest job comes first, and jobs of one model one after the other', async () => {
  const [a, b] = [await addModel('a'), await addModel('b')]
  const [first, second, third] = [await addJob(a), await addJob(a), await addJob(b)]
  expect((await claimJob(one, 'w', LEASE_MS))?.job.id).toBe(first)
  expect((await claimJob(two, 'v', LEASE_MS))?.job.id).toBe(third)
  expect(await claimJob(two, 'v', LEASE_MS)).toBeNull()
  await cancelJob(one, first)
  expect((await claimJob(two, 'v', LEASE_MS))?.job.id).toBe(second)
})

test('a lease holds while heartbeats come, and is another worker’s after it ran out', async () => {
  const id = await addJob(await addModel('m'))
  const first = (await claimJob(one, 'w', SHORT_MS))!
  await heartbeat(one, first.lease, LEASE_MS)
  expect(await claimJob(two, 'v', LEASE_MS)).toBeNull()
  await heartbeat(one, first.lease, SHORT_MS)
  const second = (await claimJob(two, 'v', LEASE_MS))!
  expect(second.job).toMatchObject({ id, attempt: 2, lost_leases: 1, training_start: first.job.training_start })
})

test('a worker that lost its lease writes nothing', async () => {
  const id = await addJob(await addModel('m'))
  const old = (await claimJob(one, 'w', SHORT_MS))!.lease
  await claimJob(two, 'v', LEASE_MS)
  const write = underLease(one, old, queries => appendEvent(queries, id, 'gradient_step', {}))
  await expect(write).rejects.toBeInstanceOf(LeaseLostError)
  await expect(heartbeat(one, old, LEASE_MS)).rejects.toBeInstanceOf(LeaseLostError)
  await expect(releaseJob(one, old)).rejects.toBeInstanceOf(LeaseLostError)
  expect(await countEvents(one, id)).toBe(0)
})

test('a worker that claims its own lost job anew cannot write with the old lease', async () => {
  const id = await addJob(await addModel('m'))
  const old = (await claimJob(one, 'w', SHORT_MS))!.lease
  await claimJob(one, 'w', LEASE_MS)
  await expect(heartbeat(one, old, LEASE_MS)).rejects.toBeInstanceOf(LeaseLostError)
  const write = underLease(one, old, queries => appendEvent(queries, id, 'gradient_step', {}))
  await expect(write).rejects.toBeInstanceOf(LeaseLostError)
})

test('a released job stays RUNNING and can be claimed at once, which is no lost lease', async () => {
  const id = await addJob(await addModel('m'))
  await releaseJob(one, (await claimJob(one, 'w', LEASE_MS))!.lease)
  expect(await findJob(one, id)).toMatchObject({ status: 'RUNNING', lease_owner: null })
  expect((await claimJob(two, 'v', LEASE_MS))?.job).toMatchObject({ attempt: 2, lost_leases: 0 })
})

test('a cancelled job takes the lease from its worker', async () => {
  const id = await addJob(await addModel('m'))
  const { lease } = (await claimJob(one, 'w', LEASE_MS))!
  expect(await cancelJob(two, id)).toMatchObject({ status: 'CANCELLED', input: null })
  await expect(heartbeat(one, lease, LEASE_MS)).rejects.toBeInstanceOf(LeaseLostError)
  expect(await claimJob(two, 'v', LEASE_MS)).toBeNull()
})
