/** Automations as a client manages them. None of them ever fires: the address of the webhook is nobody's to call. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { CallOptions, Success } from '../../src/contract/client.ts'
import { checkPages } from './pages.ts'
import {
  client,
  foreignTeam,
  home,
  inProcess,
  notShown,
  onCleanup,
  project,
  runId,
  target,
  unknownId,
} from './setup.ts'

const ENDPOINT = 'https://example.com/trainyard-contract'

describe.skipIf(target.isMock)('Automations, which a mock does not keep', () => {
  let webhookId: string

  beforeAll(async () => {
    const path = { entity: home.entity }
    const body = { name: `${runId}-automations`, endpoint_url: ENDPOINT }
    webhookId = (await client.ok('createWebhook', { path, body })).id
    onCleanup(async () => {
      const { status, text } = await client.call('deleteWebhook', { path: { ...path, webhook_id: webhookId } })
      if (status !== 200) throw new Error(`The webhook was not deleted: ${text}`)
    })
  })

  const toBody = (more: object = {}) => ({
    name: `${runId}-automation`,
    enabled: false,
    scope: { type: 'project', entity: home.entity, project },
    event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^production$' },
    webhook_id: webhookId,
    payload: { text: '$event_author put $alias on $artifact_version_string', version: '$artifact_version' },
    ...more,
  })
  const of = (id: string): CallOptions => ({ path: { automation_id: id } })

  async function create(more: object = {}): Promise<Success<'createAutomation'>> {
    const automation = await client.ok('createAutomation', { body: toBody(more) })
    onCleanup(async () => {
      const { status, text } = await client.call('deleteAutomation', of(automation.id))
      if (status !== 200 && status !== 404) throw new Error(`The automation was not deleted: ${text}`)
    })
    return automation
  }

  test('createAutomation/keeps-every-field', async () => {
    const automation = await create({
      description: 'in words',
      event: { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: -0.5 },
      filter: { user: 'ada', run_name_regex: '^yes-' },
    })
    expect(automation).toMatchObject({
      description: 'in words',
      enabled: false,
      scope: { type: 'project', entity: home.entity, project, registry: null },
      event: { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: -0.5, alias_regex: null },
      filter: { user: 'ada', run_name_regex: '^yes-' },
      webhook_id: webhookId,
      payload: toBody().payload,
    })
    expect(await client.ok('getAutomation', of(automation.id))).toEqual(automation)
  })

  test('createAutomation/takes-each-event-of-a-registry', async () => {
    const scope = { type: 'registry', entity: home.entity, registry: `${runId}-models` }
    for (const type of ['ADD_ARTIFACT_TAG', 'LINK_ARTIFACT']) {
      expect(await create({ scope, event: { type } })).toMatchObject({ event: { type }, scope: { project: null } })
    }
    expect(await create({ scope, payload: undefined })).toMatchObject({ payload: {} })
  })

  test.each<[string, object, string]>([
    ['an-event-without-its-fields', { event: { type: 'RUN_METRIC', metric: 'm', operator: '<' } }, 'event.threshold'],
    ['a-field-of-another-event', { event: { type: 'RUN_METRIC', alias_regex: 'a' } }, 'event.alias_regex'],
    ['an-event-of-another-scope', { event: { type: 'LINK_ARTIFACT' } }, 'event.type'],
    ['a-filter-without-runs', { filter: { user: 'ada' } }, 'filter.user'],
    [
      'a-pattern-that-cannot-be-read',
      { event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '(?=a)' } },
      'event.alias_regex',
    ],
    ['an-unknown-variable', { payload: { a: [{ b: '$nothing' }] } }, 'payload.a.0.b'],
    ['a-secret-that-the-webhook-has-not', { payload: { a: '$ACCESS_TOKEN' } }, 'payload.a'],
  ])('createAutomation/refuses-%s', async (_what, more, place) => {
    const refusal = await client.refused('createAutomation', 422, { body: toBody(more) })
    const locations = (refusal.detail as { loc: string[] }[]).map(({ loc }) => loc.join('.'))
    expect(locations).toContain(`body.${place}`)
  })

  test('updateAutomation/changes-what-is-sent-and-nothing-else', async () => {
    const automation = await create()
    const changed = await client.ok('updateAutomation', { ...of(automation.id), body: { description: 'new' } })
    expect(changed).toEqual({ ...automation, description: 'new', updated_at: changed.updated_at })
    const event = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: 'best' }
    expect(await client.ok('updateAutomation', { ...of(automation.id), body: { event } })).toMatchObject({ event })
    await client.refused('updateAutomation', 422, { ...of(automation.id), body: { filter: { user: 'ada' } } })
  })

  test('deleteAutomation/deletes-it', async () => {
    const { id } = await create()
    expect(await client.ok('listAutomationExecutions', of(id))).toMatchObject({ data: [], has_more: false })
    expect(await client.ok('deleteAutomation', of(id))).toEqual({ id, deleted: true })
    for (const operation of ['getAutomation', 'deleteAutomation', 'listAutomationExecutions'] as const)
      await client.refused(operation, 404, of(id))
    await client.refused('updateAutomation', 404, { ...of(id), body: {} })
  })

  test('listAutomations/follows-the-laws-of-pages', async () => {
    const scope = { type: 'project', entity: home.entity, project: `${runId}-list` }
    for (let count = 0; count < 3; count++) await create({ scope })
    await checkPages('listAutomations', { query: { entity: home.entity, project: scope.project } }, 3)
    const query = { registry: `${runId}-list` }
    expect((await client.ok('listAutomations', { query })).data).toEqual([])
  })

  test('a-foreign-team/is-403-and-a-foreign-webhook-404', async () => {
    const { id } = await create()
    const scope = { type: 'project', entity: foreignTeam, project }
    await client.refused('createAutomation', 403, { body: toBody({ scope }) })
    await client.refused('updateAutomation', 403, { ...of(id), body: { scope } })
    await client.refused('listAutomations', 403, { query: { entity: foreignTeam } })
    await client.refused('createAutomation', 404, { body: toBody({ webhook_id: unknownId }) })
    await client.refused('updateAutomation', 404, { ...of(id), body: { webhook_id: unknownId } })
  })

  test.skipIf(!target.secondApiKey)('an-automation-of-another-team/is-404', async () => {
    const options = { ...of((await create()).id), as: { bearer: target.secondApiKey! } }
    for (const operation of ['getAutomation', 'deleteAutomation', 'listAutomationExecutions'] as const)
      await client.refused(operation, 404, options)
    await client.refused('updateAutomation', 404, { ...options, body: { enabled: true } })
  })

  test('a-plan-without-automations/is-403', async () => {
    const OPERATIONS = ['getAutomation', 'deleteAutomation', 'listAutomationExecutions'] as const
    if (!inProcess) {
      for (const id of OPERATIONS) notShown.set(`${id} 403`, 'the plan of the team has automations')
      return
    }
    const { id } = await create()
    const { database } = inProcess.service
    const setPlan = (plan: 'free' | 'paid') =>
      database.updateTable('teams').set({ plan }).where('name', '=', home.entity).execute()
    await setPlan('free')
    try {
      for (const operation of OPERATIONS)
        expect(await client.refused(operation, 403, of(id))).toMatchObject({ error: { code: 'plan_too_low' } })
      await client.refused('createAutomation', 403, { body: toBody() })
      await client.refused('updateAutomation', 403, { ...of(id), body: { enabled: true } })
    } finally {
      await setPlan('paid')
    }
  })
})
