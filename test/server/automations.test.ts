import { v7 as uuid } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordEvent } from '../../src/automations/record-event.ts'
import type { WebhookRow } from '../../src/storage/tables.ts'
import { createModel, startTestServer, type TestServer } from './start.ts'

const PATH = '/v1/preview/automations'
const ABSENT = '01990c5e-0000-7000-8000-000000000000'

let server: TestServer
let webhook: string
let foreignWebhook: string
const keys: Record<string, string> = {}

async function addWebhook(entity: string, secrets: Partial<WebhookRow> = {}): Promise<string> {
  const id = uuid()
  const at = new Date().toISOString()
  const row = { id, entity, name: id, endpoint_url: 'https://example.com', ...secrets }
  await server.service.database
    .insertInto('webhooks')
    .values({ ...row, created_by: 'ada', created_at: at, updated_at: at })
    .execute()
  return id
}

async function addUser(user: string, role: 'member' | 'admin', grant?: { kind: 'project' | 'registry'; name: string }) {
  keys[user] = await server.addKey(user, 'acme', role)
  if (grant)
    await server.service.database
      .insertInto('grants')
      .values({ team: 'acme', user, ...grant })
      .execute()
}

beforeAll(async () => {
  server = await startTestServer({ runJobs: false })
  await addUser('member', 'member')
  await addUser('admin', 'admin')
  await addUser('projectAdmin', 'member', { kind: 'project', name: 'p' })
  await addUser('otherProjectAdmin', 'member', { kind: 'project', name: 'q' })
  await addUser('registryAdmin', 'member', { kind: 'registry', name: 'p' })
  keys.outsider = await server.addKey('outsider', 'elsewhere', 'admin')
  webhook = await addWebhook('acme', { access_token_secret: 'TOKEN', signing_secret: 'SIGNING' })
  foreignWebhook = await addWebhook('elsewhere')
})
beforeEach(async () => {
  await server.service.database.deleteFrom('automations').execute()
})
afterAll(() => server.close())

const PROJECT = { type: 'project', entity: 'acme', project: 'p' }
const REGISTRY = { type: 'registry', entity: 'acme', registry: 'p' }
const ALIAS = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' }
const METRIC = { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: 0 }
const toBody = (more: object = {}) => ({
  ...{ name: 'a', enabled: true, scope: PROJECT, event: ALIAS, webhook_id: webhook, payload: {} },
  ...more,
})

const call = (method: string, path: string, json?: unknown, key = 'admin') =>
  server.call(`${PATH}${path}`, { method, key: keys[key]!, ...(json === undefined ? {} : { json }) })
const create = (more: object = {}, key = 'admin') => call('POST', '', toBody(more), key)
async function created(more: object = {}): Promise<string> {
  const reply = await create(more)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body.id
}
const faultsOf = (body: { detail: { loc: string[]; type: string }[] }) =>
  body.detail.map(({ loc, type }) => `${loc.join('.')} ${type}`).sort()

test('an automation is kept as it was created, and changed and deleted', async () => {
  const payload = { text: '$alias', nested: [{ token: '$ACCESS_TOKEN', same: '$TOKEN', signing: '$SIGNING' }, 1, null] }
  const reply = await create({ name: 'n', description: 'd', event: METRIC, filter: { user: 'ada' }, payload })
  expect(reply).toMatchObject({ status: 200 })
  const automation = reply.body
  expect(automation).toEqual({
    id: expect.any(String),
    name: 'n',
    description: 'd',
    enabled: true,
    scope: { ...PROJECT, registry: null },
    event: { ...METRIC, alias_regex: null },
    filter: { user: 'ada', run_name_regex: null },
    webhook_id: webhook,
    payload,
    created_by: 'admin',
    created_at: expect.any(String),
    updated_at: automation.created_at,
  })
  const path = `/${automation.id}`
  expect((await call('GET', path)).body).toEqual(automation)
  const changed = await call('PATCH', path, { name: 'm', description: null, enabled: false })
  const expected = { ...automation, name: 'm', description: null, enabled: false, updated_at: expect.any(String) }
  expect(changed.body).toEqual(expected)
  expect((await call('GET', path)).body).toEqual(expected)
  expect((await call('DELETE', path)).body).toEqual({ id: automation.id, deleted: true })
  for (const method of ['GET', 'DELETE']) expect((await call(method, path)).status).toBe(404)
  expect((await call('PATCH', path, {})).status).toBe(404)
  expect((await call('GET', `${path}/executions`)).status).toBe(404)
})

