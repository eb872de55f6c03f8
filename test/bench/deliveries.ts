import { Agent } from 'undici'
import { v7 as uuid } from 'uuid'
import { readSettings } from '../../src/config.ts'
import { closeService, createService, ensureFirstKey } from '../../src/service.ts'
import { addDelivery, countPendingDeliveries } from '../../src/storage/deliveries.ts'
import { insertWebhook } from '../../src/storage/webhooks.ts'
import { noOpInference, noOpTraining } from '../no-op-engine.ts'
import { API_KEY, createFolder, removeFolder, startReceiver } from './server-process.ts'
import type { Bench, Trial } from './trial.ts'

const DELIVERIES = 2000
/** Requests of the bare loop under way at once: as many as the worker gives one webhook. */
const CONNECTIONS = 16
const PAYLOAD = { event: '$event_type', author: '$event_author', alias: '$alias', artifact: '$artifact_version_string' }
const VARIABLES = {
  event_type: 'ADD_ARTIFACT_ALIAS',
  event_author: 'ada',
  alias: 'production',
  artifact_version_string: 'default/yes-no-maybe/yes-no-maybe-001:production',
}
const SECRETS = { access_token_secret: null, signing_secret: null }
const WAIT_MS = 5

/** Claiming, sending and logging deliveries that wait in the database, against sending the same bytes and forgetting them. */
export const deliveries: Bench = { name: 'deliveries', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  const folder = await createFolder()
  const receiver = await startReceiver()
  const environment = { DATA_DIR: folder, API_KEY, LOG_LEVEL: 'silent', WEBHOOK_ALLOW: '127.0.0.0/8' }
  const service = await createService(readSettings(environment), { inference: noOpInference, training: noOpTraining })
  await ensureFirstKey(service)
  service.deliveries.start()
  const { database } = service
  const hook = { entity: 'default', endpoint_url: receiver.url, created_by: 'admin', ...SECRETS }
  const measureOurs = async () => {
    const webhook = await insertWebhook(database, { ...hook, name: uuid() })
    await database.transaction().execute(async transaction => {
      const event = { executionId: null, eventType: 'ADD_ARTIFACT_ALIAS' as const }
      for (let count = 0; count < DELIVERIES; count++) {
        await addDelivery(transaction, { webhookId: webhook.id, payload: PAYLOAD, variables: VARIABLES, ...event })
      }
    })
    const start = performance.now()
    service.deliveries.wake()
    while ((await countPendingDeliveries(database)) > 0) await new Promise(resolve => setTimeout(resolve, WAIT_MS))
    return DELIVERIES / ((performance.now() - start) / 1000)
  }
  return {
    contestants: { ours: measureOurs, 'bare undici posts': () => measureBare(receiver.url) },
    comparisons: [
      { what: 'webhook deliveries', unit: '/s', ours: 'ours', peer: 'bare undici posts', target: { atLeast: 0.3 } },
    ],
    async close() {
      await closeService(service)
      await receiver.stop()
      await removeFolder(folder)
    },
  }
}

async function measureBare(url: string): Promise<number> {
  const agent = new Agent()
  const body = Buffer.from(JSON.stringify({ ...PAYLOAD, ...VARIABLES }))
  const headers = { 'content-type': 'application/json' }
  const start = performance.now()
  let left = DELIVERIES
  const sendOnes = async () => {
    while (left-- > 0) {
      const answer = await agent.request({ origin: url, path: '/', method: 'POST', headers, body })
      await answer.body.text()
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, sendOnes))
  const rate = DELIVERIES / ((performance.now() - start) / 1000)
  await agent.close()
  return rate
}
