/** Automations as a client manages them. None of them ever fires: the address of the webhook is nobody's to call. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { CallOptions, Success } from '../../src/contract/client.ts'
import { waitUncharged } from '../../src/contract/running-check.ts'
import { checkPages } from './pages.ts'
import {
  CLOCK_STEP_MS,
  client,
  foreignTeam,
  home,
  inProcess,
  notShown,
  project,
  runId,
  target,
  unknownId,
} from './setup.ts'
import { ENDPOINT } from './team-things.ts'

section('Automations, which a mock does not keep', { needs: ['memory'] }, () => {
  let webhookId: string | null = null

  /** Made by the first check that needs it. */
  async function takeWebhook(): Promise<string> {
    if (webhookId) return webhookId
    const path = { entity: home.entity }
    const body = { name: `${runId}-automations`, endpoint_url: ENDPOINT }
    webhookId = (await client.ok('createWebhook', { path, body })).id
    return webhookId
  }

  const toBody = async (more: object = {}) => ({
    name: `${runId}-automation`,
    enabled: false,
    scope: { type: 'project', entity: home.entity, project },
    event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^production$' },
    webhook_id: await takeWebhook(),
    payload: { text: '$event_author put $alias on $artifact_version_string', version: '$artifact_version' },
    ...more,
  })
  const of = (id: string): CallOptions => ({ path: { automation_id: id } })

  async function create(more: object = {}): Promise<Success<'createAutomation'>> {
    const automation = await client.ok('createAutomation', { body: await toBody(more) })
    return automation
  }

  check('createAutomation/keeps-every-field', async () => {
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
      payload: (await toBody()).payload,
    })
    expect(await client.ok('getAutomation', of(automation.id))).toEqual(automation)
  })

  check(
    'createAutomation/keeps-blanks-in-names-and-descriptions',
    { source: '/info/description#Ids, times and null' },
    async () => {
      const words = { name: ` ${runId}  two  blanks `, description: ' a\n b ' }
      expect(await create(words)).toMatchObject(words)
    },
  )

  check('createAutomation/takes-each-event-of-a-registry', async () => {
    const scope = { type: 'registry', entity: home.entity, registry: `${runId}-models` }
    for (const type of ['ADD_ARTIFACT_TAG', 'LINK_ARTIFACT']) {
      expect(await create({ scope, event: { type } })).toMatchObject({ event: { type }, scope: { project: null } })
    }
    expect(await create({ scope, payload: undefined })).toMatchObject({ payload: {} })
  })

  checkEach<[string, object, string]>([
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
    const refusal = await client.refused('createAutomation', 422, { body: await toBody(more) })
    const locations = (refusal.detail as { loc: string[] }[]).map(({ loc }) => loc.join('.'))
    expect(locations).toContain(`body.${place}`)
  })

  check('updateAutomation/changes-what-is-sent-and-nothing-else', async () => {
    const automation = await create({ description: 'old' })
    const renamed = await client.ok('updateAutomation', { ...of(automation.id), body: { name: `${runId}-renamed` } })
    expect(renamed).toEqual({ ...automation, name: `${runId}-renamed`, updated_at: renamed.updated_at })
    await client.ok('updateAutomation', { ...of(automation.id), body: { name: automation.name } })
    const changed = await client.ok('updateAutomation', { ...of(automation.id), body: { description: 'new' } })
    expect(changed).toEqual({ ...automation, description: 'new', updated_at: changed.updated_at })
    const cleared = await client.ok('updateAutomation', { ...of(automation.id), body: { description: null } })
    expect(cleared.description).toBeNull()
    const payload = { other: '$alias' }
    const replaced = await client.ok('updateAutomation', { ...of(automation.id), body: { payload } })
    expect(replaced.payload, 'as a whole').toEqual(payload)
    const event = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: 'best' }
    expect(await client.ok('updateAutomation', { ...of(automation.id), body: { event } })).toMatchObject({ event })
    await client.refused('updateAutomation', 422, { ...of(automation.id), body: { filter: { user: 'ada' } } })
  })

  check(
    'updateAutomation/tells-when-it-was-last-changed',
    { source: '/components/schemas/Automation/properties/updated_at/description' },
    async () => {
      const automation = await create()
      await waitUncharged(CLOCK_STEP_MS)
      const body = { name: `${runId}-dated` }
      const renamed = await client.ok('updateAutomation', { ...of(automation.id), body })
      expect(Date.parse(renamed.updated_at)).toBeGreaterThan(Date.parse(automation.updated_at))
      expect(renamed).toEqual({ ...automation, ...body, updated_at: renamed.updated_at })
      expect(await client.ok('getAutomation', of(automation.id))).toEqual(renamed)
    },
  )

  check('deleteAutomation/deletes-it', async () => {
    const { id } = await create()
    expect(await client.ok('listAutomationExecutions', of(id))).toMatchObject({ data: [], has_more: false })
    expect(await client.ok('deleteAutomation', of(id))).toEqual({ id, deleted: true })
    for (const operation of ['getAutomation', 'deleteAutomation', 'listAutomationExecutions'] as const)
      await client.refused(operation, 404, of(id))
    await client.refused('updateAutomation', 404, { ...of(id), body: {} })
  })

  check('listAutomations/follows-the-laws-of-pages', async () => {
    const scope = { type: 'project', entity: home.entity, project: `${runId}-list` }
    for (let count = 0; count < 3; count++) await create({ scope })
    await checkPages('listAutomations', { query: { entity: home.entity, project: scope.project } }, 3)
    const query = { registry: `${runId}-list` }
    expect((await client.ok('listAutomations', { query })).data).toEqual([])
  })

  check(
    'automations/of-a-foreign-team-are-403-and-its-webhooks-404',
    { source: '/info/description#Errors' },
    async () => {
      const { id } = await create()
      const scope = { type: 'project', entity: foreignTeam, project }
      await client.refused('createAutomation', 403, { body: await toBody({ scope }) })
      await client.refused('updateAutomation', 403, { ...of(id), body: { scope } })
      await client.refused('listAutomations', 403, { query: { entity: foreignTeam } })
      await client.refused('createAutomation', 404, { body: await toBody({ webhook_id: unknownId }) })
      await client.refused('updateAutomation', 404, { ...of(id), body: { webhook_id: unknownId } })
    },
  )

  check(
    'automations/of-another-team-are-404',
    { source: '/info/description#Errors', needs: ['second-key'] },
    async () => {
      const options = { ...of((await create()).id), as: { bearer: target.secondApiKey! } }
      for (const operation of ['getAutomation', 'deleteAutomation', 'listAutomationExecutions'] as const)
        await client.refused(operation, 404, options)
      await client.refused('updateAutomation', 404, { ...options, body: { enabled: true } })
    },
  )

  check('automations/need-a-plan-that-has-them', { source: '/info/description#Errors' }, async () => {
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
      await client.refused('createAutomation', 403, { body: await toBody() })
      await client.refused('updateAutomation', 403, { ...of(id), body: { enabled: true } })
    } finally {
      await setPlan('paid')
    }
  })
})
