import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { waitUncharged } from '../../src/contract/running-check.ts'
import { walk } from './pages.ts'
import { asMember } from './second-member.ts'
import {
  CLOCK_STEP_MS,
  client,
  foreignTeam,
  home,
  notShown,
  onCleanup,
  runId,
  secretName,
  target,
  unknownId,
} from './setup.ts'

const REVOKED = '/components/schemas/DeletedMember/properties/deleted_api_keys/description'
const RESERVED = ['ACCESS_TOKEN', 'alias', 'tag', 'artifact_metadata', 'artifact_version_string', 'event_type']
const MOST_CHARACTERS = 4096

section('Secrets, which a mock does not keep', { needs: ['memory'] }, () => {
  const named = (name: string) => ({ path: { entity: home.entity, name: secretName(name) } })

  async function putSecret(name: string, value = 'a value') {
    const secret = await client.ok('putSecret', { ...named(name), body: { value } })
    onCleanup(() => client.call('deleteSecret', named(name)))
    return secret
  }

  check('putSecret/never-shows-the-value', async () => {
    const value = `${runId}-value`
    for (const answer of [
      await client.call('putSecret', { ...named('hidden'), body: { value } }),
      await client.call('listSecrets', { path: { entity: home.entity }, query: { limit: 100, order: 'desc' } }),
      await client.call('putSecret', { ...named('hidden'), body: { value: { value } }, bad: true }),
      await client.call('putSecret', { ...named('hidden'), body: { value: value.repeat(1000) }, bad: true }),
      await client.call('deleteSecret', named('hidden')),
    ]) {
      expect(answer.text).not.toContain(value)
    }
  })

  check('putSecret/replaces-the-value-and-keeps-the-id', async () => {
    const first = await putSecret('replaced')
    await waitUncharged(CLOCK_STEP_MS)
    const second = await putSecret('replaced', 'another value')
    expect(second).toMatchObject({ id: first.id, created_at: first.created_at, name: secretName('replaced') })
    expect(Date.parse(second.updated_at)).toBeGreaterThan(Date.parse(first.updated_at))
  })

  check('putSecret/takes-names-that-are-variables', async () => {
    for (const name of [`_${secretName('odd')}`, secretName('long').padEnd(64, 'x'), secretName('ACCESS_TOKEN')]) {
      const path = { entity: home.entity, name }
      expect(await client.ok('putSecret', { path, body: { value: 'x' } })).toMatchObject({ name })
      await client.ok('deleteSecret', { path })
    }
    for (const name of ['1a', 'a-b', 'a.b', 'ä', 'a b', 'x'.repeat(65), ...RESERVED]) {
      const path = { entity: home.entity, name }
      const refusal = await client.refused('putSecret', 422, { path, body: { value: 'x' } })
      expect(refusal.detail, name).toMatchObject([{ loc: ['path', 'name'] }])
      await client.refused('deleteSecret', 422, { path })
    }
  })

  check('putSecret/takes-values-of-1-to-4096-characters', async () => {
    await putSecret('long', '\u{1f600}'.repeat(MOST_CHARACTERS))
    await client.refused('putSecret', 422, { ...named('long'), body: { value: 'x'.repeat(MOST_CHARACTERS + 1) } })
    const half = { ...named('long'), raw: '{"value": "\\ud83d"}', headers: { 'content-type': 'application/json' } }
    expect(await client.refused('putSecret', 422, half)).toMatchObject({ detail: [{ loc: ['body', 'value'] }] })
  })

  check('listSecrets/holds-each-secret-once', async () => {
    const made: string[] = []
    for (const name of ['one', 'two', 'three']) made.push((await putSecret(name)).id)
    const isMade = (id: string) => made.includes(id)
    const path = { entity: home.entity }
    expect((await walk('listSecrets', { path }, { limit: 2 })).filter(isMade)).toEqual(made)
    const backwards = await walk('listSecrets', { path }, { limit: 100, order: 'desc' })
    expect(backwards.filter(isMade)).toEqual(made.toReversed())
  })

  check('deleteSecret/cannot-be-repeated', async () => {
    const { id } = await putSecret('deleted')
    const gone = { id, entity: home.entity, name: secretName('deleted'), deleted: true }
    expect(await client.ok('deleteSecret', named('deleted'))).toEqual(gone)
    await client.refused('deleteSecret', 404, named('deleted'))
    expect((await putSecret('deleted')).id).not.toBe(id)
  })

  check('deleteSecret/refuses-one-that-a-webhook-refers-to', async () => {
    await putSecret('used')
    const path = { entity: home.entity }
    const webhook = { name: `${runId}-user`, endpoint_url: 'https://example.com/', signing_secret: secretName('used') }
    const { id } = await client.ok('createWebhook', { path, body: webhook })
    onCleanup(() => client.call('deleteWebhook', { path: { ...path, webhook_id: id } }))
    expect((await client.refused('deleteSecret', 400, named('used'))).error.message).toContain(webhook.name)
    await client.ok('deleteWebhook', { path: { ...path, webhook_id: id } })
    await client.ok('deleteSecret', named('used'))
  })

  check('secrets/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, name: 'a' }
    await client.refused('putSecret', 403, { path, body: { value: 'x' } })
    await client.refused('deleteSecret', 403, { path })
    await client.refused('listSecrets', 403, { path: { entity: foreignTeam } })
    if (!target.secondApiKey) return
    const as = { bearer: target.secondApiKey }
    await putSecret('foreign')
    await client.refused('deleteSecret', 403, { ...named('foreign'), as })
    await client.refused('listSecrets', 403, { path: { entity: home.entity }, as })
  })
})

