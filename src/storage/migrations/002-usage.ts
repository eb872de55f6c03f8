import type { Kysely } from 'kysely'
import { sql } from 'kysely'

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(database)
}

/** Nothing is referred to: usage outlives the keys, models and projects that it names. */
const STATEMENTS = [
  `create table usage (id text primary key, day text not null, entity text not null, project text not null, model text not null,
     api_key_id text not null, requests bigint not null, prompt_tokens bigint not null, completion_tokens bigint not null,
     cached_tokens bigint not null, unique (day, entity, project, model, api_key_id))`,
  `create index usage_by_entity on usage (entity, id)`,
]
