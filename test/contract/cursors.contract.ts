/** Lists go on where they were, also when the item that was last is gone. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { walk } from './pages.ts'
import { client, createModel, home, runId, secretName } from './setup.ts'

const AFTER = '/components/parameters/After/description'

section('Cursors of what is gone, which a mock does not know', { source: AFTER, needs: ['memory'], home: true }, () => {
  type Made = { id: string; remove: () => Promise<unknown> }
  const team = () => ({ entity: home.entity })
  const lists: [OperationId, () => CallOptions, (name: string) => Promise<Made>][] = [
    [
      'listModels',
      () => ({}),
      async name => {
        const { id } = await createModel(name)
        return { id, remove: () => client.ok('deleteModel', { path: { model_id: id } }) }
      },
    ],
    [
      'listWebhooks',
      () => ({ path: team() }),
      async name => {
        const body = { name: `${runId} ${name}`, endpoint_url: 'https://hooks.example.com/' }
        const { id } = await client.ok('createWebhook', { path: team(), body })
        return { id, remove: () => client.ok('deleteWebhook', { path: { ...team(), webhook_id: id } }) }
      },
    ],
    [
      'listSecrets',
      () => ({ path: team() }),
      async name => {
        const path = { ...team(), name: secretName(name) }
        const { id } = await client.ok('putSecret', { path, body: { value: 'a value' } })
        return { id, remove: () => client.ok('deleteSecret', { path }) }
      },
    ],
    [
      'listApiKeys',
      () => ({}),
      async name => {
        const { id } = await client.ok('createApiKey', { body: { name: `${runId}-${name}` } })
        return { id, remove: () => client.ok('deleteApiKey', { path: { api_key_id: id } }) }
      },
    ],
    [
      'listMembers',
      () => ({ path: team() }),
      async name => {
        const path = { ...team(), user: `${runId}-${name}` }
        const { id } = await client.ok('putMember', { path, body: { role: 'member' } })
        return { id, remove: () => client.ok('deleteMember', { path }) }
      },
    ],
  ]
  for (const [id, options, make] of lists)
    check(`${id}/goes-on-after-an-item-that-is-gone`, async () => {
      const [before, gone, behind] = [await make('gone-1'), await make('gone-2'), await make('gone-3')]
      await gone.remove()
      const rest = async (order: string) =>
        (await walk(id, options(), { limit: 100, order, after: gone.id })).filter(one =>
          [before.id, behind.id].includes(one),
        )
      expect([await rest('asc'), await rest('desc')]).toEqual([[behind.id], [before.id]])
      for (const { remove } of [before, behind]) await remove()
    })
})
