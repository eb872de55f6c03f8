import { toRequest } from './connection.ts'
import { measureRate } from './load.ts'
import { createModel, deleteModel, toRlJob } from './rl-job.ts'
import { API_KEY, startBare, startTrainyard } from './server-process.ts'
import type { Bench, Trial } from './trial.ts'

/** As many as a team may have unfinished by default. */
const LOAD = { connections: 16, requests: 1000 }

/** Validating, queueing and committing a job, against committing its body as one row. */
export const jobCreations: Bench = { name: 'jobs', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  const [ours, bare] = await Promise.all([startTrainyard(), startBare({ COMMIT: '1' })])
  const headers = { authorization: `Bearer ${API_KEY}` }
  const measureOurs = async () => {
    const model = await createModel(ours.url)
    const body = toRlJob(model, 1)
    const create = toRequest('POST', `${ours.url}/v1/preview/training-jobs`, { headers, body })
    const rate = await measureRate(ours.url, create, LOAD)
    await deleteModel(ours.url, model)
    return rate
  }
  const commit = toRequest('POST', `${bare.url}/commit`, { headers, body: toRlJob(crypto.randomUUID(), 1) })
  return {
    contestants: {
      ours: measureOurs,
      'bare Fastify, one row': () => measureRate(bare.url, commit, LOAD),
    },
    comparisons: [
      { what: 'RL job creations', unit: '/s', ours: 'ours', peer: 'bare Fastify, one row', target: { atLeast: 0.5 } },
    ],
    close: async () => {
      await Promise.all([ours.stop(), bare.stop()])
    },
  }
}
