/** What is on record of runs: series of metrics and logged trajectories. */
import { isOf, type Json, replyItems, replyJson } from './change-replies.ts'
import { jsonOf, requestJson, requestQuery } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { beside } from './held-out-zoo-tools.ts'

const ofJobs: Fault[] = [
  {
    name: 'run-values-one-for-a-job',
    rule: 'getRunMetrics: every optimiser step writes its values',
    breaks: 'Each job leaves one value of the loss only.',
    ...replyJson('getRunMetrics', body => {
      const { loss } = body.metrics
      if (!loss) return
      body.metrics.loss = loss.filter((point: Json, index: number) => loss[index + 1]?.step !== point.step)
      body.num_points.loss = body.metrics.loss.length
    }),
  },
  {
    name: 'run-values-step-before',
    rule: 'getRunMetrics: with the step of the checkpoint that the job makes',
    breaks: 'Values of training have the step of the checkpoint that the job began with.',
    ...replyJson('getRunMetrics', body => {
      for (const [name, points] of Object.entries<Json>(body.metrics))
        if (!name.includes('/')) for (const point of points) point.step = Math.max(0, point.step - 1)
    }),
  },
  {
    name: 'run-times-in-seconds',
    rule: 'getRunMetrics: times are written with milliseconds',
    breaks: 'Times of values have no milliseconds.',
    ...replyJson('getRunMetrics', body => {
      for (const points of Object.values<Json>(body.metrics))
        for (const point of points) point.time = point.time.replace(/\.\d+Z$/, 'Z')
    }),
  },
  {
    name: 'checkpoint-metrics-summed',
    rule: 'listCheckpoints: metrics are means over the job',
    breaks: 'The loss of a checkpoint is three times its mean.',
    ...replyItems('listCheckpoints', item => {
      if (item.metrics.loss !== undefined) item.metrics.loss *= 3
    }),
  },
  {
    name: 'rl-data-listed',
    rule: 'createRlTrainingJob listTrajectories: what RL jobs were created with is not listed',
    breaks: 'What RL jobs were created with is kept as if it were logged.',
    async onReply(reply, request, context) {
      if (!isOf('createRlTrainingJob', context) || reply.status !== 200) return reply
      const { model_id, trajectory_groups } = jsonOf(request)
      const path = beside(request, `/v1/preview/models/${model_id}/log`)
      const { 'idempotency-key': _, 'content-length': __, ...headers } = request.headers
      const body = Buffer.from(JSON.stringify({ split: 'train', trajectory_groups }))
      await context.send({ method: 'POST', path, headers, body })
      return reply
    },
  },
]

/** These show without a job. */
const quietFaults: Fault[] = [
  {
    name: 'run-series-only-the-first',
    rule: 'getRunMetrics: has_more where the run has more metrics',
    breaks: 'Only the first 100 series of a run can be read.',
    ...replyJson('getRunMetrics', body => ({ ...body, has_more: false })),
  },
  {
    name: 'run-series-after-name-inclusive',
    rule: 'getRunMetrics: after_name gives the names that come after it',
    breaks: 'A metric called m099 is given twice.',
    ...requestQuery('getRunMetrics', query => {
      const after = query.get('after_name') ?? ''
      if (/\/m\d+$/.test(after)) query.set('after_name', after.slice(0, -1))
    }),
  },
  {
    name: 'metric-names-of-200-lost',
    rule: 'logTrajectories: names of up to 200 characters count',
    breaks: 'A metric whose name has 200 characters does not count.',
    ...replyJson('logTrajectories', body => {
      for (const name of Object.keys(body.metrics)) if (name.length >= 200) delete body.metrics[name]
    }),
  },
  {
    name: 'metric-names-cut',
    rule: 'logTrajectories: names of more than 200 characters do not count',
    breaks: 'Names of more than 200 characters are cut.',
    ...requestJson('logTrajectories', body => {
      if (!Array.isArray(body.trajectory_groups)) return
      for (const trajectory of body.trajectory_groups.flatMap((group: Json) => group?.trajectories ?? [])) {
        const entries = Object.entries(trajectory?.metrics ?? {}).map(([name, value]) => [name.slice(0, 200), value])
        if (trajectory?.metrics) trajectory.metrics = Object.fromEntries(entries)
      }
    }),
  },
  {
    name: 'logged-further-histories-lost',
    rule: 'listTrajectories: additional_histories as they were logged',
    breaks: 'Further histories of a trajectory are not kept.',
    ...replyItems('listTrajectories', item => ({ ...item, additional_histories: [] })),
  },
  {
    name: 'logged-tools-of-histories-lost',
    rule: 'listTrajectories: additional_histories with their tools',
    breaks: 'Further histories lose the tools that were offered in them.',
    ...replyItems('listTrajectories', item => ({
      ...item,
      additional_histories: item.additional_histories.map(({ tools: _, ...history }: Json) => history),
    })),
  },
  {
    name: 'logged-final-version-lost',
    rule: 'listTrajectories: final_policy_version as it was logged',
    breaks: 'final_policy_version is always null.',
    ...replyItems('listTrajectories', item => ({ ...item, final_policy_version: null })),
  },
  {
    name: 'logged-step-0-without-checkpoint',
    rule: 'listTrajectories: step is null where the model had no checkpoint',
    breaks: 'A trajectory logged without a checkpoint has the step 0.',
    ...replyItems('listTrajectories', item => ({ ...item, step: item.step ?? 0 })),
  },
]

export const runRecordFaults: Fault[] = [
  ...ofJobs.map((fault): Fault => ({ needs: ['training'], ...fault })),
  ...quietFaults,
]
