import type { Generated } from 'kysely'

/**
 * The tables, as rows. Times are RFC 3339 texts, booleans 0 or 1, JSON is text: the subset that SQLite and Postgres share.
 * Every `id` is a UUID of version 7, so ordering by id is ordering by creation and a cursor survives the deletion of its row.
 */
export interface Tables {
  users: { name: string; created_at: string }
  teams: { name: string; created_at: string; plan: Generated<Plan> }
  members: { team: string; user: string; role: 'member' | 'admin' }
  /** What a member administers besides: a project or a registry of the team, by name. */
  grants: { team: string; user: string; kind: 'project' | 'registry'; name: string }
  api_keys: { id: string; hash: string; user: string; team: string; name: string; created_at: string }
  models: ModelRow
  checkpoints: CheckpointRow
  training_jobs: TrainingJobRow
  training_events: TrainingEventRow
  idempotency_keys: {
    team: string
    operation: string
    key: string
    body_hash: string
    job_id: string
    created_at: string
  }
  trajectory_logs: TrajectoryLogRow
  collections: { id: string; entity: string; project: string; name: string; next_version: number }
  artifact_versions: ArtifactVersionRow
  artifact_files: { version_id: string; path: string; sha256: string; size: number }
  artifact_aliases: { collection_id: string; alias: string; version_id: string }
  scorers: ScorerRow
  usage: UsageRow
  secrets: SecretRow
  run_metrics: RunMetricRow
  registry_links: RegistryLinkRow
  webhooks: WebhookRow
  automations: AutomationRow
  watched_scopes: WatchedScopeRow
  automation_executions: AutomationExecutionRow
  webhook_deliveries: WebhookDeliveryRow
  webhook_attempts: WebhookAttemptRow
}

/** `free` switches webhooks and automations off. */
export type Plan = 'free' | 'paid'

export interface ModelRow {
  id: string
  entity: string
  project: string
  name: string
  base_model: string
  run_id: string
  next_step: number
  created_by: string
  created_at: string
}

export interface CheckpointRow {
  id: string
  model_id: string
  step: number
  version_id: string
  metrics: string
  created_at: string
}

export type JobStatus = 'QUEUED' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED'

export interface TrainingJobRow {
  id: string
  entity: string
  model_id: string
  type: 'rl' | 'sft'
  status: JobStatus
  /** The wire's `config` and `experimental_config`, as sent. */
  config: string
  /** A small request body, kept in the row so that creating a job is one commit. */
  input: string | null
  /** A spooled request body, by content, in the artifact store. */
  input_sha256: string | null
  /** SFT: the resolved artifact version. */
  input_version_id: string | null
  /** The user who created it; null in rows from before it was kept. */
  created_by: string | null
  attempt: number
  lease_owner: string | null
  lease_until: number | null
  /** How often a worker vanished with this job: its process died, or it stood still for longer than a lease. */
  lost_leases: number
  training_start: string | null
  training_end: string | null
  error_message: string | null
  created_at: string
}

export type EventType = 'training_started' | 'gradient_step' | 'training_ended' | 'training_failed'

export interface TrainingEventRow {
  id: string
  job_id: string
  /** 0 for training_started, then one more for each event: a job that is run again cannot repeat one. */
  number: number
  type: EventType
  data: string
  created_at: string
}

/** One call of logTrajectories. */
export interface TrajectoryLogRow {
  id: string
  model_id: string
  split: string
  /** Of the newest checkpoint at that time; null where the model had none left, and in rows from before it was kept. */
  step: number | null
  num_trajectories: number
  /** A small body as it was sent. */
  input: string | null
  /** What a spooled body held, as a trajectory file in the artifact store. */
  input_sha256: string | null
  /** Size of that file in bytes, whose end is its index; null in rows from before there was one, which cannot be listed. */
  file_size: number | null
  created_at: string
}

export interface ArtifactVersionRow {
  id: string
  collection_id: string
  version: number
  type: string
  metadata: string
  tags: string
  digest: string
  created_by: string
  created_at: string
}

export interface ScorerRow {
  id: string
  entity: string
  project: string
  object_id: string
  digest: string
  version_index: number
  name: string
  description: string | null
  content: string
  created_at: string
  deleted_at: string | null
}

