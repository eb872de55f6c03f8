import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from './start.ts'

const TEAM = '/v1/preview/teams/lab'
const ROLES = ['member', 'project admin', 'registry admin', 'team admin', 'outsider', 'admin elsewhere'] as const
type Who = (typeof ROLES)[number]

let server: TestServer
const keys = {} as Record<Who, string>

beforeAll(async () => {
  server = await startTestServer({ runJobs: false })
  keys['team admin'] = await server.addKey('root', 'lab', 'admin')
  keys.member = await server.addKey('ann', 'lab')
  keys['project admin'] = await server.addKey('pat', 'lab')
  keys['registry admin'] = await server.addKey('reg', 'lab')
  keys.outsider = await server.addKey('out', 'elsewhere')
  keys['admin elsewhere'] = await server.addKey('eve', 'elsewhere', 'admin')
  const grant = (user: string, json: object) =>
    server.call(`${TEAM}/members/${user}`, {
      method: 'PUT',
      json: { role: 'member', ...json },
      key: keys['team admin'],
    })
  expect((await grant('pat', { project_admin: ['p'] })).status).toBe(200)
  expect((await grant('reg', { registry_admin: ['r'] })).status).toBe(200)
  await server.call(`${TEAM}/secrets/KEPT`, { method: 'PUT', json: { value: 'x' }, key: keys['team admin'] })
})
afterAll(() => server.close())

const ANYONE: readonly Who[] = ROLES
const MEMBERS: readonly Who[] = ['member', 'project admin', 'registry admin', 'team admin']
const ADMINS: readonly Who[] = ['team admin']

/** Each is repeated by one after the other, so what is done must leave the next one the same. */
const CASES: [method: string, path: string, json: object | undefined, may: readonly Who[]][] = [
  ['GET', `${TEAM}/secrets`, undefined, MEMBERS],
  ['PUT', `${TEAM}/secrets/KEPT`, { value: 'y' }, ADMINS],
  ['DELETE', `${TEAM}/secrets/NONE`, undefined, ADMINS],
  ['GET', `${TEAM}/members`, undefined, MEMBERS],
  ['PUT', `${TEAM}/members/new`, { role: 'member' }, ADMINS],
  ['PUT', `${TEAM}/members/new`, { role: 'member', project_admin: ['p'] }, ADMINS],
  ['DELETE', `${TEAM}/members/none`, undefined, ADMINS],
  ['POST', '/v1/preview/api-keys', { name: 'k', team: 'lab' }, MEMBERS],
  ['POST', '/v1/preview/api-keys', { name: 'k' }, ANYONE],
  ['GET', '/v1/preview/api-keys', undefined, ANYONE],
]

test.each(CASES)('%s %s %j: who may, and who is answered 403', async (method, path, json, may) => {
  const answers: Partial<Record<Who, string>> = {}
  for (const who of ROLES) {
    const { status, text } = await server.call(path, { method, key: keys[who], ...(json ? { json } : {}) })
    answers[who] = status === 403 ? 'refused' : [200, 404].includes(status) ? 'may' : text
  }
  expect(answers).toEqual(Object.fromEntries(ROLES.map(who => [who, may.includes(who) ? 'may' : 'refused'])))
})

test('nobody may make themselves more than they are', async () => {
  for (const [who, user] of [
    ['member', 'ann'],
    ['project admin', 'pat'],
    ['registry admin', 'reg'],
    ['outsider', 'out'],
  ] as const) {
    const path = `${TEAM}/members/${user}`
    const reply = await server.call(path, { method: 'PUT', json: { role: 'admin' }, key: keys[who] })
    expect([who, reply.status]).toEqual([who, 403])
    expect((await server.call(path, { method: 'DELETE', key: keys[who] })).status).toBe(403)
  }
})
