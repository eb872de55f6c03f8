import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { deleteModelRow } from '../../src/storage/models.ts'
import { createModel, startTestServer, type TestServer, toRlJob } from './start.ts'
import { uploadVersion } from './upload.ts'

const RL_JOBS = '/v1/preview/training-jobs'
const SFT_JOBS = '/v1/preview/sft-training-jobs'
const CONVERSATION = JSON.stringify({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
  ],
})

let server: TestServer
let model: string

beforeEach(async () => {
  server = await startTestServer({ environment: { JOB_QUEUE_LENGTH: '3' }, runJobs: false })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

const createRl = (body: object, idempotencyKey?: string, key?: string) =>
  server.call(RL_JOBS, {
    json: body,
    headers: idempotencyKey ? { 'idempotency-key': idempotencyKey } : {},
    ...(key ? { key } : {}),
  })

const createSft = (config?: object, headers: Record<string, string> = {}) =>
  server.call(SFT_JOBS, {
    json: {
      model_id: model,
      training_data_url: 'artifact:///default/tests/data:latest',
      ...(config ? { config } : {}),
    },
    headers,
  })

const uploadData = (name: string, lines: string) =>
  uploadVersion(server, `default/tests/${name}`, { files: { 'trajectories.jsonl': lines, 'metadata.json': '{}' } })

describe('an idempotency key', () => {
  test('with the same body gives the same job', async () => {
    const first = await createRl(toRlJob(model), 'key')
    expect(await createRl(toRlJob(model), 'key')).toMatchObject({ status: 200, body: first.body })
    expect((await server.call(RL_JOBS)).body.data).toHaveLength(1)
  })

  test('gives the job as it is by now', async () => {
    const { id } = (await createRl(toRlJob(model), 'key')).body
    await server.call(`${RL_JOBS}/${id}/cancel`, { method: 'POST' })
    expect((await createRl(toRlJob(model), 'key')).body).toMatchObject({ id, status: 'CANCELLED' })
  })

  test('with another body is a 422', async () => {
    await createRl(toRlJob(model), 'key')
    const reply = await createRl(toRlJob(model, ' there'), 'key')
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0]).toMatchObject({ loc: ['header', 'idempotency-key'], type: 'idempotency_key_reused' })
  })

  test('counts when requests race', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => createRl(toRlJob(model), 'key')))
    expect(new Set(replies.map(reply => reply.body.id)).size).toBe(1)
  })

  test('of one team means nothing to another', async () => {
    const stranger = await server.addKey('eve', 'elsewhere')
    const other = await createModel(server, 'm', stranger)
    const first = await createRl(toRlJob(model), 'key')
    const second = await createRl(toRlJob(other), 'key', stranger)
    expect(second.status).toBe(200)
    expect(second.body.id).not.toBe(first.body.id)
  })

  test('of one operation means nothing to another', async () => {
    await uploadData('data', CONVERSATION)
    const rl = await createRl(toRlJob(model), 'key')
    const sft = await createSft(undefined, { 'idempotency-key': 'key' })
    expect(sft.status).toBe(200)
    expect(sft.body.id).not.toBe(rl.body.id)
  })

  test('holds for spooled bodies', async () => {
    server.service.settings.spoolBytes = 100
    const first = await createRl(toRlJob(model), 'key')
    expect((await createRl(toRlJob(model), 'key')).body.id).toBe(first.body.id)
    expect((await createRl(toRlJob(model, ' there'), 'key')).status).toBe(422)
  })

  test('with spaces or letters beyond ASCII is a 422', async () => {
    expect((await createRl(toRlJob(model), 'two words')).status).toBe(422)
    expect((await createRl(toRlJob(model), 'é')).status).toBe(422)
  })
})

describe('an SFT job like one that has not ended', () => {
  beforeEach(() => uploadData('data', CONVERSATION))

  test('is that one', async () => {
    const first = await createSft({ batch_size: 4 })
    expect((await createSft({ batch_size: 4 })).body.id).toBe(first.body.id)
    const named = await server.call(SFT_JOBS, {
      json: { model_id: model, training_data_url: 'artifact:///default/tests/data:v0', config: { batch_size: 4 } },
    })
    expect(named.body.id).toBe(first.body.id)
  })

  test('is another with another config, other data or after it ended', async () => {
    const first = (await createSft()).body.id
    expect((await createSft({ batch_size: 1 })).body.id).not.toBe(first)
    await uploadData('data', CONVERSATION.replace('hello', 'hey'))
    expect((await createSft()).body.id).not.toBe(first)
    await server.call(`${RL_JOBS}/${first}/cancel`, { method: 'POST' })
    const old = { model_id: model, training_data_url: 'artifact:///default/tests/data:v0' }
    expect((await server.call(SFT_JOBS, { json: old })).body.id).not.toBe(first)
  })
})

