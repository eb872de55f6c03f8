/**
 * What an event costs with 10,000 automations stored, against 10: finding those that it fires, and recording them. In this process, in
 * transactions that are rolled back, so that the disk does not count. Each event fires one automation.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { v7 as uuid } from 'uuid'
import { type ChangeEvent, recordEvent } from '../../src/automations/record-event.ts'
import { insertAutomation, type NewAutomation } from '../../src/storage/automations.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import type { Bench, Trial } from './trial.ts'

const MANY = 10_000
const FEW = 10
/** Of one measurement. */
const EVENTS = 1000
/** So many of the automations are the same in both sets: the events fire these. */
const SHARED = 10
const RUNS = EVENTS / SHARED
const AT = '2026-11-21T10:15:30.127Z'

type Watch = Pick<NewAutomation, 'scope_name' | 'event_type'> & Partial<NewAutomation>

interface Form {
  what: string
  /** The automation of this number. */
  toWatch(number: number, count: number): Watch
  /** The event of this number, of all that are ever recorded. */
  toEvent(number: number, prepared: Prepared): ChangeEvent
}

interface Prepared {
  /** By project. */
  versions: ReadonlyMap<string, string>
  runs: readonly string[]
}

const PROJECT = 'p'
const SPREAD = Array.from({ length: MANY / FEW }, (_, index) => `p${index}`)

const alias = (versionId: string, text: string): ChangeEvent => ({
  ...{ type: 'ADD_ARTIFACT_ALIAS', author: 'ada', alias: text },
  versionId,
})

const FORMS: Form[] = [
  {
    what: 'events, automations spread over projects',
    toWatch: number => ({
      scope_name: SPREAD[Math.floor(number / FEW)]!,
      event_type: 'ADD_ARTIFACT_ALIAS',
      alias_regex: `release-${number % FEW}$`,
    }),
    toEvent: (number, { versions }) => alias(versions.get(SPREAD[0]!)!, `build-${number}-release-${number % SHARED}`),
  },
  {
    what: 'alias events, all automations in one project',
    toWatch: number => ({
      scope_name: PROJECT,
      event_type: 'ADD_ARTIFACT_ALIAS',
      alias_regex: `^build-[0-9]+-release-${number}$`,
    }),
    toEvent: (number, { versions }) => alias(versions.get(PROJECT)!, `build-${number}-release-${number % SHARED}`),
  },
  {
    what: 'metric events, all automations in one project',
    toWatch: number => ({
      scope_name: PROJECT,
      event_type: 'RUN_METRIC',
      metric: 'val/reward',
      operator: '>',
      threshold: number < SHARED ? 0.5 : 1 + number,
      filter_run_name_regex: number < SHARED ? `^run-[0-9]*${number}$` : `^run-${number}`,
    }),
    toEvent: (number, { runs }) => ({
      ...{ type: 'RUN_METRIC', author: 'ada', step: number, metrics: { 'val/reward': 0.7, 'val/loss': 0.1 } },
      runId: runs[number % runs.length]!,
    }),
  },
]

export const automationMatching: Bench = { name: 'automations', trials: FORMS.map(form => () => openTrial(form)) }

async function openTrial(form: Form): Promise<Trial> {
  const many = await prepare(form, MANY)
  const few = await prepare(form, FEW)
  return {
    contestants: { '10,000 stored': many.measure, '10 stored': few.measure },
    comparisons: [{ what: form.what, unit: 'ms', ours: '10,000 stored', peer: '10 stored', target: { atMost: 2 } }],
    close: async () => {
      await Promise.all([many.close(), few.close()])
    },
  }
}

async function prepare({ toWatch, toEvent }: Form, count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-bench-'))
  const database = await openDatabase(folder)
  const prepared = await fill(
    database,
    Array.from({ length: count }, (_, number) => toWatch(number, count)),
  )
  let next = 0
  return {
    /** Milliseconds of one event. */
    async measure(): Promise<number> {
      const start = performance.now()
      await rolledBack(database, async transaction => {
        for (let end = next + EVENTS; next < end; next++) await recordEvent(transaction, toEvent(next, prepared))
        const { fired } = await transaction
          .selectFrom('webhook_deliveries')
          .select(({ fn }) => fn.countAll<number>().as('fired'))
          .executeTakeFirstOrThrow()
        if (Number(fired) !== EVENTS) throw new Error(`${EVENTS} events fired ${fired} automations`)
      })
      return (performance.now() - start) / EVENTS
    },
    async close(): Promise<void> {
      await database.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function rolledBack(database: Database, run: (transaction: Database) => Promise<void>): Promise<void> {
  const enough = new Error('enough')
  await database
    .transaction()
    .execute(async transaction => {
      await run(transaction)
      throw enough
    })
    .catch(error => {
      if (error !== enough) throw error
    })
}

async function fill(database: Database, watches: Watch[]): Promise<Prepared> {
  const versions = new Map<string, string>()
  const runs: string[] = []
  const webhook_id = uuid()
  await database.transaction().execute(async transaction => {
    await transaction.insertInto('teams').values({ name: 'acme', created_at: AT }).execute()
    const webhook = { id: webhook_id, entity: 'acme', name: 'w', endpoint_url: 'https://example.com' }
    const made = { created_by: 'ada', created_at: AT }
    await transaction
      .insertInto('webhooks')
      .values({ ...webhook, ...made, updated_at: AT })
      .execute()
    for (const watch of watches) {
      await insertAutomation(transaction, {
        ...{ entity: 'acme', name: 'a', description: null, enabled: 1, scope_type: 'project', alias_regex: null },
        ...{ metric: null, operator: null, threshold: null, filter_user: null, filter_run_name_regex: null },
        ...{ webhook_id, payload: '{"text":"$alias $run_name"}', created_by: 'ada' },
        ...watch,
      })
    }
    for (const project of new Set(watches.map(({ scope_name }) => scope_name))) {
      const collection = { id: uuid(), entity: 'acme', project, name: 'n', next_version: 1 }
      await transaction.insertInto('collections').values(collection).execute()
      const id = uuid()
      const version = {
        id,
        collection_id: collection.id,
        version: 0,
        type: 't',
        metadata: '{}',
        tags: '[]',
        digest: id,
      }
      await transaction
        .insertInto('artifact_versions')
        .values({ ...version, ...made })
        .execute()
      versions.set(project, id)
    }
    for (let number = 0; number < RUNS * SHARED; number++) {
      const run_id = uuid()
      const model = { id: uuid(), run_id, entity: 'acme', project: PROJECT, name: `run-${number}`, base_model: 'b' }
      await transaction
        .insertInto('models')
        .values({ ...model, next_step: 0, ...made })
        .execute()
      runs.push(run_id)
    }
  })
  return { versions, runs }
}