test('what is left out has its default, and what the contract answers is taken back', async () => {
  const { payload: _, ...body } = toBody()
  const reply = await call('POST', '', body)
  expect(reply.body).toMatchObject({ description: null, filter: null, payload: {} })
  expect((await create({ ...reply.body, filter: {} })).body).toMatchObject({ filter: null })
  const { id, webhook_id } = reply.body
  const patched = await call('PATCH', `/${id.toUpperCase()}`, { ...reply.body, webhook_id: webhook_id.toUpperCase() })
  expect(patched.body).toEqual({ ...reply.body, updated_at: expect.any(String) })
})

describe('rules between fields', () => {
  const all = { alias_regex: 'a', metric: 'm', operator: '<', threshold: 1 }
  test.each<[string, object, string[]]>([
    ['an alias needs its pattern', { event: { type: 'ADD_ARTIFACT_ALIAS' } }, ['body.event.alias_regex missing']],
    [
      'a metric needs its name, operator and threshold',
      { event: { type: 'RUN_METRIC', metric: null } },
      ['body.event.metric missing', 'body.event.operator missing', 'body.event.threshold missing'],
    ],
    [
      'an alias has no threshold',
      { event: { ...all, type: 'ADD_ARTIFACT_ALIAS' } },
      [
        'body.event.metric extra_forbidden',
        'body.event.operator extra_forbidden',
        'body.event.threshold extra_forbidden',
      ],
    ],
    ['a metric has no alias', { event: { ...all, type: 'RUN_METRIC' } }, ['body.event.alias_regex extra_forbidden']],
    [
      'a tag has nothing',
      { scope: REGISTRY, event: { type: 'ADD_ARTIFACT_TAG', threshold: 0 } },
      ['body.event.threshold extra_forbidden'],
    ],
    [
      'a link has nothing',
      { scope: REGISTRY, event: { type: 'LINK_ARTIFACT', alias_regex: 'a' } },
      ['body.event.alias_regex extra_forbidden'],
    ],
    ['a project has no tags', { event: { type: 'ADD_ARTIFACT_TAG' } }, ['body.event.type enum']],
    ['a project has no links', { event: { type: 'LINK_ARTIFACT' } }, ['body.event.type enum']],
    ['a registry has no metrics', { scope: REGISTRY, event: METRIC }, ['body.event.type enum']],
    [
      'only metrics have filters',
      { filter: { user: 'a', run_name_regex: 'b' } },
      ['body.filter.run_name_regex extra_forbidden', 'body.filter.user extra_forbidden'],
    ],
    ['a project is named', { scope: { type: 'project', entity: 'acme' } }, ['body.scope.project missing']],
    [
      'a registry is named',
      { scope: { type: 'registry', entity: 'acme', registry: null } },
      ['body.scope.registry missing'],
    ],
    ['a project is no registry', { scope: { ...PROJECT, registry: 'p' } }, ['body.scope.registry extra_forbidden']],
    ['a pattern must compile', { event: { ...ALIAS, alias_regex: '(' } }, ['body.event.alias_regex regex_invalid']],
    ['there is no look-ahead', { event: { ...ALIAS, alias_regex: '(?=a)' } }, ['body.event.alias_regex regex_invalid']],
    [
      'a pattern must not be huge',
      { event: { ...ALIAS, alias_regex: '(((a{9}){9}){9}){9}' } },
      ['body.event.alias_regex regex_invalid'],
    ],
    ['nor long', { event: { ...ALIAS, alias_regex: 'a'.repeat(513) } }, ['body.event.alias_regex string_too_long']],
    [
      'the same for run names',
      { event: METRIC, filter: { run_name_regex: '[' } },
      ['body.filter.run_name_regex regex_invalid'],
    ],
    ['a variable must exist', { payload: { a: ['$nothing'] } }, ['body.payload.a.0 unknown_variable']],
    ['a secret must be one of the two', { payload: { a: '$OTHER' } }, ['body.payload.a unknown_variable']],
    ['a payload is an object', { payload: ['$alias'] }, ['body.payload dict_type']],
    ['a payload is small', { payload: { a: 'x'.repeat(65_536) } }, ['body.payload too_long']],
  ])('%s', async (_what, more, faults) => {
    const reply = await create(more)
    expect(reply.status).toBe(422)
    expect(faultsOf(reply.body)).toEqual(faults)
    // A change to the same is refused too.
    const id = await created()
    const patched = await call('PATCH', `/${id}`, more)
    expect([patched.status, faultsOf(patched.body)]).toEqual([422, faults])
  })

  test('hold for a change with what was there before', async () => {
    const id = await created({ event: METRIC, filter: { user: 'ada' } })
    const refused = await call('PATCH', `/${id}`, { event: ALIAS })
    expect([refused.status, faultsOf(refused.body)]).toEqual([422, ['body.filter.user extra_forbidden']])
    expect((await call('PATCH', `/${id}`, { event: ALIAS, filter: null })).body).toMatchObject({ filter: null })
    expect((await call('PATCH', `/${id}`, { scope: REGISTRY })).body).toMatchObject({ scope: { registry: 'p' } })
    const moved = await call('PATCH', `/${id}`, { event: METRIC })
    expect([moved.status, faultsOf(moved.body)]).toEqual([422, ['body.event.type enum']])
  })
})

