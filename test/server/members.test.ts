import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from './start.ts'

const MEMBERS = '/v1/preview/teams/lab/members'

let server: TestServer
let admin: string

beforeEach(async () => {
  server = await startTestServer({ runJobs: false })
  admin = await server.addKey('root', 'lab', 'admin')
})
afterEach(() => server.close())

const put = (user: string, json: object, key = admin) => server.call(`${MEMBERS}/${user}`, { method: 'PUT', json, key })
const remove = (user: string, key = admin) => server.call(`${MEMBERS}/${user}`, { method: 'DELETE', key })
const list = async (key = admin) => (await server.call(`${MEMBERS}?limit=100`, { key })).body.data

describe('a change of roles counts from the reply on', () => {
  test('for who becomes an admin, and is one no more', async () => {
    const ann = await server.addKey('ann', 'lab')
    expect((await put('bob', { role: 'member' }, ann)).status).toBe(403)
    expect((await put('ann', { role: 'admin' })).status).toBe(200)
    expect((await put('bob', { role: 'member' }, ann)).status).toBe(200)
    expect((await put('ann', { role: 'member' })).status).toBe(200)
    expect((await put('bob', { role: 'member' }, ann)).status).toBe(403)
  })

  test('for who joins, and who leaves', async () => {
    const ann = await server.addKey('ann', 'elsewhere')
    expect((await server.call(MEMBERS, { key: ann })).status).toBe(403)
    await put('ann', { role: 'member' })
    expect((await server.call(MEMBERS, { key: ann })).status).toBe(200)
    expect((await remove('ann')).body).toMatchObject({ user: 'ann', deleted_api_keys: 0 })
    expect((await server.call(MEMBERS, { key: ann })).status).toBe(403)
    expect((await server.call('/v1/models', { key: ann })).status).toBe(200)
  })
})

test('who leaves a team loses the keys bound to it, and keeps those of other teams', async () => {
  const here = await server.addKey('ann', 'lab')
  const there = await server.addKey('ann', 'elsewhere')
  for (const key of [here, there]) expect((await server.call('/v1/models', { key })).status).toBe(200)
  expect((await remove('ann')).body).toMatchObject({ deleted_api_keys: 1 })
  expect((await server.call('/v1/models', { key: here })).status).toBe(401)
  expect((await server.call('/v1/models', { key: there })).status).toBe(200)
})

test('who leaves the last team is forgotten, and comes back as somebody new', async () => {
  await put('ann', { role: 'admin', project_admin: ['p'], registry_admin: ['r'] })
  await remove('ann')
  const { database } = server.service
  expect(await database.selectFrom('users').select('name').where('name', '=', 'ann').execute()).toEqual([])
  expect(await database.selectFrom('grants').selectAll().execute()).toEqual([])
  expect((await put('ann', { role: 'member' })).body).toMatchObject({ project_admin: [], registry_admin: [] })
})

describe('the last admin', () => {
  test('can be neither demoted nor removed, by anyone', async () => {
    await put('ann', { role: 'member' })
    for (const reply of [await put('root', { role: 'member', project_admin: ['p'] }), await remove('root')]) {
      expect(reply.status).toBe(400)
      expect(reply.body.error).toMatchObject({ code: 'last_admin' })
    }
    expect(await list()).toMatchObject([
      { user: 'ann', role: 'member' },
      { user: 'root', role: 'admin', project_admin: [] },
    ])
    expect((await put('root', { role: 'admin', project_admin: ['p'] })).body).toMatchObject({ project_admin: ['p'] })
  })

  test('can step down once there is another, who then is the last one', async () => {
    const ann = await server.addKey('ann', 'lab', 'admin')
    expect((await put('root', { role: 'member' })).status).toBe(200)
    expect((await put('ann', { role: 'member' }, ann)).status).toBe(400)
    expect((await remove('ann', ann)).status).toBe(400)
  })

  test('remains where two admins take the role from each other at the same moment', async () => {
    for (let round = 0; round < 10; round++) {
      const ann = await server.addKey('ann', 'lab', 'admin')
      const replies = await Promise.all([put('ann', { role: 'member' }), remove('root', ann)])
      const admins = (
        await server.service.database.selectFrom('members').selectAll().where('team', '=', 'lab').execute()
      )
        .filter(member => member.role === 'admin')
        .map(member => member.user)
      expect(admins, JSON.stringify(replies.map(reply => reply.status))).toHaveLength(1)
      admin = await server.addKey('root', 'lab', 'admin')
    }
  })
})

test('an admin of another team cannot reach in, nor tell what is there', async () => {
  const eve = await server.addKey('eve', 'elsewhere', 'admin')
  await put('ann', { role: 'member' })
  const ask = (team: string, user: string, method: string) =>
    server.call(`/v1/preview/teams/${team}/members/${user}`, {
      method,
      key: eve,
      ...(method === 'PUT' ? { json: { role: 'admin' } } : {}),
    })
  for (const method of ['PUT', 'DELETE']) {
    const foreign = await ask('lab', 'ann', method)
    expect(foreign.status).toBe(403)
    expect(foreign.text.replaceAll('lab', 'nowhere')).toBe((await ask('nowhere', 'nobody', method)).text)
  }
})

test.each([
  [{}],
  [{ role: 'owner' }],
  [{ role: 'member', project_admin: 'p' }],
  [{ role: 'member', project_admin: ['a/b'] }],
  [{ role: 'member', registry_admin: [''] }],
  [{ role: 'member', registry_admin: Array.from({ length: 101 }, (_, index) => `r${index}`) }],
])('%j is a 422', async json => {
  expect((await put('ann', json)).status).toBe(422)
})
