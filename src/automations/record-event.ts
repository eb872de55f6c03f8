import type { Queries } from '../storage/database.ts'

/** Something that happened to an artifact version or a run, as far as automations care. */
export type ChangeEvent =
  | { type: 'ADD_ARTIFACT_ALIAS'; author: string; versionId: string; alias: string }
  | { type: 'ADD_ARTIFACT_TAG'; author: string; versionId: string; tag: string }
  | { type: 'LINK_ARTIFACT'; author: string; versionId: string; entity: string; registry: string; collection: string }
  /** `metrics` are all values that one write brought. */
  | { type: 'RUN_METRIC'; author: string; runId: string; step: number; metrics: Record<string, number> }

/**
 * Records what an event sets off: for each automation that watches for it, an execution and a delivery, to be sent soon.
 * Call it in the transaction of the change, after the change: nothing fires for what is rolled back, and nothing is lost.
 */
export async function recordEvent(_queries: Queries, _event: ChangeEvent): Promise<void> {}