describe('the webhook', () => {
  test('must be one of the team; a foreign one reads like one that does not exist', async () => {
    const id = await created()
    const replies = async (webhook_id: string) => {
      const all = [await create({ webhook_id }), await call('PATCH', `/${id}`, { webhook_id })]
      return all.map(({ status, text }) => [status, text.replaceAll(webhook_id, '<id>')])
    }
    const foreign = await replies(foreignWebhook)
    expect(foreign.map(([status]) => status)).toEqual([404, 404])
    expect(foreign).toEqual(await replies(ABSENT))
  })

  test('may lose a secret, which keeps nobody from disabling the automation', async () => {
    const id = await created({ payload: { a: '$SIGNING' } })
    const setSecret = (signing_secret: string | null) =>
      server.service.database.updateTable('webhooks').set({ signing_secret }).where('id', '=', webhook).execute()
    await setSecret(null)
    expect((await call('PATCH', `/${id}`, { enabled: false })).status).toBe(200)
    expect((await call('PATCH', `/${id}`, { payload: { b: '$SIGNING' } })).status).toBe(422)
    expect((await call('PATCH', `/${id}`, { webhook_id: webhook })).status).toBe(422)
    await setSecret('SIGNING')
  })

  test('without an access token gives no ACCESS_TOKEN', async () => {
    const plain = await addWebhook('acme')
    expect((await create({ webhook_id: plain, payload: { a: '$ACCESS_TOKEN' } })).status).toBe(422)
  })
})

describe('roles', () => {
  test.each<[string, { scope: object; event?: object }, string[]]>([
    ['a project', { scope: PROJECT }, ['admin', 'projectAdmin']],
    ['a registry of the same name', { scope: REGISTRY }, ['admin', 'registryAdmin']],
  ])('of %s', async (_what, scope, writers) => {
    const id = await created(scope)
    for (const user of Object.keys(keys)) {
      const mayWrite = writers.includes(user)
      const isInside = user !== 'outsider'
      const written = mayWrite ? 200 : 403
      const own = isInside ? written : 404
      expect((await create(scope, user)).status, `${user} creates`).toBe(written)
      expect((await call('PATCH', `/${id}`, { name: 'b' }, user)).status, `${user} updates`).toBe(own)
      for (const path of [`/${id}`, `/${id}/executions`])
        expect((await call('GET', path, undefined, user)).status, `${user} reads`).toBe(isInside ? 200 : 404)
      expect((await call('GET', '?entity=acme', undefined, user)).status, `${user} lists`).toBe(isInside ? 200 : 403)
      const other = await created(scope)
      expect((await call('DELETE', `/${other}`, undefined, user)).status, `${user} deletes`).toBe(own)
    }
  })

  test('who moves an automation must administer both scopes', async () => {
    const id = await created()
    const toQ = { scope: { ...PROJECT, project: 'q' } }
    for (const user of ['projectAdmin', 'otherProjectAdmin', 'registryAdmin', 'member'])
      expect((await call('PATCH', `/${id}`, toQ, user)).status, user).toBe(403)
    expect((await call('PATCH', `/${id}`, { scope: { ...PROJECT, entity: 'elsewhere' } })).status).toBe(403)
    expect((await call('PATCH', `/${id}`, toQ)).status).toBe(200)
    expect((await call('PATCH', `/${id}`, { name: 'b' }, 'projectAdmin')).status).toBe(403)
    expect((await call('PATCH', `/${id}`, { name: 'b' }, 'otherProjectAdmin')).status).toBe(200)
  })

  test('a foreign team is a 403 whether or not it exists, a foreign id a 404 that tells nothing', async () => {
    const refusals = async (entity: string) => {
      const all = [await create({ scope: { ...PROJECT, entity } }), await call('GET', `?entity=${entity}`)]
      return all.map(({ status, text }) => [status, text.replaceAll(entity, '<team>')])
    }
    const foreign = await refusals('elsewhere')
    expect(foreign.map(([status]) => status)).toEqual([403, 403])
    expect(foreign).toEqual(await refusals('nowhere'))
    const id = await created()
    const ask = async (one: string) => {
      const replies = [
        await call('GET', `/${one}`, undefined, 'outsider'),
        await call('PATCH', `/${one}`, { scope: { ...PROJECT, project: 'q' } }, 'outsider'),
        await call('DELETE', `/${one}`, undefined, 'outsider'),
        await call('GET', `/${one}/executions`, undefined, 'outsider'),
      ]
      return replies.map(({ status, text }) => [status, text.replaceAll(one, '<id>')])
    }
    expect(await ask(id)).toEqual(await ask(ABSENT))
    expect((await ask(id)).map(([status]) => status)).toEqual([404, 404, 404, 404])
  })
})

