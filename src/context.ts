import type { Logger } from 'pino'
import type { ArtifactStore } from './artifacts/artifact-store.ts'
import type { Authenticator } from './auth.ts'
import type { DeliveryWorker } from './automations/delivery-worker.ts'
import type { EndpointGuard } from './automations/endpoint-guard.ts'
import type { Sender } from './automations/send.ts'
import type { BodyReader } from './body-reader.ts'
import type { Settings } from './config.ts'
import type { BaseModels } from './inference/base-models.ts'
import type { InferenceEngine } from './inference/engine.ts'
import type { Metrics } from './metrics.ts'
import type { Retention } from './retention.ts'
import type { SecretBox } from './secrets/secret-box.ts'
import type { Database } from './storage/database.ts'
import type { FolderLock } from './storage/folder-lock.ts'
import type { Principal } from './storage/keys.ts'
import type { TrainingEngine } from './training/engine.ts'
import type { JobWorker } from './training/job-worker.ts'
import type { UsageCounter } from './usage-counter.ts'

/** The parts of one running service, made once from the settings; handlers reach everything through it. */
export interface Service {
  settings: Settings
  log: Logger
  database: Database
  artifacts: ArtifactStore
  baseModels: BaseModels
  inference: InferenceEngine
  training: TrainingEngine
  jobs: JobWorker
  deliveries: DeliveryWorker
  sender: Sender
  endpointGuard: EndpointGuard
  metrics: Metrics
  usage: UsageCounter
  bodies: BodyReader
  authenticator: Authenticator
  secrets: SecretBox
  retention: Retention
  /** Keeps other servers out of the data folder. */
  lock: FolderLock
}

/** What one request adds. */
export interface Context extends Service {
  /** Who calls. Public operations have none: reading it there throws. */
  principal: Principal
  requestId: string
  /** Whether the caller sent that id, rather than the service made it. */
  isRequestIdSent: boolean
  /** Aborted when the client goes away before the reply is complete. */
  signal: AbortSignal
}