/** One line for each day, team, project, model and key. */
export interface UsageRow {
  id: string
  /** YYYY-MM-DD, in UTC. */
  day: string
  entity: string
  /** Empty: no project was named. */
  project: string
  /** The id of a base model, or `<entity>/<project>/<name>` of a trained one. */
  model: string
  api_key_id: string
  requests: number
  prompt_tokens: number
  completion_tokens: number
  cached_tokens: number
}

export interface SecretRow {
  id: string
  entity: string
  name: string
  /** Which master key sealed it. */
  key_id: string
  /** See SecretBox. */
  sealed: string
  created_at: string
  updated_at: string
}

export interface RunMetricRow {
  id: string
  run_id: string
  model_id: string
  name: string
  /** Of the checkpoint that the value belongs to. */
  step: number
  value: number
  created_at: string
}

export interface RegistryLinkRow {
  id: string
  entity: string
  registry: string
  collection: string
  version_id: string
  created_by: string
  created_at: string
}

export interface WebhookRow {
  id: string
  entity: string
  name: string
  endpoint_url: string
  /** Names of secrets of the team. */
  access_token_secret: string | null
  signing_secret: string | null
  /** When the first of the failures began after which nothing succeeded; null while it works. */
  failing_since: string | null
  disabled_at: string | null
  disabled_reason: string | null
  created_by: string
  created_at: string
  updated_at: string
}

export type AutomationEventType = 'ADD_ARTIFACT_ALIAS' | 'ADD_ARTIFACT_TAG' | 'LINK_ARTIFACT' | 'RUN_METRIC'
export type ThresholdOperator = '>' | '>=' | '<' | '<='

export interface AutomationRow {
  id: string
  entity: string
  name: string
  description: string | null
  enabled: 0 | 1
  scope_type: 'registry' | 'project'
  /** Name of the registry or project. */
  scope_name: string
  event_type: AutomationEventType
  alias_regex: string | null
  metric: string | null
  operator: ThresholdOperator | null
  threshold: number | null
  filter_user: string | null
  filter_run_name_regex: string | null
  webhook_id: string
  /** The payload as it was given, with its variables, as JSON. */
  payload: string
  created_by: string
  created_at: string
  updated_at: string
}

/** There is one for each scope and type of event that an enabled automation watches: an event that has none costs no more than seeing so. */
export interface WatchedScopeRow extends Pick<AutomationRow, 'entity' | 'scope_type' | 'scope_name' | 'event_type'> {
  /** A new UUID whenever an automation of the scope changes: what was made of them before is stale then, in every process. */
  stamp: string
}

export type ExecutionStatus = 'Pending' | 'Finished' | 'Failed'

export interface AutomationExecutionRow {
  id: string
  automation_id: string
  event_type: AutomationEventType
  /** What happened, as JSON: the parts of the contract's AutomationEvent. */
  event: string
  run_id: string | null
  status: ExecutionStatus
  error: string | null
  created_at: string
  finished_at: string | null
}

/** The row is the queue. */
export interface WebhookDeliveryRow {
  id: string
  webhook_id: string
  execution_id: string | null
  event_type: AutomationEventType
  /** The automation's payload as it was when the event happened, with its variables: they and the secrets are put in when it is sent. */
  payload: string
  /** The variables' values at that time, as a JSON object; secrets are not among them. */
  variables: string
  status: ExecutionStatus
  /** Attempts since it was created or redelivered: the place in the retry schedule. */
  round_attempts: number
  /** All attempts. */
  attempts: number
  /** Unix time in milliseconds; null when it has ended. */
  next_attempt_at: number | null
  lease_owner: string | null
  lease_until: number | null
  error: string | null
  /** HTTP status of the last attempt that got one. */
  response_status: number | null
  created_at: string
  finished_at: string | null
}

export interface WebhookAttemptRow {
  id: string
  delivery_id: string
  /** From 1. */
  number: number
  duration_ms: number
  response_status: number | null
  /** As JSON, and as text of at most 64 KiB, both with secrets masked. */
  response_headers: string | null
  response_body: string | null
  error: string | null
  created_at: string
}
