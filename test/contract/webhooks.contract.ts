import { createHash } from 'node:crypto'
import { describe, expect, type TestContext, test } from 'vitest'
import type { Success } from '../../src/contract/client.ts'
import { fire } from '../automations/hook-server.ts'
import { type Receiver, startReceiver } from '../automations/receiver.ts'
import { checkPages } from './pages.ts'
import { client, foreignTeam, home, inProcess, onCleanup, runId, target, unknownId } from './setup.ts'

const PUBLIC = 'https://hooks.example.com/deploy'
const LOOPBACK = 'http://127.0.0.1/'

describe.skipIf(target.isMock)('Webhooks, which a mock does not keep', () => {
  const team = () => ({ entity: home.entity })
  const place = (webhook: { id: string }) => ({ ...team(), webhook_id: webhook.id })
  // Names are words with spaces between them, so that the id of the run can be one.
  const nameOf = (name: string) => `${runId} ${name}`

  async function createWebhook(name: string, endpoint_url = PUBLIC): Promise<Success<'createWebhook'>> {
    const body = { name: nameOf(name), endpoint_url }
    const webhook = await client.ok('createWebhook', { path: team(), body })
    onCleanup(() => client.call('deleteWebhook', { path: place(webhook) }))
    return webhook
  }

  /** The suite as an endpoint: it takes part where the deployment runs here and may call this machine. */
  async function startEndpoint(context: TestContext): Promise<Receiver> {
    const body = { name: nameOf('probe'), endpoint_url: LOOPBACK }
    const { status, body: webhook } = await client.call('createWebhook', { path: team(), body })
    context.skip(status !== 200, 'the deployment does not call this machine')
    await client.ok('deleteWebhook', { path: place(webhook as { id: string }) })
    const receiver = await startReceiver((received, response) => {
      const digest = createHash('sha256').update(received.body).digest('hex')
      response.writeHead(202, { 'x-digest': digest }).end('taken')
    })
    context.onTestFinished(() => receiver.close())
    return receiver
  }

  test('createWebhook/gives-a-webhook-that-is-found-and-listed', async () => {
    const webhook = await createWebhook('created')
    expect(webhook).toMatchObject({
      ...{ ...team(), name: nameOf('created'), endpoint_url: PUBLIC },
      ...{ access_token_secret: null, signing_secret: null, enabled: true, disabled_at: null },
    })
    expect(await client.ok('getWebhook', { path: place(webhook) })).toEqual(webhook)
    const query = { limit: 100, order: 'desc' }
    const { data } = await client.ok('listWebhooks', { path: team(), query })
    expect(data).toContainEqual(webhook)
  })

  test('createWebhook/refuses-a-taken-name-and-an-unknown-secret', async () => {
    const webhook = await createWebhook('taken')
    const body = { name: webhook.name, endpoint_url: PUBLIC }
    await client.refused('createWebhook', 400, { path: team(), body })
    const unknown = { ...body, name: nameOf('unknown'), signing_secret: `${runId}-no-secret` }
    const { error } = await client.refused('createWebhook', 400, { path: team(), body: unknown })
    expect(error.param).toBe('signing_secret')
  })

  test('createWebhook/refuses-endpoints-that-are-not-public', async () => {
    for (const endpoint_url of [
      'http://169.254.169.254/',
      'http://[64:ff9b::a9fe:a9fe]/',
      'https://a:b@example.com/',
    ]) {
      const body = { name: nameOf('refused'), endpoint_url }
      const { detail } = await client.refused('createWebhook', 422, { path: team(), body })
      expect(detail).toMatchObject([{ loc: ['body', 'endpoint_url'] }])
    }
  })

  test('updateWebhook/does-not-let-credentials-follow-to-another-endpoint', async () => {
    const webhook = await createWebhook('moved')
    const endpoint_url = 'https://hooks.example.com/other'
    await client.refused('updateWebhook', 422, { path: place(webhook), body: { endpoint_url } })
    const body = { endpoint_url, access_token_secret: null, signing_secret: null }
    const moved = await client.ok('updateWebhook', { path: place(webhook), body })
    expect(moved).toEqual({ ...webhook, ...body, updated_at: moved.updated_at })
    const unknown = { signing_secret: `${runId}-no-secret` }
    await client.refused('updateWebhook', 400, { path: place(webhook), body: unknown })
  })

  test('updateWebhook/disables-and-enables', async () => {
    const webhook = await createWebhook('disabled')
    const disabled = await client.ok('updateWebhook', { path: place(webhook), body: { enabled: false } })
    expect(disabled).toMatchObject({
      enabled: false,
      disabled_at: expect.any(String),
      disabled_reason: expect.any(String),
    })
    const enabled = await client.ok('updateWebhook', { path: place(webhook), body: { enabled: true } })
    expect(enabled).toMatchObject({ enabled: true, disabled_at: null, disabled_reason: null })
  })

  test('deleteWebhook/leaves-nothing', async () => {
    const webhook = await createWebhook('deleted')
    const path = place(webhook)
    expect(await client.ok('deleteWebhook', { path })).toEqual({ webhook_id: webhook.id, deleted_deliveries: 0 })
    for (const id of ['getWebhook', 'deleteWebhook', 'listWebhookDeliveries'] as const)
      await client.refused(id, 404, { path })
    await client.refused('updateWebhook', 404, { path, body: {} })
    await client.refused('testWebhook', 404, { path, body: {} })
    await client.refused('redeliverWebhook', 404, { path: { ...path, delivery_id: unknownId } })
  })

  test('listWebhookDeliveries/is-empty-for-a-new-webhook', async () => {
    const path = place(await createWebhook('silent'))
    expect((await client.ok('listWebhookDeliveries', { path })).data).toEqual([])
  })

  test('testWebhook/delivers-to-the-suite-as-the-contract-says', async context => {
    const { url, received } = await startEndpoint(context)
    const webhook = await createWebhook('tested', url)
    const payload = { text: 'naïve "quotes"', nested: { list: [1, null, true] } }
    const result = await client.ok('testWebhook', { path: place(webhook), body: { payload } })
    expect(received.map(({ json }) => json)).toEqual([payload])
    expect(received[0]!.headers.authorization).toBeUndefined()
    const digest = createHash('sha256').update(received[0]!.body).digest('hex')
    expect(result).toMatchObject({ status: 202, body: 'taken', error: null, headers: { 'x-digest': digest } })
    expect((await client.ok('listWebhookDeliveries', { path: place(webhook) })).data).toEqual([])
  })

  test('every-webhook-operation/is-403-for-a-foreign-team', async () => {
    const path = { entity: foreignTeam, webhook_id: unknownId }
    for (const id of ['listWebhooks', 'getWebhook', 'deleteWebhook', 'listWebhookDeliveries'] as const)
      await client.refused(id, 403, { path })
    const body = { name: 'a', endpoint_url: PUBLIC }
    await client.refused('createWebhook', 403, { path: { entity: foreignTeam }, body })
    await client.refused('updateWebhook', 403, { path, body: {} })
    await client.refused('testWebhook', 403, { path, body: {} })
    await client.refused('redeliverWebhook', 403, { path: { ...path, delivery_id: unknownId } })
  })

  describe.skipIf(!inProcess)('with deliveries, which only an automation makes', () => {
    async function deliver(webhook: { id: string }) {
      const { deliveryId } = await fire(inProcess!.service, webhook.id)
      // As the webhook's last automation would be deleted.
      onCleanup(() =>
        inProcess!.service.database.deleteFrom('automations').where('webhook_id', '=', webhook.id).execute(),
      )
      return { ...place(webhook), delivery_id: deliveryId }
    }

    test('deleteWebhook/refuses-while-an-automation-calls-it', async () => {
      const webhook = await createWebhook('used', LOOPBACK)
      await deliver(webhook)
      await client.refused('deleteWebhook', 400, { path: place(webhook) })
    })

    test('listWebhookDeliveries/follows-the-laws-of-pages', async () => {
      const webhook = await createWebhook('listed', LOOPBACK)
      for (let count = 0; count < 4; count++) await deliver(webhook)
      await checkPages('listWebhookDeliveries', { path: place(webhook) }, 4)
    })

    test('redeliverWebhook/sends-again-unless-the-webhook-is-disabled', async context => {
      const { url, received } = await startEndpoint(context)
      const webhook = await createWebhook('again', url)
      const path = await deliver(webhook)
      await expect.poll(() => received.length).toBe(1)
      const isFinished = async () =>
        (await client.ok('listWebhookDeliveries', { path: place(webhook), query: { status: 'Finished' } })).data.length
      await expect.poll(isFinished).toBe(1)
      await client.ok('redeliverWebhook', { path })
      await expect.poll(() => received.length).toBe(2)
      expect(received[1]!.body).toEqual(received[0]!.body)
      await client.ok('updateWebhook', { path: place(webhook), body: { enabled: false } })
      await client.refused('redeliverWebhook', 400, { path })
    })
  })

  test('listWebhooks/follows-the-laws-of-pages', async () => {
    for (let count = 0; count < 3; count++) await createWebhook(`page ${count}`)
    const { data } = await client.ok('listWebhooks', { path: team(), query: { limit: 100 } })
    if (data.length < 100) await checkPages('listWebhooks', { path: team() }, data.length)
  })
})
