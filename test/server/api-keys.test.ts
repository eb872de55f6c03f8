import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteKey } from '../../src/storage/keys.ts'
import { readFolder } from './read-folder.ts'
import { FIRST_KEY, startTestServer, type TestServer } from './start.ts'

const PATH = '/v1/preview/api-keys'

let server: TestServer

beforeEach(async () => {
  server = await startTestServer({ runJobs: false })
})
afterEach(() => server.close())

const create = (json: object, key?: string) => server.call(PATH, { json, ...(key ? { key } : {}) })
const list = async (key?: string) => (await server.call(PATH, key ? { key } : {})).body.data
const statusWith = async (key: string) => (await server.call('/v1/models', { key })).status

test('a key acts as its user, and its team is the one that is meant where none is named', async () => {
  const ann = await server.addKey('ann', 'lab')
  await server.addKey('ann', 'default')
  const made = (await create({ name: 'nightly', team: 'default' }, ann)).body
  expect(made).toMatchObject({ name: 'nightly', user: 'ann', team: 'default', key: expect.stringMatching(/^ty-/) })
  const model = { project: 'p', name: 'm', base_model: 'tiny-chat' }
  expect((await server.call('/v1/preview/models', { json: model, key: made.key })).body.entity).toBe('default')
  expect((await server.call('/v1/preview/models', { json: model, key: ann })).body.entity).toBe('lab')
})

test('a revoked key works for no further request, though it worked a moment ago, under either scheme', async () => {
  const { id, key } = (await create({ name: 'short-lived' })).body
  const basic = { authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}` }
  const withBasic = () => server.call('/v2/default/p/scorers', { key: null, headers: basic })
  expect([await statusWith(key), (await withBasic()).status]).toEqual([200, 200])
  expect((await server.call(`${PATH}/${id}`, { method: 'DELETE' })).body).toEqual({ id, deleted: true })
  expect([await statusWith(key), (await withBasic()).status]).toEqual([401, 401])
})

test('whom a key stood for is not remembered where it was looked up while the key was revoked', async () => {
  const { authenticator, database } = server.service
  const { id, key } = (await create({ name: 'raced' })).body
  const lookUp = () => authenticator.authenticate(`Bearer ${key}`, ['bearer'])
  const during = lookUp()
  await deleteKey(database, id)
  authenticator.forget()
  await during
  await expect(lookUp()).rejects.toMatchObject({ status: 401 })
})

test('a key may revoke itself', async () => {
  const { id, key } = (await create({ name: 'own end' })).body
  expect((await server.call(`${PATH}/${id}`, { method: 'DELETE', key })).status).toBe(200)
  expect(await statusWith(key)).toBe(401)
})

test('keys of other users are neither listed nor revoked, not even by an admin of the team', async () => {
  const ann = await server.addKey('ann', 'default')
  const [{ id }] = await list(ann)
  expect((await list()).map((key: { user: string }) => key.user)).toEqual(['admin'])
  const foreign = await server.call(`${PATH}/${id}`, { method: 'DELETE' })
  const absent = '01990c5e-0000-7000-8000-000000000000'
  const unknown = await server.call(`${PATH}/${absent}`, { method: 'DELETE' })
  expect([foreign.status, foreign.text.replaceAll(id, absent)]).toEqual([404, unknown.text])
  expect(await statusWith(ann)).toBe(200)
})

test('who was taken out of a team gets no key of it, though remembered as a member', async () => {
  const ann = await server.addKey('ann', 'default')
  expect(await statusWith(ann)).toBe(200)
  // As another process would do it, unknown to this one.
  const { database } = server.service
  await database.deleteFrom('members').where('user', '=', 'ann').execute()
  const reply = await create({ name: 'too late', team: 'default' }, ann)
  expect([reply.status, reply.body.error.code]).toEqual([403, 'not_a_member'])
})

test('the key is in one reply only, and nowhere in the data folder', async () => {
  const { key, ...shown } = (await create({ name: 'once' })).body
  expect(await list()).toContainEqual(shown)
  expect(JSON.stringify(await list())).not.toContain(key)
  const text = await readFolder(server.dataDir)
  expect(text).toContain('once')
  expect(text).not.toContain(key)
  expect(text).not.toContain(FIRST_KEY)
})

test.each([[{}], [{ name: '' }], [{ name: 'x'.repeat(129) }], [{ name: 'x', team: 'a/b' }]])(
  '%j is a 422',
  async json => {
    expect((await create(json)).status).toBe(422)
  },
)
