import { afterEach, describe, expect, test } from 'vitest'
import { createWebhook, ended, fire, putSecret, startHookServer, WEBHOOKS } from '../automations/hook-server.ts'
import { type Answer, type Receiver, startReceiver } from '../automations/receiver.ts'
import type { TestServer } from './start.ts'

const PUBLIC = 'https://hooks.example.com/deploy'
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(environment: Record<string, string> = {}): Promise<TestServer> {
  const server = await startHookServer({ environment })
  closers.push(() => server.close())
  await putSecret(server, 'TOKEN', 'the-token')
  await putSecret(server, 'SHARED', 'the-shared-secret')
  return server
}

async function receiver(answer?: Answer): Promise<Receiver> {
  const one = await startReceiver(answer)
  closers.push(() => one.close())
  return one
}

const create = (server: TestServer, json: object, key?: string) =>
  server.call(WEBHOOKS, { json: { name: 'Hook', endpoint_url: PUBLIC, ...json }, ...(key ? { key } : {}) })
const locs = (body: { detail: { loc: string[] }[] }) => body.detail.map(({ loc }) => loc.join('.'))

describe('createWebhook', () => {
  test('stores the webhook with the names of its secrets', async () => {
    const server = await start()
    const reply = await create(server, { access_token_secret: 'TOKEN', signing_secret: 'SHARED' })
    expect(reply.body).toEqual({
      id: expect.any(String),
      entity: 'default',
      name: 'Hook',
      endpoint_url: PUBLIC,
      access_token_secret: 'TOKEN',
      signing_secret: 'SHARED',
      enabled: true,
      disabled_at: null,
      disabled_reason: null,
      created_by: 'admin',
      created_at: expect.any(String),
      updated_at: reply.body.created_at,
    })
    expect((await server.call(`${WEBHOOKS}/${reply.body.id}`)).body).toEqual(reply.body)
    expect((await server.call(WEBHOOKS)).body.data).toEqual([reply.body])
  })

  test.each([
    ...['a', 'a-b_c 1', 'A B C', 'x'.repeat(64)].map(name => [name, 200] as const),
    ...['', ' a', 'a ', 'a  b', 'a/b', 'ä', 'a\n', 'x'.repeat(65)].map(name => [name, 422] as const),
  ])('with the name %j is answered %i', async (name, status) => {
    const reply = await create(await start(), { name })
    expect(reply.status).toBe(status)
    if (status === 422) expect(locs(reply.body)).toContain('body.name')
  })

  const endpoints = [
    ...['ftp://hooks.example.com/', 'hooks.example.com', '/deploy', 'https://', 'https://:443', 'javascript:alert(1)'],
    ...['https://user@hooks.example.com/', 'https://user:pass@hooks.example.com/', 'https://:p@hooks.example.com/'],
    ...['https://hooks.example.com/#part', 'https://hooks.example.com/a b', 'https://hooks.example.com\\@127.0.0.1/'],
    ...['https://hooks.example.com:99999/', `https://hooks.example.com/${'x'.repeat(2048)}`, 'http://ho\tst/'],
    ...['http://127.0.0.1/', 'http://127.1/', 'http://2130706433/', 'http://0x7f.1/', 'http://0177.0.0.1/'],
    ...['http://localhost/', 'http://0.0.0.0/', 'http://[::]/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/'],
    ...['http://[64:ff9b::7f00:1]/', 'http://169.254.169.254/latest/', 'http://10.0.0.1/', 'http://100.64.0.1/'],
    ...['http://[fd00::1]/', 'http://192.168.1.1:8080/'],
  ]
  test.each(endpoints)('refuses the endpoint %s', async endpoint_url => {
    const server = await start({ WEBHOOK_ALLOW: '' })
    const reply = await create(server, { endpoint_url })
    expect(reply.status).toBe(422)
    expect(locs(reply.body)).toContain('body.endpoint_url')
    const { id } = (await create(server, {})).body
    const json = { endpoint_url, access_token_secret: null, signing_secret: null }
    expect((await server.call(`${WEBHOOKS}/${id}`, { method: 'PATCH', json })).status).toBe(422)
  })

  test('refuses a name that the team has, and a secret that it has not', async () => {
    const server = await start()
    await create(server, {})
    expect(await create(server, {})).toMatchObject({ status: 400, body: { error: { code: 'webhook_exists' } } })
    const key = await server.addKey('eve', 'other', 'admin')
    await putSecret(server, 'FOREIGN', 'a-value', { entity: 'other', key })
    for (const field of ['access_token_secret', 'signing_secret']) {
      for (const name of ['NOTHING', 'FOREIGN']) {
        const reply = await create(server, { name: 'New', [field]: name })
        expect(reply).toMatchObject({ status: 400, body: { error: { code: 'secret_not_found', param: field } } })
      }
    }
    expect((await server.call(WEBHOOKS)).body.data).toHaveLength(1)
  })
})

