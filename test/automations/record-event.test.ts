import { CompiledQuery, Kysely } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ChangeEvent, recordEvent } from '../../src/automations/record-event.ts'
import {
  deleteAutomationRow,
  findAutomation,
  type NewAutomation,
  updateAutomationRow,
} from '../../src/storage/automations.ts'
import { createSqliteDialect } from '../../src/storage/node-sqlite.ts'
import type { Tables } from '../../src/storage/tables.ts'
import { openWatchedDatabase, type WatchedDatabase } from './watched-database.ts'

const ALIAS = { scope_type: 'project', scope_name: 'p', event_type: 'ADD_ARTIFACT_ALIAS' } as const
const IN_MODELS = { scope_type: 'registry', scope_name: 'models' } as const
const METRIC = { ...ALIAS, event_type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: 0.5 } as const

/** By name. The table below says which of them an event fires. */
const AUTOMATIONS: Record<string, Partial<NewAutomation>> = {
  prod: { ...ALIAS, alias_regex: '^prod$' },
  anyProd: { ...ALIAS, alias_regex: 'prod' },
  steps: { ...ALIAS, alias_regex: '^step[0-9]+$' },
  prodOfQ: { ...ALIAS, scope_name: 'q', alias_regex: '^prod$' },
  prodOff: { ...ALIAS, alias_regex: '^prod$', enabled: 0 },
  prodOfModels: { ...IN_MODELS, event_type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' },
  prodOfRegistryP: { ...IN_MODELS, scope_name: 'p', event_type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^prod$' },
  tagOfModels: { ...IN_MODELS, event_type: 'ADD_ARTIFACT_TAG' },
  tagOfData: { ...IN_MODELS, scope_name: 'data', event_type: 'ADD_ARTIFACT_TAG' },
  linkOfModels: { ...IN_MODELS, event_type: 'LINK_ARTIFACT' },
  linkOfData: { ...IN_MODELS, scope_name: 'data', event_type: 'LINK_ARTIFACT' },
  atLeast: METRIC,
  above: { ...METRIC, operator: '>' },
  atMost: { ...METRIC, operator: '<=' },
  below: { ...METRIC, operator: '<' },
  ofBob: { ...METRIC, filter_user: 'bob' },
  ofAda: { ...METRIC, filter_user: 'ada' },
  ofYes: { ...METRIC, filter_run_name_regex: '^yes-' },
  ofNo: { ...METRIC, filter_run_name_regex: '^no-' },
  ofAdasYes: { ...METRIC, filter_user: 'ada', filter_run_name_regex: 'yes' },
  ofAdasNo: { ...METRIC, filter_user: 'ada', filter_run_name_regex: 'no' },
  otherMetric: { ...METRIC, metric: 'train/reward' },
  metricOfQ: { ...METRIC, scope_name: 'q' },
}

let watched: WatchedDatabase
const ids: Record<string, string> = {}
const automationIds: Record<string, string> = {}

beforeAll(async () => {
  watched = await openWatchedDatabase()
  for (const [name, automation] of Object.entries(AUTOMATIONS))
    automationIds[name] = await watched.watch(name, automation)
  ids.loose = await watched.addVersion('acme', 'p', 'loose')
  ids.linked = await watched.addVersion('acme', 'p', 'linked', { rows: 7, 'a.b': '$alias', nested: { c: 1 } })
  ids.twice = await watched.addVersion('acme', 'q', 'twice')
  ids.foreign = await watched.addVersion('other', 'p', 'foreign')
  await watched.link('acme', 'models', 'best', ids.linked)
  for (const collection of ['one', 'two']) await watched.link('acme', 'models', collection, ids.twice)
  await watched.link('acme', 'data', 'both', ids.twice)
  ids.yesRun = await watched.addRun('acme', 'p', 'yes-1', 'ada')
  ids.noRun = await watched.addRun('acme', 'p', 'no-1', 'bob')
  ids.foreignRun = await watched.addRun('other', 'p', 'yes-1', 'ada')
})
beforeEach(() => watched.take())
afterAll(() => watched.close())

const alias = (version: string, alias: string): ChangeEvent => ({
  ...{ type: 'ADD_ARTIFACT_ALIAS', author: 'ada', alias },
  versionId: ids[version]!,
})
const tag = (version: string, tag: string): ChangeEvent => ({
  ...{ type: 'ADD_ARTIFACT_TAG', author: 'ada', tag },
  versionId: ids[version]!,
})
const link = (entity: string, registry: string): ChangeEvent => ({
  ...{ type: 'LINK_ARTIFACT', author: 'ada', entity, registry, collection: 'new' },
  versionId: ids.loose!,
})
const metric = (run: string, metrics: Record<string, number>): ChangeEvent => ({
  ...{ type: 'RUN_METRIC', author: 'eve', step: 3, metrics },
  runId: ids[run]!,
})
const reward = (run: string, value: number) => metric(run, { 'val/reward': value })

describe('an event fires the automations that watch for it, and no other', () => {
  test.each<[what: string, event: () => ChangeEvent, names: string[]]>([
    ['alias prod', () => alias('loose', 'prod'), ['anyProd', 'prod']],
    ['alias my-production', () => alias('loose', 'my-production'), ['anyProd']],
    ['alias step12', () => alias('loose', 'step12'), ['steps']],
    ['alias Prod', () => alias('loose', 'Prod'), []],
    ['alias prod of a linked version', () => alias('linked', 'prod'), ['anyProd', 'prod', 'prodOfModels']],
    ['alias prod of a version that a registry holds twice', () => alias('twice', 'prod'), ['prodOfModels', 'prodOfQ']],
    ['alias prod in another team', () => alias('foreign', 'prod'), []],
    ['a tag of a version that is not linked', () => tag('loose', 'x'), []],
    ['a tag of a linked version', () => tag('linked', 'x'), ['tagOfModels']],
    ['a tag of a version in two registries', () => tag('twice', 'x'), ['tagOfData', 'tagOfModels']],
    ['a link', () => link('acme', 'models'), ['linkOfModels']],
    ['a link into another registry', () => link('acme', 'data'), ['linkOfData']],
    ['a link into a registry of that name in another team', () => link('other', 'models'), []],
    ['a value at the threshold', () => reward('yesRun', 0.5), ['atLeast', 'atMost', 'ofAda', 'ofAdasYes', 'ofYes']],
    ['a value above it', () => reward('yesRun', 0.6), ['above', 'atLeast', 'ofAda', 'ofAdasYes', 'ofYes']],
    ['a value below it', () => reward('yesRun', 0.4), ['atMost', 'below']],
    ['a value of another run', () => reward('noRun', 0.6), ['above', 'atLeast', 'ofBob', 'ofNo']],
    ['a value of another metric', () => metric('yesRun', { 'val/loss': 1 }), []],
    [
      'several values',
      () => metric('noRun', { 'val/reward': 0.1, 'train/reward': 1 }),
      ['atMost', 'below', 'otherMetric'],
    ],
    ['a value that is no number', () => reward('yesRun', Number.NaN), []],
    ['a value in another team', () => reward('foreignRun', 0.6), []],
  ])('%s', async (_what, event, names) => {
    await watched.record(event())
    const taken = await watched.take()
    expect(taken.names).toEqual(names)
    expect(taken.deliveries.map(({ execution_id }) => execution_id)).toEqual(taken.executions.map(({ id }) => id))
  })

  test('again and again', async () => {
    for (let count = 0; count < 3; count++) await watched.record(alias('loose', 'prod'))
    expect((await watched.take()).names).toEqual(['anyProd', 'anyProd', 'anyProd', 'prod', 'prod', 'prod'])
  })
})

describe('what is recorded', () => {
  const ALL = ['project_name', 'entity_name', 'event_type', 'event_author', 'alias', 'tag', 'artifact_collection_name']
  const MORE = ['artifact_version_string', 'run_id', 'run_name', 'metric_name', 'metric_value']
  const payload = { a: [...ALL, ...MORE].map(name => `$${name}`) }
  const withPayload = async (automation: Partial<NewAutomation>, value: object = payload) => {
    const id = await watched.watch('full', {
      ...automation,
      scope_name: `full-${automation.scope_name}`,
      payload: JSON.stringify(value),
    })
    return (await findAutomation(watched.database, id))!
  }

  test.each<
    [string, Partial<NewAutomation>, () => Promise<ChangeEvent>, Record<string, unknown>, Record<string, unknown>]
  >([
    [
      'an alias, in a project',
      { ...ALIAS, alias_regex: 'best' },
      async () => ({
        type: 'ADD_ARTIFACT_ALIAS',
        author: 'eve',
        alias: 'best',
        versionId: await watched.addVersion('acme', 'full-p', 'mine'),
      }),
      {
        project_name: 'full-p',
        entity_name: 'acme',
        event_type: 'ADD_ARTIFACT_ALIAS',
        event_author: 'eve',
        alias: 'best',
        tag: '',
        artifact_collection_name: 'mine',
        artifact_version_string: 'acme/full-p/mine:best',
      },
      { registry: null, collection: 'mine', artifact: 'acme/full-p/mine:v0', alias: 'best', project: 'full-p' },
    ],
    [
      'a tag, in a registry',
      { ...IN_MODELS, event_type: 'ADD_ARTIFACT_TAG' },
      async () => {
        const versionId = await watched.addVersion('other', 'theirs', 'shared')
        await watched.link('acme', 'full-models', 'favourites', versionId)
        return { type: 'ADD_ARTIFACT_TAG', author: 'eve', tag: 'good', versionId }
      },
      {
        project_name: 'theirs',
        entity_name: 'other',
        event_type: 'ADD_ARTIFACT_TAG',
        event_author: 'eve',
        alias: '',
        tag: 'good',
        artifact_collection_name: 'favourites',
        artifact_version_string: 'other/theirs/shared:v0',
      },
      { entity: 'other', registry: 'full-models', collection: 'favourites', tag: 'good' },
    ],
    [
      'a link',
      { ...IN_MODELS, event_type: 'LINK_ARTIFACT' },
      async () => ({
        ...{ type: 'LINK_ARTIFACT', author: 'eve', entity: 'acme', registry: 'full-models', collection: 'c' },
        versionId: ids.linked!,
      }),
      {
        project_name: 'full-models',
        entity_name: 'acme',
        event_type: 'LINK_ARTIFACT',
        event_author: 'eve',
        alias: '',
        tag: '',
        artifact_collection_name: 'c',
        artifact_version_string: 'acme/p/linked:v0',
      },
      { project: 'p', registry: 'full-models', collection: 'c', artifact: 'acme/p/linked:v0', alias: null, tag: null },
    ],
    [
      "a run's metric",
      METRIC,
      async () => ({
        type: 'RUN_METRIC',
        author: 'eve',
        step: 4,
        metrics: { 'val/reward': 0.75 },
        runId: await watched.addRun('acme', 'full-p', 'r', 'ada'),
      }),
      {
        project_name: 'full-p',
        entity_name: 'acme',
        event_type: 'RUN_METRIC',
        event_author: 'eve',
        run_id: expect.any(String),
        run_name: 'r',
        metric_name: 'val/reward',
        metric_value: 0.75,
      },
      { run_name: 'r', metric: 'val/reward', value: 0.75, threshold: 0.5, step: 4, artifact: null, collection: null },
    ],
  ])('of %s', async (_what, automation, toEvent, variables, event) => {
    const { id } = await withPayload(automation)
    const change = await toEvent()
    await watched.record(change)
    const { executions, deliveries } = await watched.take()
    expect(deliveries).toEqual([
      {
        webhook_id: watched.webhookId,
        execution_id: executions[0]!.id,
        event_type: change.type,
        payload,
        variables,
        status: 'Pending',
      },
    ])
    expect(executions).toMatchObject([
      { status: 'Pending', error: null, event: { ...event, type: change.type, author: 'eve' } },
    ])
    await watched.database
      .transaction()
      .execute(async transaction => deleteAutomationRow(transaction, (await findAutomation(transaction, id))!))
  })

  test('of a version, as an object and by the keys of its metadata, and only what the payload names', async () => {
    const value = {
      a: '$artifact_version',
      b: [
        '$artifact_metadata.rows',
        `\${artifact_metadata.a.b}`,
        '$artifact_metadata.nested',
        '$artifact_metadata.none',
      ],
    }
    const row = await withPayload({ ...IN_MODELS, event_type: 'LINK_ARTIFACT' }, value)
    await watched.record({
      type: 'LINK_ARTIFACT',
      author: 'eve',
      entity: 'acme',
      registry: 'full-models',
      collection: 'c',
      versionId: ids.linked!,
    })
    const { deliveries } = await watched.take()
    expect(deliveries[0]!.variables).toEqual({
      artifact_version: {
        id: ids.linked,
        entity: 'acme',
        project: 'p',
        name: 'linked',
        version: 'v0',
        type: 'dataset',
        metadata: { rows: 7, 'a.b': '$alias', nested: { c: 1 } },
        aliases: [],
        tags: ['t'],
        digest: 'linked-0',
        created_at: expect.any(String),
      },
      'artifact_metadata.rows': 7,
      'artifact_metadata.a.b': '$alias',
      'artifact_metadata.nested': { c: 1 },
    })
    await watched.database.transaction().execute(transaction => deleteAutomationRow(transaction, row))
  })

  test('the first link of a version that a registry holds twice names the collection', async () => {
    await watched.record(tag('twice', 'x'))
    const { executions } = await watched.take()
    const collections = executions.map(({ event }) => [event.registry, event.collection])
    expect(collections.sort()).toEqual([
      ['data', 'both'],
      ['models', 'one'],
    ])
  })
})

describe('once for a run within 24 hours', () => {
  const ofThisRun = ['atLeast', 'ofAda', 'ofAdasYes', 'ofYes']

  test('each automation for itself', async () => {
    await watched.record(reward('yesRun', 0.4))
    await watched.record(reward('yesRun', 0.5))
    await watched.record(reward('yesRun', 0.3))
    await watched.record(reward('yesRun', 0.5))
    expect((await watched.take()).names).toEqual([...ofThisRun, 'atMost', 'below'].sort())
  })

  test('another run is another matter', async () => {
    await watched.record(reward('yesRun', 0.5))
    await watched.record(reward('noRun', 0.5))
    expect((await watched.take()).names).toEqual([...ofThisRun, 'atLeast', 'atMost', 'atMost', 'ofBob', 'ofNo'].sort())
  })

  test('later it fires again', async () => {
    const age = (hours: number) =>
      watched.database
        .updateTable('automation_executions')
        .set({ created_at: new Date(Date.now() - hours * 3_600_000).toISOString() })
        .execute()
    await watched.record(reward('yesRun', 0.4))
    await age(23.9)
    await watched.record(reward('yesRun', 0.4))
    await age(24.1)
    await watched.record(reward('yesRun', 0.4))
    expect((await watched.take()).names).toEqual(['atMost', 'atMost', 'below', 'below'])
  })
})

describe('nothing is delivered', () => {
  test('for what is rolled back', async () => {
    const rolledBack = watched.database.transaction().execute(async transaction => {
      await recordEvent(transaction, alias('loose', 'prod'))
      await recordEvent(transaction, reward('yesRun', 0.5))
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await watched.take()).toMatchObject({ executions: [], deliveries: [] })
  })

  test('by a disabled webhook, and the history says why', async () => {
    const disable = (disabled_at: string | null) =>
      watched.database
        .updateTable('webhooks')
        .set({ disabled_at, disabled_reason: 'it failed for five days' })
        .execute()
    await disable('2026-11-21T10:15:30.127Z')
    await watched.record(alias('loose', 'step1'))
    await disable(null)
    const { executions, deliveries } = await watched.take()
    expect(executions).toMatchObject([{ status: 'Failed', error: 'The webhook is disabled: it failed for five days' }])
    expect(deliveries).toEqual([])
  })

  test('in a team whose plan has no automations', async () => {
    const setPlan = (plan: 'free' | 'paid') =>
      watched.database.updateTable('teams').set({ plan }).where('name', '=', 'acme').execute()
    await setPlan('free')
    for (const event of [alias('linked', 'prod'), tag('linked', 'x'), link('acme', 'models'), reward('yesRun', 0.5)])
      await watched.record(event)
    expect((await watched.take()).names).toEqual([])
    await setPlan('paid')
    await watched.record(link('acme', 'models'))
    expect((await watched.take()).names).toEqual(['linkOfModels'])
  })
})

describe('a change of an automation counts at once', () => {
  const change = (name: string, changes: Partial<NewAutomation>) =>
    watched.database.transaction().execute(async transaction => {
      const before = (await findAutomation(transaction, automationIds[name]!))!
      return updateAutomationRow(transaction, before, changes)
    })
  const firedBy = async (event: ChangeEvent) => {
    await watched.record(event)
    return (await watched.take()).names
  }

  test('disabled, enabled, another pattern, another scope, deleted', async () => {
    expect(await firedBy(alias('loose', 'step7'))).toEqual(['steps'])
    await change('steps', { enabled: 0 })
    expect(await firedBy(alias('loose', 'step7'))).toEqual([])
    await change('steps', { enabled: 1, alias_regex: '^stage' })
    expect(await firedBy(alias('loose', 'step7'))).toEqual([])
    expect(await firedBy(alias('loose', 'stage7'))).toEqual(['steps'])
    await change('steps', { scope_name: 'q' })
    expect(await firedBy(alias('loose', 'stage7'))).toEqual([])
    expect(await firedBy(alias('twice', 'stage7'))).toEqual(['steps'])
    const row = (await findAutomation(watched.database, automationIds.steps!))!
    await watched.database.transaction().execute(transaction => deleteAutomationRow(transaction, row))
    expect(await firedBy(alias('twice', 'stage7'))).toEqual([])
    automationIds.steps = await watched.watch('steps', AUTOMATIONS.steps!)
    expect(await firedBy(alias('loose', 'step7'))).toEqual(['steps'])
  })

  test('and one that is rolled back never does', async () => {
    const rolledBack = watched.database.transaction().execute(async transaction => {
      const before = (await findAutomation(transaction, automationIds.prod!))!
      await updateAutomationRow(transaction, before, { alias_regex: '^changed$' })
      await recordEvent(transaction, alias('loose', 'changed'))
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await firedBy(alias('loose', 'changed'))).toEqual([])
    expect(await firedBy(alias('loose', 'prod'))).toEqual(['anyProd', 'prod'])
  })
})

test('an event that nobody watches costs one query that uses indexes alone', async () => {
  const queries: CompiledQuery[] = []
  const listening = new Kysely<Tables>({
    dialect: createSqliteDialect(watched.file),
    log: ({ query }) => void queries.push(query),
  })
  const version = await watched.addVersion('acme', 'unwatched', 'a')
  const run = await watched.addRun('acme', 'unwatched', 'a', 'ada')
  const events: ChangeEvent[] = [
    { type: 'ADD_ARTIFACT_ALIAS', author: 'ada', alias: 'prod', versionId: version },
    { type: 'ADD_ARTIFACT_TAG', author: 'ada', tag: 'prod', versionId: version },
    { type: 'LINK_ARTIFACT', author: 'ada', versionId: version, entity: 'acme', registry: 'none', collection: 'c' },
    { type: 'RUN_METRIC', author: 'ada', step: 0, metrics: { a: 1 }, runId: run },
  ]
  for (const event of events) {
    queries.length = 0
    await recordEvent(listening, event)
    expect(queries, event.type).toHaveLength(1)
    const { sql: text, parameters } = queries[0]!
    const { rows } = await watched.database.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${text}`, [...parameters]),
    )
    expect(rows.map(({ detail }) => detail).filter(detail => detail.startsWith('SCAN'))).toEqual([])
  }
  await listening.destroy()
})
