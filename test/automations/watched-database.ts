/** A database with things to watch: two teams, a webhook, artifact versions and a run, and what was recorded in it. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuid } from 'uuid'
import { type ChangeEvent, recordEvent } from '../../src/automations/record-event.ts'
import { insertAutomation, type NewAutomation } from '../../src/storage/automations.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { createDataDir } from '../server/start.ts'

const AT = '2026-11-21T10:15:30.127Z'

export interface WatchedDatabase {
  database: Database
  file: string
  webhookId: string
  /** Creates an enabled automation of team `acme`; returns its id. */
  watch(name: string, automation: Partial<NewAutomation>): Promise<string>
  /** An artifact version, `v<N>` of its name; returns its id. */
  addVersion(entity: string, project: string, name: string, metadata?: object): Promise<string>
  link(entity: string, registry: string, collection: string, versionId: string): Promise<void>
  /** A model with its run; returns the run's id. */
  addRun(entity: string, project: string, name: string, user: string): Promise<string>
  record(event: ChangeEvent): Promise<void>
  /** What was recorded since the last call: names of the automations, the executions and the deliveries, oldest first. */
  take(): Promise<{ names: string[]; executions: Taken[]; deliveries: TakenDelivery[] }>
  close(): Promise<void>
}

interface Taken {
  id: string
  event: Record<string, unknown>
  status: string
  error: string | null
}

interface TakenDelivery {
  webhook_id: string
  execution_id: string | null
  event_type: string
  payload: unknown
  variables: Record<string, unknown>
  status: string
}

export async function openWatchedDatabase(): Promise<WatchedDatabase> {
  const folder = await createDataDir()
  const database = await openDatabase(folder)
  const webhookId = uuid()
  for (const name of ['acme', 'other']) await database.insertInto('teams').values({ name, created_at: AT }).execute()
  const webhook = { entity: 'acme', name: 'w', endpoint_url: 'https://example.com', created_by: 'ada' }
  await database
    .insertInto('webhooks')
    .values({ id: webhookId, ...webhook, created_at: AT, updated_at: AT })
    .execute()

  async function watch(name: string, automation: Partial<NewAutomation>): Promise<string> {
    const row = await database.transaction().execute(transaction =>
      insertAutomation(transaction, {
        entity: 'acme',
        name,
        description: null,
        enabled: 1,
        scope_type: 'project',
        scope_name: 'p',
        event_type: 'ADD_ARTIFACT_ALIAS',
        alias_regex: null,
        metric: null,
        operator: null,
        threshold: null,
        filter_user: null,
        filter_run_name_regex: null,
        webhook_id: webhookId,
        payload: '{}',
        created_by: 'ada',
        ...automation,
      }),
    )
    return row.id
  }

  async function addVersion(entity: string, project: string, name: string, metadata: object = {}): Promise<string> {
    const where = { entity, project, name }
    await database
      .insertInto('collections')
      .values({ id: uuid(), ...where, next_version: 0 })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    const collection = await database
      .updateTable('collections')
      .set(eb => ({ next_version: eb('next_version', '+', 1) }))
      .where(eb => eb.and(where))
      .returningAll()
      .executeTakeFirstOrThrow()
    const id = uuid()
    const version = collection.next_version - 1
    const digest = `${name}-${version}`
    const content = { type: 'dataset', metadata: JSON.stringify(metadata), tags: '["t"]', digest }
    await database
      .insertInto('artifact_versions')
      .values({ id, collection_id: collection.id, version, ...content, created_by: 'ada', created_at: AT })
      .execute()
    return id
  }

  async function take() {
    const executions = await database
      .selectFrom('automation_executions')
      .innerJoin('automations', 'automations.id', 'automation_executions.automation_id')
      .selectAll('automation_executions')
      .select('automations.name')
      .orderBy('automation_executions.id')
      .execute()
    const deliveries = await database.selectFrom('webhook_deliveries').selectAll().orderBy('id').execute()
    await database.deleteFrom('webhook_deliveries').execute()
    await database.deleteFrom('automation_executions').execute()
    return {
      names: executions.map(({ name }) => name).sort(),
      executions: executions.map(({ id, event, status, error }) => ({ id, event: JSON.parse(event), status, error })),
      deliveries: deliveries.map(({ webhook_id, execution_id, event_type, payload, variables, status }) => ({
        ...{ webhook_id, execution_id, event_type, status },
        payload: JSON.parse(payload),
        variables: JSON.parse(variables),
      })),
    }
  }

  return {
    database,
    file: join(folder, 'trainyard.sqlite'),
    webhookId,
    watch,
    addVersion,
    take,
    async link(entity, registry, collection, version_id) {
      const row = { id: uuid(), entity, registry, collection, version_id, created_by: 'ada', created_at: AT }
      await database.insertInto('registry_links').values(row).execute()
    },
    async addRun(entity, project, name, user) {
      const run_id = uuid()
      const model = { id: uuid(), run_id, entity, project, name, base_model: 'tiny-chat', next_step: 0 }
      await database
        .insertInto('models')
        .values({ ...model, created_by: user, created_at: AT })
        .execute()
      return run_id
    },
    record: event => database.transaction().execute(transaction => recordEvent(transaction, event)),
    async close() {
      await database.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