describe('updateWebhook', () => {
  const patch = (server: TestServer, id: string, json: object) =>
    server.call(`${WEBHOOKS}/${id}`, { method: 'PATCH', json })
  const OTHER = 'https://other.example.com/'

  test('changes what is named and leaves the rest', async () => {
    const server = await start()
    const { body: webhook } = await create(server, { access_token_secret: 'TOKEN', signing_secret: 'SHARED' })
    const changes = [{ name: 'Other' }, { signing_secret: null }, { access_token_secret: 'SHARED' }, {}]
    let expected = { ...webhook, updated_at: expect.any(String) }
    for (const change of changes) {
      expected = { ...expected, ...change }
      expect((await patch(server, webhook.id, change)).body).toEqual(expected)
    }
    const taken = (await create(server, { name: 'Taken' })).body
    expect(await patch(server, taken.id, { name: 'Other' })).toMatchObject({ status: 400 })
    expect(await patch(server, taken.id, { name: 'Taken' })).toMatchObject({ status: 200 })
    expect(await patch(server, taken.id, { signing_secret: 'NOTHING' })).toMatchObject({ status: 400 })
  })

  const partly: [object, string[]][] = [
    [{}, ['body.access_token_secret', 'body.signing_secret']],
    [{ access_token_secret: 'TOKEN' }, ['body.signing_secret']],
    [{ signing_secret: null }, ['body.access_token_secret']],
  ]
  test.each(partly)('refuses another endpoint with only %j named', async (named, expected) => {
    const server = await start()
    const { body: webhook } = await create(server, { access_token_secret: 'TOKEN', signing_secret: 'SHARED' })
    const reply = await patch(server, webhook.id, { endpoint_url: OTHER, ...named })
    expect(reply.status).toBe(422)
    expect(locs(reply.body)).toEqual(expected)
    expect((await server.call(`${WEBHOOKS}/${webhook.id}`)).body).toEqual(webhook)
  })

  test('takes another endpoint with both secrets named again, and the same endpoint without', async () => {
    const server = await start()
    const { body: webhook } = await create(server, { access_token_secret: 'TOKEN', signing_secret: 'SHARED' })
    expect((await patch(server, webhook.id, { endpoint_url: PUBLIC })).status).toBe(200)
    const moved = { endpoint_url: OTHER, access_token_secret: 'TOKEN', signing_secret: null }
    expect((await patch(server, webhook.id, moved)).body).toMatchObject(moved)
  })

  test('disables and enables', async () => {
    const server = await start()
    const { body: webhook } = await create(server, {})
    const disabled = (await patch(server, webhook.id, { enabled: false })).body
    expect(disabled).toMatchObject({ enabled: false, disabled_reason: 'admin disabled it' })
    const again = (await patch(server, webhook.id, { enabled: false })).body
    expect(again.disabled_at).toBe(disabled.disabled_at)
    expect((await patch(server, webhook.id, { enabled: true })).body).toMatchObject({
      enabled: true,
      disabled_at: null,
    })
  })
})

