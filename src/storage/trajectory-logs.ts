import { v7 as uuid } from 'uuid'
import type { Queries } from './database.ts'

/** Keeps one call's trajectories: its body as text, or by content in the artifact store. */
export async function addTrajectoryLog(
  queries: Queries,
  log: { model_id: string; split: string; input: string | null; input_sha256: string | null },
): Promise<void> {
  await queries
    .insertInto('trajectory_logs')
    .values({ id: uuid(), created_at: new Date().toISOString(), ...log })
    .execute()
}
