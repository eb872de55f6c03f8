/** What webhooks refuse, also of an update: where credentials may go, and which secrets are in use. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, home, runId, secretName } from './setup.ts'

const URL_RULES = '/components/schemas/EndpointUrl/description'
const UPDATE = '/paths/~1v1~1preview~1teams~1{entity}~1webhooks~1{webhook_id}/patch/description'
const DELETE_SECRET = '/paths/~1v1~1preview~1teams~1{entity}~1secrets~1{name}/delete/description'
const PUT_SECRET = '/paths/~1v1~1preview~1teams~1{entity}~1secrets~1{name}/put/description'
const PUBLIC = 'https://hooks.example.com/deploy'
const OTHER = 'https://hooks.example.com/other'

section('Rules of webhooks, which a mock does not know', { needs: ['memory'], tag: 'webhooks' }, () => {
  const team = () => ({ entity: home.entity })
  const place = (webhook: { id: string }) => ({ ...team(), webhook_id: webhook.id })

  async function putSecret(name: string): Promise<string> {
    const secret = secretName(name)
    await client.ok('putSecret', { path: { ...team(), name: secret }, body: { value: 'a value' } })
    return secret
  }

  async function createWebhook(name: string, more: object = {}): Promise<Success<'createWebhook'>> {
    const body = { name: `${runId} ${name}`, endpoint_url: PUBLIC, ...more }
    return client.ok('createWebhook', { path: team(), body })
  }

  checkEach<[string, string]>([
    ['a-number-for-an-address', 'http://2852039166/'],
    ['a-hexadecimal-address', 'http://0xa9fea9fe/'],
    ['a-mapped-address', 'http://[::ffff:169.254.169.254]/'],
    ['a-metadata-address', 'http://169.254.169.254/latest'],
    ['a-multicast-address', 'http://224.0.0.1/'],
    ['a-user-in-the-address', 'https://ada@hooks.example.com/'],
    ['a-fragment', `${PUBLIC}#part`],
    ['a-backslash', 'https://hooks.example.com\\deploy'],
    ['another-scheme', 'ftp://hooks.example.com/'],
  ])(
    'updateWebhook/refuses-%s',
    () => ({ source: URL_RULES }),
    async (name, endpoint_url) => {
      const webhook = await createWebhook(name.slice(0, 20))
      const body = { endpoint_url, access_token_secret: null, signing_secret: null }
      for (const { detail } of [
        await client.refused('updateWebhook', 422, { path: place(webhook), body }),
        await client.refused('createWebhook', 422, { path: team(), body: { ...body, name: `${runId} bad` } }),
      ])
        expect(detail).toMatchObject([{ loc: ['body', 'endpoint_url'] }])
      expect(await client.ok('getWebhook', { path: place(webhook) })).toEqual(webhook)
    },
  )

  check('updateWebhook/names-both-secrets-again-for-another-address', { source: UPDATE }, async () => {
    const [token, signing] = [await putSecret('move_token'), await putSecret('move_key')]
    const secrets = { access_token_secret: token, signing_secret: signing }
    const webhook = await createWebhook('both secrets', secrets)
    for (const half of [{ access_token_secret: null }, { signing_secret: null }, { access_token_secret: token }])
      await client.refused('updateWebhook', 422, { path: place(webhook), body: { endpoint_url: OTHER, ...half } })
    expect(await client.ok('getWebhook', { path: place(webhook) })).toEqual(webhook)
    const moved = await client.ok('updateWebhook', { path: place(webhook), body: { endpoint_url: OTHER, ...secrets } })
    expect(moved).toMatchObject({ endpoint_url: OTHER, ...secrets })
  })

  checkEach<[string, 'access_token_secret' | 'signing_secret']>([
    ['token', 'access_token_secret'],
    ['key', 'signing_secret'],
  ])(
    'deleteSecret/refuses-one-that-is-in-use-as-%s-since-an-update',
    () => ({ source: DELETE_SECRET }),
    async (kind, field) => {
      const name = await putSecret(`used_as_${kind}`)
      const path = { ...team(), name }
      const webhook = await createWebhook(`uses ${kind}`)
      await client.ok('updateWebhook', { path: place(webhook), body: { [field]: name } })
      const { error } = await client.refused('deleteSecret', 400, { path })
      expect(error.message).toContain(webhook.name)
      await client.refused('createWebhook', 400, {
        path: team(),
        body: { name: `${runId} none`, endpoint_url: PUBLIC, [field]: `${name}_none` },
      })
      await client.ok('updateWebhook', { path: place(webhook), body: { [field]: null } })
      await client.ok('deleteSecret', { path })
    },
  )

  check('putSecret/refuses-a-body-of-more-than-64-kib', { source: PUT_SECRET }, async () => {
    const path = { ...team(), name: secretName('padded') }
    const raw = `{"value":"x"${' '.repeat(70_000)}}`
    await client.refused('putSecret', 413, { path, raw, headers: { 'content-type': 'application/json' } })
    await client.refused('deleteSecret', 404, { path })
  })
})
