import type { Kysely } from 'kysely'
import { sql } from 'kysely'

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(database)
}

const STATEMENTS = [
  `alter table teams add column plan text not null default 'paid'`,
  `create table grants (team text not null, "user" text not null, kind text not null, name text not null,
     primary key (team, "user", kind, name), foreign key (team, "user") references members on delete cascade)`,
  `create table secrets (id text primary key, entity text not null references teams, name text not null, key_id text not null,
     sealed text not null, created_at text not null, updated_at text not null, unique (entity, name))`,
  `create table run_metrics (id text primary key, run_id text not null, model_id text not null references models on delete cascade,
     name text not null, step integer not null, value double precision not null, created_at text not null)`,
  `create index run_metrics_by_run on run_metrics (run_id, name, id)`,
  `create index run_metrics_by_model on run_metrics (model_id)`,
  `create table registry_links (id text primary key, entity text not null, registry text not null, collection text not null,
     version_id text not null references artifact_versions on delete cascade, created_by text not null, created_at text not null,
     unique (entity, registry, collection, version_id))`,
  `create index registry_links_by_collection on registry_links (entity, registry, collection, id)`,
  `create index registry_links_by_version on registry_links (version_id)`,
  `create table webhooks (id text primary key, entity text not null references teams, name text not null, endpoint_url text not null,
     access_token_secret text, signing_secret text, failing_since text, disabled_at text, disabled_reason text,
     created_by text not null, created_at text not null, updated_at text not null, unique (entity, name))`,
  `create table automations (id text primary key, entity text not null references teams, name text not null, description text,
     enabled integer not null, scope_type text not null, scope_name text not null, event_type text not null, alias_regex text, metric text,
     operator text, threshold double precision, filter_user text, filter_run_name_regex text,
     webhook_id text not null references webhooks, payload text not null, created_by text not null, created_at text not null,
     updated_at text not null)`,
  `create index automations_by_scope on automations (entity, scope_type, scope_name, event_type) where enabled = 1`,
  `create index automations_by_webhook on automations (webhook_id)`,
  `create table automation_executions (id text primary key, automation_id text not null references automations on delete cascade,
     event_type text not null, event text not null, run_id text, status text not null, error text, created_at text not null,
     finished_at text)`,
  `create index automation_executions_by_automation on automation_executions (automation_id, id)`,
  `create index automation_executions_by_run on automation_executions (automation_id, run_id, created_at) where run_id is not null`,
  `create table webhook_deliveries (id text primary key, webhook_id text not null references webhooks on delete cascade,
     execution_id text references automation_executions on delete set null, event_type text not null, payload text not null,
     variables text not null, status text not null, round_attempts integer not null, attempts integer not null, next_attempt_at bigint,
     lease_owner text, lease_until bigint, error text, response_status integer, created_at text not null, finished_at text)`,
  `create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id)`,
  `create index webhook_deliveries_by_execution on webhook_deliveries (execution_id)`,
  `create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where status = 'Pending'`,
  `create index webhook_deliveries_pending on webhook_deliveries (webhook_id, next_attempt_at) where status = 'Pending'`,
  `create table webhook_attempts (id text primary key, delivery_id text not null references webhook_deliveries on delete cascade,
     number integer not null, duration_ms integer not null, response_status integer, response_headers text, response_body text,
     error text, created_at text not null, unique (delivery_id, number))`,
]