test('a plan without automations refuses every operation', async () => {
  const id = await created()
  const setPlan = (plan: 'free' | 'paid') =>
    server.service.database.updateTable('teams').set({ plan }).where('name', '=', 'acme').execute()
  await setPlan('free')
  const replies = [
    await create(),
    await call('GET', `/${id}`),
    await call('PATCH', `/${id}`, { enabled: false }),
    await call('DELETE', `/${id}`),
    await call('GET', `/${id}/executions`),
    await call('GET', '?entity=acme'),
  ]
  for (const { status, body } of replies) expect([status, body.error.code]).toEqual([403, 'plan_too_low'])
  expect((await call('GET', '')).body).toMatchObject({ data: [] })
  await setPlan('paid')
  expect((await call('GET', '')).body).toMatchObject({ data: [{ id }] })
})

test('the list is narrowed by team, project and registry', async () => {
  const p = await created()
  const q = await created({ scope: { ...PROJECT, project: 'q' } })
  const registry = await created({ scope: REGISTRY })
  const list = async (query: string, key = 'admin') =>
    (await call('GET', query, undefined, key)).body.data.map((item: { id: string }) => item.id)
  expect(await list('')).toEqual([p, q, registry])
  expect(await list('?entity=acme&order=desc&limit=2')).toEqual([registry, q])
  expect(await list('?project=p')).toEqual([p])
  expect(await list('?registry=p')).toEqual([registry])
  expect(await list('?project=p&registry=p')).toEqual([])
  expect(await list(`?after=${p}&limit=1`)).toEqual([q])
  expect(await list('', 'outsider')).toEqual([])
})

test('the history tells what happened and what became of it', async () => {
  const { database } = server.service
  const id = await created({ event: METRIC, filter: { run_name_regex: '^mine' } })
  expect((await call('GET', `/${id}/executions`)).body).toMatchObject({ data: [], has_more: false })
  const runs: string[] = []
  for (const name of ['mine-1', 'theirs-1', 'mine-2']) {
    const model = await createModel(server, name)
    await database.updateTable('models').set({ entity: 'acme', project: 'p' }).where('id', '=', model).execute()
    const { run_id } = await database.selectFrom('models').selectAll().where('id', '=', model).executeTakeFirstOrThrow()
    runs.push(run_id)
    await database.transaction().execute(transaction =>
      recordEvent(transaction, {
        type: 'RUN_METRIC',
        author: 'eve',
        runId: run_id,
        step: 2,
        metrics: { 'val/reward': 0.5 },
      }),
    )
  }
  const { body } = await call('GET', `/${id}/executions`)
  expect(body.data).toHaveLength(2)
  expect(body.data[1]).toEqual({
    id: expect.any(String),
    automation_id: id,
    status: 'Pending',
    event: {
      type: 'RUN_METRIC',
      author: 'eve',
      entity: 'acme',
      project: 'p',
      registry: null,
      collection: null,
      artifact: null,
      alias: null,
      tag: null,
      run_id: runs[2],
      run_name: 'mine-2',
      metric: 'val/reward',
      value: 0.5,
      threshold: 0,
      step: 2,
    },
    delivery_id: expect.any(String),
    response_status: null,
    error: null,
    created_at: expect.any(String),
    finished_at: null,
  })
  const newest = await call('GET', `/${id}/executions?order=desc&limit=1`)
  expect(newest.body).toMatchObject({ data: [{ id: body.data[1].id }], has_more: true })
})
