import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { waitUncharged } from '../../src/contract/running-check.ts'
import { checkPages, whileStill } from './pages.ts'
import { CLOCK_STEP_MS, client, foreignTeam, home, runId, secretName, unknownId } from './setup.ts'

const PUBLIC = 'https://hooks.example.com/deploy'

section('Webhooks, which a mock does not keep', { needs: ['memory'] }, () => {
  const team = () => ({ entity: home.entity })
  const place = (webhook: { id: string }) => ({ ...team(), webhook_id: webhook.id })
  // Names are words with spaces between them, so that the id of the run can be one.
  const nameOf = (name: string) => `${runId} ${name}`

  async function createWebhook(name: string, endpoint_url = PUBLIC): Promise<Success<'createWebhook'>> {
    const body = { name: nameOf(name), endpoint_url }
    return client.ok('createWebhook', { path: team(), body })
  }

  check('createWebhook/gives-a-webhook-that-is-found-and-listed', async () => {
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

  check('createWebhook/refuses-a-taken-name-and-an-unknown-secret', async () => {
    const webhook = await createWebhook('taken')
    const body = { name: webhook.name, endpoint_url: PUBLIC }
    await client.refused('createWebhook', 400, { path: team(), body })
    const unknown = { ...body, name: nameOf('unknown'), signing_secret: `${runId}-no-secret` }
    const { error } = await client.refused('createWebhook', 400, { path: team(), body: unknown })
    expect(error.param).toBe('signing_secret')
  })

  check('createWebhook/refuses-endpoints-that-are-not-public', async () => {
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

  check('updateWebhook/does-not-let-credentials-follow-to-another-endpoint', async () => {
    const webhook = await createWebhook('moved')
    const endpoint_url = 'https://hooks.example.com/other'
    await client.refused('updateWebhook', 422, { path: place(webhook), body: { endpoint_url } })
    const body = { endpoint_url, access_token_secret: null, signing_secret: null }
    const moved = await client.ok('updateWebhook', { path: place(webhook), body })
    expect(moved).toEqual({ ...webhook, ...body, updated_at: moved.updated_at })
    const unknown = { signing_secret: `${runId}-no-secret` }
    await client.refused('updateWebhook', 400, { path: place(webhook), body: unknown })
  })

  check('updateWebhook/takes-the-same-address-as-no-move', async () => {
    const secret = { entity: home.entity, name: secretName('kept_key') }
    await client.ok('putSecret', { path: secret, body: { value: 'a value' } })
    const body = { name: nameOf('same'), endpoint_url: PUBLIC, signing_secret: secret.name }
    const webhook = await client.ok('createWebhook', { path: team(), body })
    const same = await client.ok('updateWebhook', { path: place(webhook), body: { endpoint_url: PUBLIC } })
    expect(same).toEqual({ ...webhook, updated_at: same.updated_at })
    const cleared = await client.ok('updateWebhook', { path: place(webhook), body: { signing_secret: null } })
    expect(cleared).toMatchObject({ signing_secret: null, access_token_secret: null, endpoint_url: PUBLIC })
    expect((await client.ok('getWebhook', { path: place(webhook) })).signing_secret).toBeNull()
  })

  check(
    'updateWebhook/tells-when-it-was-last-changed',
    { source: '/components/schemas/Webhook/properties/updated_at/description' },
    async () => {
      const webhook = await createWebhook('dated')
      await waitUncharged(CLOCK_STEP_MS)
      const body = { name: nameOf('dated anew') }
      const renamed = await client.ok('updateWebhook', { path: place(webhook), body })
      expect(Date.parse(renamed.updated_at)).toBeGreaterThan(Date.parse(webhook.updated_at))
      expect(renamed).toEqual({ ...webhook, ...body, updated_at: renamed.updated_at })
      expect(await client.ok('getWebhook', { path: place(webhook) })).toEqual(renamed)
    },
  )

  check('updateWebhook/disables-and-enables', async () => {
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

  check('deleteWebhook/leaves-nothing', async () => {
    const webhook = await createWebhook('deleted')
    const path = place(webhook)
    expect(await client.ok('deleteWebhook', { path })).toEqual({ webhook_id: webhook.id, deleted_deliveries: 0 })
    for (const id of ['getWebhook', 'deleteWebhook', 'listWebhookDeliveries'] as const)
      await client.refused(id, 404, { path })
    await client.refused('updateWebhook', 404, { path, body: {} })
    await client.refused('testWebhook', 404, { path, body: {} })
    await client.refused('redeliverWebhook', 404, { path: { ...path, delivery_id: unknownId } })
  })

  check('listWebhookDeliveries/is-empty-for-a-new-webhook', async () => {
    const path = place(await createWebhook('silent'))
    expect((await client.ok('listWebhookDeliveries', { path })).data).toEqual([])
  })

  check('webhooks/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, webhook_id: unknownId }
    for (const id of ['listWebhooks', 'getWebhook', 'deleteWebhook', 'listWebhookDeliveries'] as const)
      await client.refused(id, 403, { path })
    const body = { name: 'a', endpoint_url: PUBLIC }
    await client.refused('createWebhook', 403, { path: { entity: foreignTeam }, body })
    await client.refused('updateWebhook', 403, { path, body: {} })
    await client.refused('testWebhook', 403, { path, body: {} })
    await client.refused('redeliverWebhook', 403, { path: { ...path, delivery_id: unknownId } })
  })

  check('listWebhooks/follows-the-laws-of-pages', async () => {
    for (let count = 0; count < 3; count++) await createWebhook(`page ${count}`)
    const read = async () => (await client.ok('listWebhooks', { path: team(), query: { limit: 100 } })).data
    await whileStill(read, async ({ length }) => {
      if (length < 100) await checkPages('listWebhooks', { path: team() }, length)
    })
  })
})