section('API keys, which a mock does not keep', { needs: ['memory'] }, () => {
  const createKey = (body: object = {}) => client.ok('createApiKey', { body: { name: `${runId}-key`, ...body } })
  const models = (key: string) => client.call('listModels', { as: { bearer: key }, query: { limit: 1 } })

  check('createApiKey/shows-a-key-that-works-and-is-shown-once', async () => {
    const { key, ...shown } = await createKey()
    expect(key.length).toBeGreaterThanOrEqual(22)
    expect(shown.team).toBe(home.entity)
    expect((await models(key)).status).toBe(200)
    const list = await client.call('listApiKeys', { query: { limit: 100, order: 'desc' } })
    expect(list.text).not.toContain(key)
    expect((list.body as { data: unknown[] }).data).toContainEqual(shown)
  })

  check('createApiKey/keeps-blanks-in-names', { source: '/info/description#Ids, times and null' }, async () => {
    const name = ` ${runId}  two  blanks `
    expect((await createKey({ name })).name).toBe(name)
  })

  check('createApiKey/refuses-a-team-that-the-caller-is-not-in', async () => {
    await client.refused('createApiKey', 403, { body: { name: `${runId}-key`, team: foreignTeam } })
    expect((await createKey({ team: null })).team).toBe(home.entity)
  })

  check('listApiKeys/holds-each-key-once', async () => {
    const made = [await createKey(), await createKey(), await createKey()].map(key => key.id)
    const isMade = (id: string) => made.includes(id)
    expect((await walk('listApiKeys', {}, { limit: 2 })).filter(isMade)).toEqual(made)
    expect((await walk('listApiKeys', {}, { limit: 100, order: 'desc' })).filter(isMade)).toEqual(made.toReversed())
  })

  check('deleteApiKey/counts-at-once-also-for-the-key-that-asks', async () => {
    const [one, other] = [await createKey(), await createKey()]
    for (const { key } of [one, other]) expect((await models(key)).status).toBe(200)
    const path = { api_key_id: one.id.toUpperCase() }
    expect(await client.ok('deleteApiKey', { path })).toEqual({ id: one.id, deleted: true })
    expect((await models(one.key)).status).toBe(401)
    await client.ok('deleteApiKey', { path: { api_key_id: other.id }, as: { bearer: other.key } })
    expect((await models(other.key)).status).toBe(401)
    await client.refused('deleteApiKey', 404, { path })
  })

  check(
    'api-keys/are-not-seen-by-another-user',
    { source: '/info/description#Errors', needs: ['second-key'] },
    async () => {
      const { id, key } = await createKey()
      const as = { bearer: target.secondApiKey! }
      const foreign = await client.refused('deleteApiKey', 404, { path: { api_key_id: id }, as })
      const absent = await client.refused('deleteApiKey', 404, { path: { api_key_id: unknownId }, as })
      expect(JSON.stringify(foreign).replaceAll(id, unknownId)).toBe(JSON.stringify(absent))
      expect(await walk('listApiKeys', { as }, { limit: 100 })).not.toContain(id)
      expect((await models(key)).status).toBe(200)
    },
  )
})

