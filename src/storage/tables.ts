/**
 * The tables, as rows. Times are RFC 3339 texts, booleans 0 or 1, JSON is text: the subset that SQLite and Postgres share.
 * Every `id` is a UUID of version 7, so ordering by id is ordering by creation and a cursor survives the deletion of its row.
 */
export interface Tables {
  users: { name: string; created_at: string }
  teams: { name: string; created_at: string }
  members: { team: string; user: string; role: 'member' | 'admin' }
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
  trajectory_logs: {
    id: string
    model_id: string
    split: string
    input: string | null
    input_sha256: string | null
    created_at: string
  }
  collections: { id: string; entity: string; project: string; name: string; next_version: number }
  artifact_versions: ArtifactVersionRow
  artifact_files: { version_id: string; path: string; sha256: string; size: number }
  artifact_aliases: { collection_id: string; alias: string; version_id: string }
  scorers: ScorerRow
  usage: UsageRow
}

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