describe('deleteWebhook', () => {
  test('takes the log along, and refuses while an automation calls the webhook', async () => {
    const server = await start()
    const { url } = await receiver()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    await fire(server.service, id)
    await ended(server, id)
    const remove = () => server.call(`${WEBHOOKS}/${id}`, { method: 'DELETE' })
    expect(await remove()).toMatchObject({ status: 400, body: { error: { code: 'webhook_in_use' } } })
    await server.service.database.deleteFrom('automations').execute()
    expect(await remove()).toMatchObject({ status: 200, body: { webhook_id: id, deleted_deliveries: 2 } })
    expect(await remove()).toMatchObject({ status: 404 })
    for (const table of ['webhook_deliveries', 'webhook_attempts', 'webhooks'] as const)
      expect(await server.service.database.selectFrom(table).selectAll().execute()).toEqual([])
  })
})

describe('testWebhook', () => {
  test('sends the payload with the credentials and shows the answer, and keeps nothing', async () => {
    const server = await start()
    const { url, received } = await receiver((_received, response) =>
      response.writeHead(201, { 'x-answer': 'yes' }).end('thanks'),
    )
    const id = await createWebhook(server, url, { access_token_secret: 'TOKEN', signing_secret: 'SHARED' })
    const payload = { author: '$event_author', token: '$ACCESS_TOKEN', tag: '$tag', n: 1 }
    const reply = await server.call(`${WEBHOOKS}/${id}/test`, { json: { payload } })
    expect(reply.body).toEqual({
      status: 201,
      headers: expect.objectContaining({ 'x-answer': 'yes' }),
      body: 'thanks',
      duration_ms: expect.any(Number),
      error: null,
    })
    expect(received[0]!.json).toEqual({ author: 'admin', token: 'the-token', tag: '', n: 1 })
    expect(received[0]!.headers.authorization).toBe('Bearer the-token')
    expect(received[0]!.headers['x-vendor-signature']).toMatch(/^[0-9a-f]{64}$/)
    for (const table of ['webhook_deliveries', 'webhook_attempts', 'automation_executions'] as const)
      expect(await server.service.database.selectFrom(table).selectAll().execute()).toEqual([])
  })

  test('sends a payload of its own where none is given', async () => {
    const server = await start()
    const { url, received } = await receiver()
    const id = await createWebhook(server, url)
    for (const call of [{ method: 'POST' }, { json: {} }, { json: { payload: null } }])
      expect((await server.call(`${WEBHOOKS}/${id}/test`, call)).body).toMatchObject({ status: 200, error: null })
    expect(received.map(({ json }) => json)).toEqual(Array(3).fill({ event: 'TEST', webhook: expect.any(String) }))
  })

  test('shows why an endpoint would fail, also of a disabled webhook', async () => {
    const server = await start()
    const { url } = await receiver((_received, response) => response.writeHead(302, { location: '/' }).end())
    const id = await createWebhook(server, url, { access_token_secret: 'TOKEN' })
    await server.call(`${WEBHOOKS}/${id}`, { method: 'PATCH', json: { enabled: false } })
    const attempt = () => server.call(`${WEBHOOKS}/${id}/test`, { json: {} })
    expect((await attempt()).body).toMatchObject({ status: 302, error: expect.stringContaining('not followed') })
    await server.service.database.deleteFrom('secrets').execute()
    expect(await attempt()).toMatchObject({
      status: 200,
      body: { status: null, body: null, duration_ms: 0, error: 'The secret TOKEN does not exist any more' },
    })
  })

  test('goes through the guard', async () => {
    const server = await start({ WEBHOOK_ALLOW: '' })
    const { port, received } = await receiver()
    server.service.endpointGuard.isForbidden = () => false
    const id = await createWebhook(server, `http://127.0.0.1:${port}/`)
    const reply = await server.call(`${WEBHOOKS}/${id}/test`, { json: {} })
    expect(reply.body).toMatchObject({ status: null, error: '127.0.0.1 does not have a public address' })
    expect(received).toEqual([])
  })

  test('refuses a payload that is too large or no object', async () => {
    const server = await start()
    const id = await createWebhook(server, PUBLIC)
    for (const payload of [{ text: 'x'.repeat(64 * 1024) }, [], 'text', 1]) {
      const reply = await server.call(`${WEBHOOKS}/${id}/test`, { json: { payload } })
      expect(reply.status).toBe(422)
      expect(locs(reply.body)[0]).toMatch(/^body\.payload/)
    }
  })
})

