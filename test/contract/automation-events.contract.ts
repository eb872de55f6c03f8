/** When automations fire. Their webhook is disabled, so that each time is on record as a failed execution at once and nothing is ever sent. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { whileStill } from './pages.ts'
import { client, createArtifact, createModel, home, project, runId } from './setup.ts'
import { ENDPOINT } from './team-things.ts'

const TYPES = '/components/schemas/AutomationEventType/description'
const THRESHOLD = '/components/schemas/NewAutomationTrigger/properties/threshold/description'
const CREATE = '/paths/~1v1~1preview~1automations/post/description'
const UPDATE = '/paths/~1v1~1preview~1automations~1{automation_id}/patch/description'
const PATTERN = '/components/schemas/RegularExpression/description'

section('What fires automations, which a mock does not', { needs: ['memory'], tag: 'automations' }, () => {
  const team = () => ({ entity: home.entity })
  const of = ({ id }: { id: string }) => ({ path: { automation_id: id } })
  const ofProject = () => ({ type: 'project', entity: home.entity, project })
  const aliasLike = (alias_regex: string) => ({ type: 'ADD_ARTIFACT_ALIAS', alias_regex })

  async function watch(name: string, event: object, more: object = {}): Promise<Success<'createAutomation'>> {
    const hook = { name: `${runId} quiet ${name}`, endpoint_url: ENDPOINT }
    const { id } = await client.ok('createWebhook', { path: team(), body: hook })
    await client.ok('updateWebhook', { path: { ...team(), webhook_id: id }, body: { enabled: false } })
    const body = {
      name: `${runId}-${name}`,
      enabled: true,
      scope: ofProject(),
      event,
      webhook_id: id,
      payload: {},
      ...more,
    }
    return client.ok('createAutomation', { body })
  }

  /** The events that fired it so far, those of versions of other artifacts left out. */
  async function eventsOf(automation: { id: string }, collection: string | null = null) {
    const { data } = await client.ok('listAutomationExecutions', { ...of(automation), query: { limit: 100 } })
    return data.map(({ event }) => event).filter(event => collection === null || event.collection === collection)
  }

  const aliasesOf = async (automation: { id: string }, name: string) =>
    (await eventsOf(automation, `${runId}-${name}`)).map(({ alias }) => alias)

  const upload = (name: string, content: string, aliases: string[] = []) =>
    createArtifact(name, { files: { a: content }, version: { type: 'dataset', aliases } })

  check('createArtifactVersion/fires-for-the-aliases-that-it-gives', { source: TYPES }, async () => {
    const automation = await watch('given', aliasLike('^(latest|step0|chosen)$'))
    await upload('fires-given', 'one', ['chosen', 'other'])
    expect((await aliasesOf(automation, 'fires-given')).toSorted()).toEqual(['chosen', 'latest'])
    await createModel('fires-model')
    expect((await aliasesOf(automation, 'fires-model')).toSorted()).toEqual(['latest', 'step0'])
  })

  check('addArtifactAlias/fires-for-an-alias-that-moves-and-not-for-one-that-is-there', { source: TYPES }, async () => {
    const automation = await watch('moves', aliasLike('^best$'))
    for (const content of ['one', 'two']) await upload('fires-moves', content)
    const path = { entity: home.entity, project, name: `${runId}-fires-moves`, alias: 'best' }
    for (const version of ['v0', 'v0', 'v1', 'v1', 'v0'])
      await client.ok('addArtifactAlias', { path: { ...path, version } })
    const versions = (await eventsOf(automation, path.name)).map(({ artifact }) => artifact?.split(':').at(-1))
    expect(versions).toEqual(['v0', 'v1', 'v0'])
  })

  check('createAutomation/fires-once-for-a-run-that-stays-beyond-its-threshold', { source: THRESHOLD }, async () => {
    const event = { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: 1 }
    const automation = await watch('once', event, { filter: { run_name_regex: `^${runId}-once-` } })
    const log = async (name: string, rewards: number[]) => {
      const { id } = await createModel(`once-${name}`)
      for (const reward of rewards) {
        const messages_and_choices = [{ role: 'user', content: 'hi' }]
        const body = { split: 'val', trajectory_groups: [{ trajectories: [{ messages_and_choices, reward }] }] }
        await client.ok('logTrajectories', { path: { model_id: id }, body })
      }
    }
    await log('one', [0, 1, 2, 0, 1])
    await log('two', [2])
    expect((await eventsOf(automation)).map(({ run_name, value }) => [run_name, value])).toEqual([
      [`${runId}-once-one`, 1],
      [`${runId}-once-two`, 2],
    ])
  })

  check('updateAutomation/applies-at-once', { source: UPDATE }, async () => {
    const automation = await watch('at-once', aliasLike('^a$'))
    const seen = () => aliasesOf(automation, 'fires-at-once')
    let count = 0
    const put = async (alias: string) => upload('fires-at-once', String(count++), [alias])
    await put('a')
    await client.ok('updateAutomation', { ...of(automation), body: { enabled: false } })
    await put('a')
    expect(await seen()).toEqual(['a'])
    await client.ok('updateAutomation', { ...of(automation), body: { enabled: true, event: aliasLike('^b$') } })
    await put('a')
    await put('b')
    expect(await seen()).toEqual(['a', 'b'])
    const scope = { type: 'project', entity: home.entity, project: `${runId}-elsewhere` }
    await client.ok('updateAutomation', { ...of(automation), body: { scope } })
    await put('b')
    expect(await seen()).toEqual(['a', 'b'])
  })

  check('createAutomation/finds-its-expression-anywhere-in-the-alias', { source: PATTERN }, async () => {
    const anywhere = await watch('anywhere', aliasLike('ood'))
    const cased = await watch('cased', aliasLike('GOOD'))
    const loose = await watch('loose', aliasLike('(?i)GOOD'))
    await upload('fires-anywhere', 'one', ['a-good-one'])
    const seen = await Promise.all([anywhere, cased, loose].map(one => aliasesOf(one, 'fires-anywhere')))
    expect(seen).toEqual([['a-good-one'], [], ['a-good-one']])
  })

  section('fields that belong to another type', { source: CREATE }, () => {
    const registry = () => ({ type: 'registry', entity: home.entity, registry: `${runId}-r` })
    const metric = { type: 'RUN_METRIC', metric: 'm', operator: '>', threshold: 1 }
    const bad: [string, () => object, string][] = [
      ['an-alias-event-without-its-expression', () => ({ event: { type: 'ADD_ARTIFACT_ALIAS' } }), 'event.alias_regex'],
      ['a-metric-in-a-registry', () => ({ event: metric, scope: registry() }), 'event.type'],
      ['a-tag-in-a-project', () => ({ event: { type: 'ADD_ARTIFACT_TAG' } }), 'event.type'],
      ['a-registry-beside-a-project', () => ({ scope: { ...ofProject(), registry: 'r' } }), 'scope.registry'],
      ['a-project-scope-without-project', () => ({ scope: { type: 'project', entity: home.entity } }), 'scope.project'],
      ['a-registry-scope-without-registry', () => ({ scope: { ...registry(), registry: null } }), 'scope.registry'],
      ['an-expression-that-repeats-too-much', () => ({ event: aliasLike('(a{500}){500}') }), 'event.alias_regex'],
      ['an-expression-with-back-references', () => ({ event: aliasLike('(a)\\1') }), 'event.alias_regex'],
      [
        'an-expression-of-a-run-that-cannot-be-read',
        () => ({ event: metric, filter: { run_name_regex: '[' } }),
        'filter.run_name_regex',
      ],
    ]
    for (const [name, more, place] of bad)
      check(`updateAutomation/refuses-${name}`, async () => {
        const automation = await watch(name.slice(0, 20), aliasLike('^never$'))
        const refusals = [
          await client.refused('updateAutomation', 422, { ...of(automation), body: more() }),
          await client.refused('createAutomation', 422, { body: { ...toNew(automation), ...more() } }),
        ]
        for (const { detail } of refusals)
          expect((detail as { loc: string[] }[]).map(({ loc }) => loc.join('.'))).toContain(`body.${place}`)
        expect(await client.ok('getAutomation', of(automation))).toEqual(automation)
      })

    check('createAutomation/takes-null-for-fields-of-other-types', async () => {
      const event = { ...aliasLike('^never$'), metric: null, operator: null, threshold: null }
      const automation = await watch('nulls', event, { scope: { ...ofProject(), registry: null }, filter: null })
      const changed = { event: { ...metric, alias_regex: null }, filter: { user: 'ada', run_name_regex: null } }
      const updated = await client.ok('updateAutomation', { ...of(automation), body: changed })
      expect(updated).toMatchObject({ event: metric, filter: { user: 'ada' } })
      const cleared = await client.ok('updateAutomation', { ...of(automation), body: { filter: null } })
      expect(cleared.filter?.user ?? null).toBeNull()
    })

    const toNew = ({ webhook_id, scope, event, payload }: Success<'createAutomation'>) => ({
      ...{ name: `${runId}-bad`, enabled: false, webhook_id, payload },
      scope: { type: scope.type, entity: scope.entity, project: scope.project },
      event: { type: event.type, alias_regex: event.alias_regex },
    })
  })

  check('listAutomations/narrows-by-project-and-registry', { needs: ['own-project'] }, async () => {
    const scope = { type: 'registry', entity: home.entity, registry: `${runId}-narrow` }
    const inRegistry = await watch('narrow-r', { type: 'LINK_ARTIFACT' }, { scope })
    const inProject = await watch('narrow-p', aliasLike('^never$'), {
      scope: { ...ofProject(), project: `${runId}-narrow` },
    })
    const read = async (query: Record<string, string>) =>
      (await client.ok('listAutomations', { query })).data.map(({ id }) => id)
    const name = `${runId}-narrow`
    await whileStill(
      () => read({ entity: home.entity }),
      async () => {
        expect(await read({ registry: name })).toEqual([inRegistry.id])
        expect(await read({ project: name })).toEqual([inProject.id])
        expect(await read({ project: name, registry: name })).toEqual([])
      },
    )
  })
})
