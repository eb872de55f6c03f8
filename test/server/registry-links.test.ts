import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestServer, type TestServer } from './start.ts'
import { uploadVersion } from './upload.ts'

let server: TestServer

beforeEach(async () => {
  server = await startTestServer({ runJobs: false })
})
afterEach(() => server.close())

const linksOf = (entity: string) => `/v1/preview/registries/${entity}/shared/collections/good/links`
const link = (entity: string, artifact: string, key: string) =>
  server.call(linksOf(entity), { json: { artifact }, key })

test('an artifact of one team is linked into a registry of another only by a member of both', async () => {
  const makers = await server.addKey('maker', 'makers')
  const takers = await server.addKey('taker', 'takers')
  const both = await server.addKey('both', 'makers')
  await server.addKey('both', 'takers')
  await uploadVersion(server, 'makers/p/a', { files: { a: 'x' }, key: makers })
  const uri = 'artifact:///makers/p/a:v0'
  expect((await link('takers', uri, makers)).status).toBe(403)
  expect((await link('takers', uri, takers)).status).toBe(404)
  const made = await link('takers', uri, both)
  expect(made.body).toMatchObject({
    entity: 'takers',
    registry: 'shared',
    collection: 'good',
    artifact: uri,
    created_by: 'both',
  })
  expect((await server.call(linksOf('takers'), { key: takers })).body.data).toEqual([made.body])
  expect((await server.call(linksOf('takers'), { key: makers })).status).toBe(403)
})

test('a foreign artifact reads the same whether or not it is there', async () => {
  const maker = await server.addKey('maker', 'makers')
  const taker = await server.addKey('taker', 'takers')
  await uploadVersion(server, 'makers/p/a', { files: { a: 'x' }, key: maker })
  const [there, not] = await Promise.all(
    ['a', 'b'].map(name => link('takers', `artifact:///makers/p/${name}:v0`, taker)),
  )
  expect([there!.status, there!.text]).toEqual([404, not!.text.replaceAll('/p/b', '/p/a')])
})

test('the same version linked at once is one link', async () => {
  const key = await server.addKey('maker', 'makers')
  await uploadVersion(server, 'makers/p/a', { files: { a: 'x' }, key })
  const replies = await Promise.all([1, 2, 3].map(() => link('makers', 'artifact:///makers/p/a', key)))
  expect(new Set(replies.map(reply => reply.body.id)).size).toBe(1)
  expect((await server.call(linksOf('makers'), { key })).body.data).toHaveLength(1)
})