describe('who may', () => {
  const WRITES: [string, string, object | null][] = [
    ['POST', '', { name: 'New', endpoint_url: PUBLIC }],
    ['PATCH', '/ID', { name: 'Newer' }],
    ['POST', '/ID/test', {}],
    ['POST', '/ID/deliveries/DELIVERY/redeliver', null],
    ['DELETE', '/ID', null],
  ]
  const READS: [string, string, object | null][] = [
    ['GET', '', null],
    ['GET', '/ID', null],
    ['GET', '/ID/deliveries', null],
  ]

  test.each([...READS, ...WRITES])(
    '%s %s: members read, admins write, others learn nothing',
    async (method, path, json) => {
      const server = await start()
      const { url } = await receiver()
      const id = await createWebhook(server, url)
      const { deliveryId } = await fire(server.service, id)
      await ended(server, id)
      await server.service.database
        .updateTable('automations')
        .set({ webhook_id: await createWebhook(server, PUBLIC) })
        .execute()
      const call = (key: string, base = WEBHOOKS, hook = id) =>
        server.call(`${base}${path.replace('ID', hook).replace('DELIVERY', deliveryId)}`, {
          method,
          key,
          ...(json ? { json } : {}),
        })
      const member = await server.addKey('bob', 'default', 'member')
      const foreign = await server.addKey('eve', 'other', 'admin')
      const isRead = method === 'GET'
      expect((await call(member)).status).toBe(isRead ? 200 : 403)
      const nobodys = '/v1/preview/teams/nobodys/webhooks'
      for (const base of [WEBHOOKS, nobodys]) {
        const reply = await call(foreign, base)
        expect(reply).toMatchObject({ status: 403, body: { error: { code: 'not_a_member' } } })
      }
      if (path !== '') {
        // Under a team of their own: another team's webhook is as unknown as none.
        const own = '/v1/preview/teams/other/webhooks'
        const unknown = '01990c5e-0000-7000-8000-000000000000'
        const [theirs, none] = [await call(foreign, own), await call(foreign, own, unknown)]
        expect(theirs.status).toBe(404)
        expect(theirs.text.replaceAll(id, unknown)).toBe(none.text)
      }
      const admin = await server.addKey('ann', 'default', 'admin')
      expect((await call(admin)).status).toBe(200)
    },
  )
})

test('listWebhookDeliveries gives pages, those of one status, and the newest attempts', async () => {
  const server = await start()
  const { url } = await receiver(({ json }, response) =>
    response.writeHead((json as { text: string }).text === 'bad' ? 500 : 200).end(),
  )
  server.service.settings.webhookRetrySchedule = Array(12).fill(0)
  const id = await createWebhook(server, url)
  for (const text of ['good', 'bad', 'good']) await fire(server.service, id, { text })
  await ended(server, id)
  const list = async (query: string) => (await server.call(`${WEBHOOKS}/${id}/deliveries?${query}`)).body
  const all = (await list('')).data
  expect(all.map(({ status }: { status: string }) => status)).toEqual(['Finished', 'Failed', 'Finished'])
  const numbers = all[1].attempts.map(({ number }: { number: number }) => number)
  expect(numbers).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  expect((await list('status=Failed')).data).toEqual([all[1]])
  expect(await list(`limit=1&after=${all[0].id}`)).toMatchObject({ data: [all[1]], has_more: true })
  expect((await list('order=desc')).data.map(({ id }: { id: string }) => id)).toEqual(
    all.map(({ id }: { id: string }) => id).reverse(),
  )
  const other = await createWebhook(server, url)
  expect((await server.call(`${WEBHOOKS}/${other}/deliveries`)).body.data).toEqual([])
  const foreign = `${WEBHOOKS}/${other}/deliveries/${all[0].id}/redeliver`
  expect((await server.call(foreign, { method: 'POST' })).status).toBe(404)
})
