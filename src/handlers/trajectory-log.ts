import { createReadStream } from 'node:fs'
import type { components } from '../../generated/schema.d.ts'
import { withContents } from '../artifacts/collect.ts'
import type { Context } from '../context.ts'
import { invalidValue } from '../errors.ts'
import type { Handler, RawBody } from '../spec/handler.ts'
import { mergeCheckpointMetrics } from '../storage/models.ts'
import { toPage } from '../storage/page.ts'
import { addRunMetrics } from '../storage/runs.ts'
import { addTrajectoryLog, listLogParts, toTrajectoryId } from '../storage/trajectory-logs.ts'
import { type LoggedTrajectory, readLogParts } from '../training/logged-trajectories.ts'
import { summariseTrajectories, type TrajectorySummary } from '../training/trajectory-summary.ts'
import { requireModel } from './models.ts'

export const logTrajectories: Handler<'logTrajectories'> = async ({ path, body, raw }, context) => {
  const { id: model_id } = await requireModel(context, path.model_id)
  const { split } = body
  const summary = requireReadable(raw.summary ?? summariseTrajectories(body.trajectory_groups))
  const { groups: num_groups, trajectories: num_trajectories } = summary
  const metrics = toSplitMetrics(split, summary)
  const step = await withBody(context, { text: raw.text, file: raw.trajectories?.file ?? null }, (kept, confirm) =>
    context.database.transaction().execute(async transaction => {
      await confirm()
      const model = await requireModel(context, model_id, transaction)
      const step = await mergeCheckpointMetrics(transaction, model_id, metrics)
      const file_size = raw.trajectories?.size ?? null
      await addTrajectoryLog(transaction, { model_id, split, step, num_trajectories, file_size, ...kept })
      // Where all checkpoints were deleted, the values belong to the last one that there was.
      const runStep = step ?? Math.max(model.next_step - 1, 0)
      await addRunMetrics(transaction, model, { step: runStep, metrics, author: context.principal.user })
      return step
    }),
  )
  return { status: 200, body: { model_id, split, step, num_groups, num_trajectories, metrics } }
}

export const listTrajectories: Handler<'listTrajectories'> = async ({ path, query }, context) => {
  const model = await requireModel(context, path.model_id)
  const { parts, hasMore } = await listLogParts(context.database, model.id, query)
  const { items, isWhole } = await readLogParts(context, parts, query.order === 'desc')
  return { status: 200, body: toPage(items.map(toItem), hasMore || !isWhole) }
}

/** Where a body is kept: as text in its row, or by content in the artifact store. */
type KeptBody = { input: string | null; input_sha256: string | null }

/**
 * Keeps a body with trajectories: a small one as text in its row, so that a creation is one commit, a file made of a spooled one in the
 * artifact store. `write` refers to it as withContents says.
 */
export async function withBody<Result>(
  context: Context,
  { text, file }: Pick<RawBody, 'text' | 'file'>,
  write: (kept: KeptBody, confirm: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if (!file) return write({ input: text, input_sha256: null }, async () => {})
  const content = await context.artifacts.put(createReadStream(file))
  return withContents(context, [content], confirm => write({ input: null, input_sha256: content.sha256 }, confirm))
}

/** 422 where the trajectories cannot be trained on. */
export function requireReadable(summary: TrajectorySummary): TrajectorySummary {
  if (summary.fault) throw invalidValue(['body', ...summary.fault.loc], summary.fault.message)
  return summary
}

/** The means and counts as metrics of a split; none of nothing. */
function toSplitMetrics(split: string, { groups, trajectories, metrics }: TrajectorySummary): Record<string, number> {
  if (trajectories === 0) return {}
  const all = { ...metrics, num_groups: groups, num_trajectories: trajectories }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [`${split}/${name}`, value]))
}

function toItem(logged: LoggedTrajectory): components['schemas']['LoggedTrajectory'] {
  const { log, number, group, isShort } = logged
  // As the contract of logTrajectories has it, which the body was held to.
  const trajectory = logged.trajectory as components['schemas']['Trajectory']
  return {
    id: toTrajectoryId(log.id, number),
    split: log.split,
    step: log.step,
    group,
    messages_and_choices: (trajectory.messages_and_choices ?? []) as Record<string, unknown>[],
    tools: (trajectory.tools ?? []) as Record<string, unknown>[],
    additional_histories: (trajectory.additional_histories ?? []) as Record<string, unknown>[],
    reward: trajectory.reward ?? 0,
    metrics: trajectory.metrics ?? {},
    metadata: trajectory.metadata ?? {},
    logs: trajectory.logs ?? [],
    initial_policy_version: trajectory.initial_policy_version ?? null,
    final_policy_version: trajectory.final_policy_version ?? null,
    start_time: trajectory.start_time ?? null,
    is_shortened: isShort,
    created_at: log.created_at,
  }
}
