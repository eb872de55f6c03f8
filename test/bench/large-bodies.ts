import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toRequest } from './connection.ts'
import { measureDelays, quantile } from './load.ts'
import { createModel, toRlJob } from './rl-job.ts'
import { API_KEY, createFolder, removeFolder, type ServerProcess, startBare, startTrainyard } from './server-process.ts'
import type { Bench, Trial } from './trial.ts'

const JOB_BYTES = 50 * 1024 * 1024
/** Jobs sent one after the other in one round. */
const JOBS = 4
const SMALL_REQUESTS_PER_SECOND = 200
const SHARE = 0.99
/** More than any body: everything is parsed on the main thread. */
const NEVER_SPOOL = String(2 ** 40)

/**
 * Delay of small requests while large jobs come in: spooled and parsed elsewhere, against the same server parsing them where they
 * arrive, and against a server that does nothing else with them than parse.
 */
export const largeBodies: Bench = { name: 'large-bodies', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  const [ours, inline, bare] = await Promise.all([
    startTrainyard(),
    startTrainyard({ SPOOL_BYTES: NEVER_SPOOL }),
    startBare(),
  ])
  const folder = await createFolder()
  const oursJob = await writeJob(folder, ours)
  const inlineJob = await writeJob(folder, inline)
  const measure = (server: ServerProcess, job: string) =>
    measureDelay(`${server.url}/v1/preview/models`, `${server.url}/v1/preview/training-jobs`, job)
  const what = 'p99 of small requests while 50 MB jobs arrive'
  return {
    contestants: {
      spooled: () => measure(ours, oursJob),
      'all inline': () => measure(inline, inlineJob),
      'bare Fastify, parsing': () => measureDelay(`${bare.url}/v1/health`, `${bare.url}/parse`, oursJob),
    },
    comparisons: ['all inline', 'bare Fastify, parsing'].map(peer => ({
      what,
      unit: 'ms' as const,
      ours: 'spooled',
      peer,
      target: { atMost: 0.1 },
    })),
    close: async () => {
      await Promise.all([ours.stop(), inline.stop(), bare.stop(), removeFolder(folder)])
    },
  }
}

/** Writes a job for a new model of a server, as large as it says above. Resolves with the file. */
async function writeJob(folder: string, server: ServerProcess): Promise<string> {
  const model = await createModel(server.url)
  const groupBytes = JSON.stringify(toRlJob(model, 2)).length - JSON.stringify(toRlJob(model, 1)).length
  const file = join(folder, `${server.pid}.json`)
  await writeFile(file, JSON.stringify(toRlJob(model, Math.ceil(JOB_BYTES / groupBytes))))
  return file
}

async function measureDelay(smallUrl: string, jobUrl: string, jobFile: string): Promise<number> {
  const small = toRequest('GET', smallUrl, { headers: { authorization: `Bearer ${API_KEY}` } })
  const sender = spawn(process.execPath, [join(import.meta.dirname, 'send-jobs.ts')], {
    env: { ...process.env, JOB_URL: jobUrl, API_KEY, JOB_FILE: jobFile, JOBS: String(JOBS) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const delays = await measureDelays(smallUrl, small, SMALL_REQUESTS_PER_SECOND, finish(sender))
  return quantile(delays, SHARE)
}

async function finish(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('The large jobs could not be sent')
}
