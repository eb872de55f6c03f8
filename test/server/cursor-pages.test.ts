import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createModel, startTestServer, type TestServer, toRlJob, until } from './start.ts'
import { uploadVersion } from './upload.ts'

const ITEMS = 5
const ABSENT = '01990c5e-0000-7000-8000-000000000000'

let server: TestServer
const lists: Record<string, string> = {}

beforeAll(async () => {
  server = await startTestServer()
  const model = await createModel(server, 'm0')
  for (let index = 1; index < ITEMS; index++) {
    await createModel(server, `m${index}`)
    const { id } = (await server.call('/v1/preview/training-jobs', { json: toRlJob(model) })).body
    // Four jobs give checkpoints 1 to 4 beside step 0.
    await until(
      () => server.call(`/v1/preview/training-jobs/${id}`),
      reply => reply.body.status === 'COMPLETED',
    )
    lists.events = `/v1/preview/training-jobs/${id}/events`
  }
  await createModel(server, 'last')
  for (let index = 0; index < ITEMS; index++) {
    await uploadVersion(server, 'default/p/a', { files: { x: String(index) } })
    await server.call('/v2/default/p/scorers', { json: { object_id: 's', weight: index } })
    await server.call('/v1/preview/api-keys', { json: { name: `k${index}` } })
    const put = (path: string, json: object) =>
      server.call(`/v1/preview/teams/default/${path}`, { method: 'PUT', json })
    await put(`secrets/s${index}`, { value: 'x' })
  }
  lists.models = '/v1/preview/models'
  lists.jobs = '/v1/preview/training-jobs'
  lists.checkpoints = `/v1/preview/models/${model}/checkpoints`
  lists.versions = '/v1/preview/artifacts/default/p/a/versions'
  lists.scorers = '/v2/default/p/scorers'
  lists.secrets = '/v1/preview/teams/default/secrets'
  lists.keys = '/v1/preview/api-keys'
})
afterAll(() => server.close())

async function readPage(name: string, query: string) {
  const reply = await server.call(`${lists[name]}?${query}`)
  expect(reply.status).toBe(200)
  return reply.body
}

async function readIds(name: string, query: string): Promise<string[]> {
  return (await readPage(name, query)).data.map((item: { id: string }) => item.id)
}

describe.each(['models', 'jobs', 'events', 'checkpoints', 'versions', 'scorers', 'secrets', 'keys'])('%s', name => {
  test('pages of any size, walked to the end in either order, give every item once', async () => {
    const all = await readIds(name, 'limit=100')
    expect(all.length).toBeGreaterThanOrEqual(3)
    expect(new Set(all).size).toBe(all.length)
    for (const limit of [1, 2, all.length, 100]) {
      for (const order of ['asc', 'desc']) {
        const walked: string[] = []
        let query = `limit=${limit}&order=${order}`
        for (;;) {
          const page = await readPage(name, query)
          const ids = page.data.map((item: { id: string }) => item.id)
          expect([page.object, page.first_id, page.last_id]).toEqual(['list', ids[0], ids.at(-1)])
          expect(ids.length).toBeLessThanOrEqual(limit)
          walked.push(...ids)
          if (!page.has_more) break
          query = `limit=${limit}&order=${order}&after=${page.last_id}`
        }
        expect(walked).toEqual(order === 'asc' ? all : all.toReversed())
      }
    }
  })

  test('oldest first, and a cursor is exclusive', async () => {
    const all = await readIds(name, '')
    expect(all).toEqual(all.toSorted())
    expect(await readIds(name, `after=${all[0]}`)).toEqual(all.slice(1))
    expect(await readIds(name, `after=${all[0]!.toUpperCase()}`)).toEqual(all.slice(1))
    expect(await readIds(name, `after=${all.at(-1)}`)).toEqual([])
  })

  test('an empty page has all five fields', async () => {
    const page = await readPage(name, 'after=ffffffff-ffff-7fff-bfff-ffffffffffff')
    expect(page).toEqual({ object: 'list', data: [], first_id: '', last_id: '', has_more: false })
  })

  test('a cursor that names no item works by its place', async () => {
    expect(await readIds(name, `after=${ABSENT}`)).toEqual(await readIds(name, ''))
  })

  test.each(['limit=0', 'limit=101', 'limit=x', 'limit=1.5', 'limit=', 'order=up', 'after=', 'limit=1&limit=2'])(
    '%s is a 422 that names the parameter',
    async query => {
      const reply = await server.call(`${lists[name]}?${query}`)
      expect(reply.status).toBe(422)
      expect(reply.body.detail[0].loc).toEqual(['query', query.split('=')[0]])
    },
  )
})

test('a cursor survives the deletion of its item', async () => {
  const [, second, third] = await readIds('models', '')
  const after = (await readIds('models', `after=${second}`))[0]
  await server.call(`/v1/preview/models/${second}`, { method: 'DELETE' })
  expect(after).toBe(third)
  expect((await readIds('models', `after=${second}`))[0]).toBe(third)
})

test('jobs are filtered by model and status', async () => {
  const [model] = await readIds('models', '')
  expect(await readIds('jobs', `model_id=${model}&status=COMPLETED`)).toEqual(await readIds('jobs', ''))
  expect(await readIds('jobs', `model_id=${model!.toUpperCase()}`)).toEqual(await readIds('jobs', ''))
  expect(await readIds('jobs', 'status=FAILED')).toEqual([])
  expect(await readIds('jobs', `model_id=${ABSENT}`)).toEqual([])
  expect((await server.call('/v1/preview/training-jobs?status=DONE')).status).toBe(422)
  expect((await server.call('/v1/preview/training-jobs?model_id=m')).status).toBe(422)
})

test('the default page holds 20 items', async () => {
  for (let index = 0; index < 20; index++) {
    await server.call('/v2/default/many/scorers', { json: { object_id: `s${index}` } })
  }
  lists.many = '/v2/default/many/scorers'
  expect(await readPage('many', '')).toMatchObject({ has_more: false })
  await server.call('/v2/default/many/scorers', { json: { object_id: 's20' } })
  const page = await readPage('many', '')
  expect(page.data).toHaveLength(20)
  expect(page.has_more).toBe(true)
})