section('Members, which a mock does not keep', { needs: ['memory'] }, () => {
  const at = (name: string) => ({ path: { entity: home.entity, user: `${runId}-${name}` } })
  const put = (name: string, body: object) => client.ok('putMember', { ...at(name), body })
  const list = async () =>
    (await client.ok('listMembers', { path: { entity: home.entity }, query: { limit: 100, after: runId } })).data

  async function putMember(name: string, body: object = { role: 'member' }) {
    onCleanup(() => client.call('deleteMember', at(name)))
    return put(name, body)
  }

  check('putMember/replaces-all-roles', async () => {
    const member = { id: `${runId}-ann`, user: `${runId}-ann`, entity: home.entity }
    const registries = { registry_admin: ['r2', 'r1', 'r1'] }
    expect(await putMember('ann', { role: 'member', project_admin: ['p'], ...registries })).toEqual({
      ...member,
      role: 'member',
      project_admin: ['p'],
      registry_admin: ['r1', 'r2'],
    })
    const plain = { ...member, role: 'admin', project_admin: [], registry_admin: [] }
    expect(await put('ann', { role: 'admin', project_admin: null })).toEqual(plain)
    expect(await list()).toContainEqual(plain)
    expect((await put('ann', { role: 'member' })).role).toBe('member')
  })

  check('listMembers/is-ordered-by-name-which-is-the-cursor', async () => {
    for (const name of ['C-list', 'a-list', 'B-list']) await putMember(name)
    const names = ['B-list', 'C-list', 'a-list'].map(name => `${runId}-${name}`)
    const path = { entity: home.entity }
    const isMade = (id: string) => names.includes(id)
    for (const limit of [1, 100]) expect((await walk('listMembers', { path }, { limit })).filter(isMade)).toEqual(names)
    const backwards = await walk('listMembers', { path }, { limit: 1, order: 'desc' })
    expect(backwards.filter(isMade)).toEqual(names.toReversed())
  })

  check('deleteMember/cannot-be-repeated', async () => {
    await putMember('bob', { role: 'admin', project_admin: ['p'] })
    const gone = { id: `${runId}-bob`, user: `${runId}-bob`, entity: home.entity, deleted_api_keys: 0, deleted: true }
    expect(await client.ok('deleteMember', at('bob'))).toEqual(gone)
    await client.refused('deleteMember', 404, at('bob'))
    expect(await putMember('bob')).toMatchObject({ project_admin: [] })
  })

  const revoking = { needs: ['second-key'], alone: true, source: REVOKED } as const
  check('deleteMember/revokes-the-keys-of-the-team', revoking, () =>
    asMember({}, async ({ as, path }) => {
      const bind = (number: number) =>
        client.ok('createApiKey', { body: { name: `${runId}-bound-${number}`, team: home.entity }, as })
      const keys = [await bind(1), await bind(2)]
      const asked = { body: { name: `${runId}-asked` }, as: { bearer: keys[0]!.key } }
      const more = await client.ok('createApiKey', asked)
      expect(more.team, 'the team of the key that asks').toBe(home.entity)
      keys.push(more)
      const models = (key: string) => client.call('listModels', { as: { bearer: key }, query: { limit: 1 } })
      for (const { key } of keys) expect((await models(key)).status).toBe(200)
      const { user } = path
      expect(await client.ok('deleteMember', { path })).toMatchObject({ user, deleted_api_keys: keys.length })
      for (const { key } of keys) expect((await models(key)).status).toBe(401)
      expect((await models(target.secondApiKey!)).status, 'a key of another team stays').toBe(200)
    }),
  )

  check('putMember/cannot-demote-the-last-admin', async () => {
    const { user } = await client.ok('createApiKey', { body: { name: `${runId}-who` } })
    const path = { entity: home.entity }
    const findAdmins = async () =>
      (await client.ok('listMembers', { path, query: { limit: 100 } })).data.filter(member => member.role === 'admin')
    const admins = await findAdmins()
    if (admins.length !== 1 || admins[0]!.user !== user) {
      // Here the request would be carried out, and lock the suite out of the team.
      for (const id of ['putMember', 'deleteMember']) notShown.set(`${id} 400`, 'the team has several admins')
      return
    }
    await client.refused('putMember', 400, { path: { ...path, user }, body: { role: 'member' } })
    await client.refused('deleteMember', 400, { path: { ...path, user } })
    expect(await findAdmins()).toEqual(admins)
  })

  check('members/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, user: 'a' }
    await client.refused('putMember', 403, { path, body: { role: 'member' } })
    await client.refused('deleteMember', 403, { path })
    await client.refused('listMembers', 403, { path: { entity: foreignTeam } })
    if (!target.secondApiKey) return
    const as = { bearer: target.secondApiKey }
    await client.refused('putMember', 403, { ...at('x'), body: { role: 'admin' }, as })
    await client.refused('listMembers', 403, { path: { entity: home.entity }, as })
  })
})
