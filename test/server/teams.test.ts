import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createModel, type Reply, startTestServer, type TestServer, toRlJob } from './start.ts'

const ABSENT = '01990c5e-0000-7000-8000-000000000000'

let server: TestServer
let stranger: string
let model: string
let job: string

beforeAll(async () => {
  server = await startTestServer({ runJobs: false })
  stranger = await server.addKey('eve', 'elsewhere', 'admin')
  model = await createModel(server, 'ours')
  job = (await server.call('/v1/preview/training-jobs', { json: toRlJob(model) })).body.id
  await server.call('/v2/default/p/scorers', { json: { object_id: 's' } })
})
afterAll(() => server.close())

/** A reply without what differs from request to request, the id that was asked for included. */
function toComparable({ status, headers, text }: Reply, id: string) {
  const kept = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
  return { status, headers: kept, text: text.replaceAll(id, '<id>') }
}

describe('a foreign id reads like one that does not exist', () => {
  test.each([
    ['GET', '/v1/preview/models/<model>', undefined],
    ['DELETE', '/v1/preview/models/<model>', undefined],
    ['GET', '/v1/preview/models/<model>/checkpoints', undefined],
    ['DELETE', '/v1/preview/models/<model>/checkpoints', { steps: [0] }],
    ['POST', '/v1/preview/models/<model>/log', { split: 'val', trajectory_groups: [] }],
    ['GET', '/v1/preview/training-jobs/<job>', undefined],
    ['GET', '/v1/preview/training-jobs/<job>/events', undefined],
    ['POST', '/v1/preview/training-jobs/<job>/cancel', undefined],
    ['POST', '/v1/preview/training-jobs', { model_id: '<model>', trajectory_groups: [] }],
    ['POST', '/v1/preview/sft-training-jobs', { model_id: '<model>', training_data_url: 'artifact:///default/p/a:v0' }],
  ])('%s %s', async (method, path, json) => {
    const ask = async (id: string) => {
      const fill = (text: string) => text.replaceAll(/<model>|<job>/g, id)
      const sent = json === undefined ? {} : { json: JSON.parse(fill(JSON.stringify(json))) }
      return toComparable(await server.call(fill(path), { method, key: stranger, ...sent }), id)
    }
    const foreign = await ask(path.includes('<job>') ? job : model)
    expect(foreign.status).toBe(404)
    expect(foreign).toEqual(await ask(ABSENT))
  })

  test('a model of another team in chat', async () => {
    const ask = async (name: string) => {
      const json = { model: `artifact:///default/tests/${name}`, messages: [{ role: 'user', content: 'hi' }] }
      return toComparable(await server.call('/v1/chat/completions', { json, key: stranger }), name)
    }
    const foreign = await ask('ours')
    expect(foreign.status).toBe(404)
    expect(foreign).toEqual(await ask('none'))
  })

  test('training data of another team', async () => {
    const own = await createModel(server, 'theirs', stranger)
    const ask = (uri: string) =>
      server.call('/v1/preview/sft-training-jobs', { json: { model_id: own, training_data_url: uri }, key: stranger })
    const foreign = toComparable(await ask('artifact:///default/tests/ours:step0'), 'ours')
    expect(foreign.status).toBe(404)
    expect(foreign).toEqual(toComparable(await ask('artifact:///default/tests/none:step0'), 'none'))
    expect((await ask('artifact:///elsewhere/tests/none:v0')).status).toBe(400)
  })
})

describe('a team in the path that the caller is not in is a 403, whether or not it exists', () => {
  test.each([
    ['GET', '/v1/preview/artifacts/<team>/p/a/versions'],
    ['GET', '/v1/preview/artifacts/<team>/p/a/versions/v0'],
    ['DELETE', '/v1/preview/artifacts/<team>/p/a/versions/v0'],
    ['GET', '/v1/preview/artifacts/<team>/p/a/versions/v0/files/x'],
    ['PUT', '/v1/preview/artifacts/<team>/p/a/versions/v0/aliases/x'],
    ['GET', '/v2/<team>/p/scorers'],
    ['DELETE', '/v2/<team>/p/scorers/s'],
  ])('%s %s', async (method, path) => {
    const ask = async (team: string) =>
      toComparable(await server.call(path.replace('<team>', team), { method, key: stranger }), team)
    const foreign = await ask('default')
    expect(foreign.status).toBe(403)
    expect(foreign).toEqual(await ask('nowhere'))
  })

  test('as the team of a new model', async () => {
    const json = { entity: 'default', project: 'p', name: 'm', base_model: 'tiny-chat' }
    expect((await server.call('/v1/preview/models', { json, key: stranger })).status).toBe(403)
  })

  test('as the team of the project header, under either name', async () => {
    for (const name of ['vendor-project', 'openai-project']) {
      const ask = (project: string) => server.call('/v1/models', { key: stranger, headers: { [name]: project } })
      expect((await ask('default/p')).status).toBe(403)
      expect((await ask('elsewhere/p')).status).toBe(200)
    }
    expect((await server.call('/v1/models', { headers: { 'openai-project': 'proj_123' } })).status).toBe(200)
    expect((await server.call('/v1/models', { headers: { 'vendor-project': 'no-slash' } })).status).toBe(422)
  })
})

test('lists show the things of the own teams only', async () => {
  await createModel(server, 'private', stranger)
  for (const path of ['/v1/preview/models', '/v1/preview/training-jobs']) {
    const theirs = await server.call(path, { key: stranger })
    expect(theirs.body.data.every((item: { entity?: string }) => item.entity !== 'default')).toBe(true)
    expect(theirs.text).not.toContain(model)
  }
  const served = await server.call('/v1/models', { key: stranger })
  expect(served.text).toContain('artifact:///elsewhere/tests/private:step0')
  expect(served.text).not.toContain('/default/')
})

test('a user is in every team that a key was made for', async () => {
  const both = await server.addKey('eve', 'default')
  expect((await server.call(`/v1/preview/models/${model}`, { key: both })).status).toBe(200)
  expect((await server.call('/v2/elsewhere/p/scorers', { key: both })).status).toBe(200)
})