describe('a full queue', () => {
  test('is a 429 with Retry-After, for the team whose it is', async () => {
    for (let index = 0; index < 3; index++) await createRl(toRlJob(model))
    const reply = await createRl(toRlJob(model))
    expect(reply.status).toBe(429)
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(reply.body.error.type).toBe('rate_limit_error')
    const stranger = await server.addKey('eve', 'elsewhere')
    expect((await createRl(toRlJob(await createModel(server, 'm', stranger)), undefined, stranger)).status).toBe(200)
  })

  test('still gives back the job of a known key or a twin', async () => {
    await uploadData('data', CONVERSATION)
    const sft = await createSft()
    const first = await createRl(toRlJob(model), 'key')
    await createRl(toRlJob(model))
    expect((await createRl(toRlJob(model))).status).toBe(429)
    expect((await createRl(toRlJob(model), 'key')).body.id).toBe(first.body.id)
    expect((await createSft()).body.id).toBe(sft.body.id)
  })

  test('has room again when a job has ended', async () => {
    const ids = []
    for (let index = 0; index < 3; index++) ids.push((await createRl(toRlJob(model))).body.id)
    await server.call(`${RL_JOBS}/${ids[0]}/cancel`, { method: 'POST' })
    expect((await createRl(toRlJob(model))).status).toBe(200)
  })
})

describe('what is deleted while a job is being created', () => {
  /** Runs once a creation has found its model, and is done before the creation goes on to write. */
  function betweenReadAndWrite(act: () => unknown): void {
    const { baseModels } = server.service
    const get = baseModels.get.bind(baseModels)
    const actAndGet = (name: string) => {
      act()
      return get(name)
    }
    Object.assign(baseModels, { get: actAndGet })
  }

  test('as the model is a 404', async () => {
    betweenReadAndWrite(() =>
      server.service.database.transaction().execute(transaction => deleteModelRow(transaction, model)),
    )
    const reply = await createRl(toRlJob(model))
    expect(reply.status).toBe(404)
    expect(reply.body.detail).toContain(model)
  })

  test('as the data is a 400', async () => {
    await uploadData('data', CONVERSATION)
    const { artifacts } = server.service
    const checkout = artifacts.checkout.bind(artifacts)
    artifacts.checkout = async (sha256, file) => {
      await checkout(sha256, file)
      await server.call('/v1/preview/artifacts/default/tests/data/versions/v0', { method: 'DELETE' })
    }
    expect((await createSft()).status).toBe(400)
  })
})

describe('bad training data is refused before there is a job', () => {
  const cases: [string, string, number, string[]][] = [
    ['a line that is no JSON', `${CONVERSATION}\n{oops`, 422, ['trajectories.jsonl', '2']],
    [
      'a conversation without an answer',
      '{"messages":[{"role":"user","content":"hi"}]}',
      422,
      ['trajectories.jsonl', '1'],
    ],
    ['no line at all', '', 422, ['trajectories.jsonl']],
  ]
  test.each(cases)('%s', async (_name, lines, status, place) => {
    await uploadData('data', lines)
    const reply = await createSft()
    expect(reply.status).toBe(status)
    expect(reply.body.detail[0].loc.slice(0, 2 + place.length)).toEqual(['body', 'training_data_url', ...place])
    expect((await server.call(RL_JOBS)).body.data).toEqual([])
  })

  test('no training file', async () => {
    await uploadVersion(server, 'default/tests/data', { files: { 'notes.txt': 'x' } })
    const reply = await createSft()
    expect(reply.body.detail[0].loc).toEqual(['body', 'training_data_url'])
  })

  test('metadata that is no object', async () => {
    const files = { 'trajectories.jsonl': CONVERSATION, 'metadata.json': '[]' }
    await uploadVersion(server, 'default/tests/data', { files })
    expect((await createSft()).body.detail[0].loc).toEqual(['body', 'training_data_url', 'metadata.json'])
  })

  test('a version that is not there is a 400', async () => {
    const reply = await createSft()
    expect(reply.status).toBe(400)
    expect(reply.body.error).toMatchObject({ code: 'artifact_not_found', param: 'training_data_url' })
  })

  test('a config value out of its range names its place', async () => {
    const reply = await createRl({ ...toRlJob(model), experimental_config: { advantage_balance: 2 } })
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0].loc).toEqual(['body', 'experimental_config', 'advantage_balance'])
  })
})
