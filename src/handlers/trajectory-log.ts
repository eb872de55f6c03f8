import { createReadStream } from 'node:fs'
import { withContents } from '../artifacts/collect.ts'
import type { Context } from '../context.ts'
import { invalidValue } from '../errors.ts'
import type { Handler, RawBody } from '../spec/handler.ts'
import { findLatestCheckpoint, mergeCheckpointMetrics } from '../storage/models.ts'
import { addTrajectoryLog } from '../storage/trajectory-logs.ts'
import { summariseTrajectories, type TrajectorySummary } from '../training/trajectory-summary.ts'
import { requireModel } from './models.ts'

export const logTrajectories: Handler<'logTrajectories'> = async ({ path, body, raw }, context) => {
  const model = await requireModel(context, path.model_id)
  const { groups, trajectories, metrics } = requireReadable(
    raw.summary ?? summariseTrajectories(body.trajectory_groups),
  )
  const named = trajectories === 0 ? {} : toSplitMetrics(body.split, metrics)
  const step = await withBody(context, raw, (input, confirm) =>
    context.database.transaction().execute(async transaction => {
      await confirm()
      await requireModel(context, model.id, transaction)
      await addTrajectoryLog(transaction, { model_id: model.id, split: body.split, ...input })
      await mergeCheckpointMetrics(transaction, model.id, named)
      return (await findLatestCheckpoint(transaction, model.id))?.step ?? null
    }),
  )
  return {
    status: 200,
    body: {
      model_id: model.id,
      split: body.split,
      step,
      num_groups: groups,
      num_trajectories: trajectories,
      metrics: named,
    },
  }
}

/** Where a body is kept: as text in its row, or by content in the artifact store. */
type KeptBody = { input: string | null; input_sha256: string | null }

/**
 * Keeps a body with trajectories as it came: a small one in its row, so that a creation is one commit, a spooled one in the artifact
 * store. `write` refers to it as withContents says.
 */
export async function withBody<Result>(
  context: Context,
  raw: RawBody,
  write: (kept: KeptBody, confirm: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if (!raw.file) return write({ input: raw.text, input_sha256: null }, async () => {})
  const content = await context.artifacts.put(createReadStream(raw.file))
  return withContents(context, [content], confirm => write({ input: null, input_sha256: content.sha256 }, confirm))
}

/** 422 where the trajectories cannot be trained on. */
export function requireReadable(summary: TrajectorySummary): TrajectorySummary {
  if (summary.fault) throw invalidValue(['body', ...summary.fault.loc], summary.fault.message)
  return summary
}

function toSplitMetrics(split: string, metrics: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${split}/${name}`, value]))
}
