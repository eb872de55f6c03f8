/** What a member of a team may do, and what only an admin may: of the team, of a project, or of a registry. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { walk } from './pages.ts'
import { asMember } from './second-member.ts'
import { client, home, onCleanup, project, runId, secretName, target, toForm } from './setup.ts'
import {
  automationAt,
  createAutomation,
  createWebhook,
  ENDPOINT,
  toAutomation,
  toProject,
  toRegistry,
  webhookAt,
} from './team-things.ts'

const NEEDS = ['memory', 'second-key'] as const
const AUTHENTICATION = '/info/description#Authentication'
const GRANTED = '/components/schemas/PutMemberRequest/properties'

section('Roles, which a mock does not keep', { needs: NEEDS, alone: true }, () => {
  const team = () => ({ entity: home.entity })
  const newest = (id: 'listMembers' | 'listSecrets' | 'listWebhooks') =>
    client
      .ok(id, { path: team(), query: { limit: 100, order: 'desc' } })
      .then(({ data }) => data as { name?: string }[])

  /** Something that only an admin may do, and how it could be seen that it was done. */
  interface Attempt {
    options: CallOptions
    read(): Promise<unknown>
  }

  async function onMember(body?: object): Promise<Attempt> {
    const path = { ...team(), user: `${runId}-led` }
    onCleanup(() => client.call('deleteMember', { path }))
    await client.ok('putMember', { path, body: { role: 'member' } })
    const query = { limit: 1, after: `${runId}-lec` }
    const read = async () => (await client.ok('listMembers', { path: team(), query })).data
    return { options: { path, ...(body ? { body } : {}) }, read }
  }

  async function onSecret(body?: object): Promise<Attempt> {
    const path = { ...team(), name: secretName('led') }
    await client.ok('putSecret', { path, body: { value: 'a value' } })
    const read = async () => (await newest('listSecrets')).filter(({ name }) => name === path.name)
    return { options: { path, ...(body ? { body } : {}) }, read }
  }

  async function onWebhook(name: string, body?: object): Promise<Attempt> {
    const at = webhookAt(await createWebhook(name))
    return { options: { ...at, ...(body ? { body } : {}) }, read: () => client.ok('getWebhook', at) }
  }

  async function onAutomation(name: string, body?: object): Promise<Attempt> {
    const webhook = await createWebhook(name)
    const at = automationAt(await createAutomation(webhook, toProject(project)))
    return { options: { ...at, ...(body ? { body } : {}) }, read: () => client.ok('getAutomation', at) }
  }

  checkEach<[OperationId, () => Promise<Attempt>]>([
    ['putMember', () => onMember({ role: 'admin' })],
    ['deleteMember', () => onMember()],
    ['putSecret', () => onSecret({ value: 'another value' })],
    ['deleteSecret', () => onSecret()],
    [
      'createWebhook',
      async () => {
        const name = `${runId} by a member`
        const read = async () => (await newest('listWebhooks')).filter(webhook => webhook.name === name)
        return { options: { path: team(), body: { name, endpoint_url: ENDPOINT } }, read }
      },
    ],
    ['updateWebhook', () => onWebhook('not renamed', { name: `${runId} renamed` })],
    ['deleteWebhook', () => onWebhook('not deleted')],
    ['testWebhook', () => onWebhook('not tested', {})],
    [
      'createAutomation',
      async () => {
        const scope = toProject(`${runId}-led`)
        const query = { entity: scope.entity, project: scope.project }
        const read = async () => (await client.ok('listAutomations', { query })).data
        return { options: { body: toAutomation(await createWebhook('not called'), scope) }, read }
      },
    ],
    ['updateAutomation', () => onAutomation('of one not updated', { description: 'changed' })],
    ['deleteAutomation', () => onAutomation('of one not deleted')],
  ])(
    '%s/needs-an-admin',
    () => ({ source: AUTHENTICATION }),
    async (id, prepare) => {
      const { options, read } = await prepare()
      const before = await read()
      await asMember({}, async ({ as }) => {
        await client.refused(id, 403, { ...options, as })
      })
      expect(await read(), 'what a member may not change').toEqual(before)
    },
  )

  checkEach<[OperationId, () => Promise<CallOptions>]>([
    ['listMembers', async () => ({ path: team() })],
    ['listSecrets', async () => ({ path: team() })],
    ['listWebhooks', async () => ({ path: team() })],
    ['getWebhook', async () => webhookAt(await createWebhook('read'))],
    ['listWebhookDeliveries', async () => webhookAt(await createWebhook('of deliveries'))],
    [
      'getAutomation',
      async () => automationAt(await createAutomation(await createWebhook('of one read'), toProject(project))),
    ],
    [
      'listAutomationExecutions',
      async () => automationAt(await createAutomation(await createWebhook('of executions'), toProject(project))),
    ],
  ])(
    '%s/is-open-to-members',
    () => ({ source: AUTHENTICATION }),
    async (id, prepare) => {
      const options = await prepare()
      await asMember({}, async ({ as }) => {
        await client.ok(id, { ...options, as })
      })
    },
  )

  checkEach<[string, 'project_admin' | 'registry_admin', (name: string) => object, (name: string) => object]>([
    ['project', 'project_admin', toProject, toRegistry],
    ['registry', 'registry_admin', toRegistry, toProject],
  ])(
    'createAutomation/lets-the-admin-of-a-%s-manage-its-automations',
    (_, role) => ({ source: `${GRANTED}/${role}/description` }),
    async (kind, role, toScope, toOther) => {
      const own = `${runId}-own`
      const webhook = await createWebhook(`of a ${kind}`)
      await asMember({ [role]: [own] }, async ({ as, path: { user }, put }) => {
        const automation = await createAutomation(webhook, toScope(own), { as })
        const at = automationAt(automation)
        onCleanup(() => client.call('deleteAutomation', at))
        expect(automation.created_by).toBe(user)
        for (const scope of [toScope(`${own}-not`), toOther(own)])
          await client.refused('createAutomation', 403, { body: toAutomation(webhook, scope), as })
        const changed = await client.ok('updateAutomation', { ...at, body: { description: 'mine' }, as })
        expect(changed).toMatchObject({ id: automation.id, description: 'mine', created_by: user })
        await put({ role: 'member' })
        await client.refused('updateAutomation', 403, { ...at, body: { description: 'still mine' }, as })
        await client.refused('deleteAutomation', 403, { ...at, as })
        expect(await client.ok('getAutomation', { ...at, as })).toEqual(changed)
        await put({ [role]: [own] })
        await client.ok('deleteAutomation', { ...at, as })
      })
    },
  )

  check('updateAutomation/needs-an-admin-of-both-scopes', async () => {
    const [own, other] = [toProject(`${runId}-own`), toProject(`${runId}-other`)]
    const webhook = await createWebhook('moved between')
    const inOwn = await createAutomation(webhook, own)
    const inOther = await createAutomation(webhook, other)
    await asMember({ project_admin: [own.project] }, async ({ as, put }) => {
      await client.refused('updateAutomation', 403, { ...automationAt(inOwn), body: { scope: other }, as })
      await client.refused('updateAutomation', 403, { ...automationAt(inOther), body: { scope: own }, as })
      for (const before of [inOwn, inOther])
        expect(await client.ok('getAutomation', automationAt(before))).toEqual(before)
      await put({ project_admin: [own.project, other.project] })
      const moved = await client.ok('updateAutomation', { ...automationAt(inOwn), body: { scope: other }, as })
      expect(moved.scope).toMatchObject(other)
    })
  })

  check('listAutomations/shows-those-of-every-team-of-the-caller', async () => {
    const { id } = await createAutomation(await createWebhook('of one listed'), toProject(project))
    let second = {}
    await asMember({}, async ({ as }) => {
      second = { as }
      expect(await walk('listAutomations', { as }, { limit: 100 })).toContain(id)
    })
    expect(await walk('listAutomations', second, { limit: 100 }), 'of one who is no member').not.toContain(id)
  })

  check('deleteMember/leaves-what-the-user-made', async () => {
    const at = { ...team(), project, name: `${runId}-left` }
    const readRun = async (id: string) =>
      (await client.ok('listRuns', { query: { ...team(), project, limit: 100 } })).data.find(run => run.model_id === id)
    await asMember({}, async ({ as, path }) => {
      const body = { ...team(), project, name: `${runId}-left-model`, base_model: target.baseModel }
      const model = await client.ok('createModel', { body, as })
      onCleanup(() => client.call('deleteModel', { path: { model_id: model.id } }))
      const form = toForm({ files: { a: 'left behind' }, version: { type: 'dataset' } })
      const version = await client.ok('createArtifactVersion', { path: at, form, as })
      onCleanup(() => client.call('deleteArtifactVersion', { path: { ...at, version: version.version } }))
      const run = await readRun(model.id)
      expect(run).toMatchObject({ user: path.user })
      await client.ok('deleteMember', { path })
      expect(await client.ok('getModel', { path: { model_id: model.id } })).toEqual(model)
      expect(await client.ok('getArtifactVersion', { path: { ...at, version: version.version } })).toEqual(version)
      expect(await readRun(model.id)).toEqual(run)
    })
  })

  check(
    'api-keys/are-not-seen-by-others-of-the-team',
    { source: '/paths/~1v1~1preview~1api-keys~1{api_key_id}/delete/description' },
    () =>
      asMember({}, async ({ as }) => {
        const body = { name: `${runId}-of-the-team`, team: home.entity }
        const keys = [await client.ok('createApiKey', { body, as }), await client.ok('createApiKey', { body })] as const
        const [ofSecond, ofFirst] = keys
        for (const [key, options] of [[ofSecond, {}] as const, [ofFirst, { as }] as const]) {
          await client.refused('deleteApiKey', 404, { path: { api_key_id: key.id }, ...options })
          expect(await walk('listApiKeys', options, { limit: 100 })).not.toContain(key.id)
        }
        for (const { key } of keys) await client.ok('listModels', { query: { limit: 1 }, as: { bearer: key } })
      }),
  )
})
