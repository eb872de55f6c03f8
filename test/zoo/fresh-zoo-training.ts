/** Fresh faults in training jobs and their events. */
import type { Fault } from './fault.ts'
import {
  beside,
  bodyOf,
  isObject,
  type Json,
  look,
  objectsOf,
  onBody,
  onSuccess,
  refusal,
  remembered,
  textOf,
} from './held-out-zoo-tools.ts'

/** The body with other trajectories; undefined where none changed, or where there is something else in their place. */
function withTrajectories(body: Json, change: (trajectory: Json) => Json): Json | undefined {
  let isChanged = false
  const changeOne = (trajectory: unknown) => {
    const changed = isObject(trajectory) ? change(trajectory) : trajectory
    isChanged ||= changed !== trajectory
    return changed
  }
  const given = body['trajectory_groups']
  if (!Array.isArray(given)) return undefined
  const groups = given.map((group: unknown) => {
    const trajectories = isObject(group) ? group['trajectories'] : undefined
    return Array.isArray(trajectories) ? { ...(group as Json), trajectories: trajectories.map(changeOne) } : group
  })
  return isChanged ? { ...body, trajectory_groups: groups } : undefined
}

function isChoice(element: Json): boolean {
  return isObject(element['message']) && !('role' in element)
}

/** Where the data of a job is, or null where that cannot be read. */
function dataOf(body: Json): { path: string; version: string } | null {
  const [, entity, project, name, version] =
    /^[^:]+:\/\/\/?([^/:]+)\/([^/:]+)\/([^/:]+):([^/:]+)$/.exec(textOf(body['training_data_url'])) ?? []
  if (!entity || !project || !name || !version) return null
  const [owner, place, artifact, number] = [entity, project, name, version].map(encodeURIComponent)
  return { path: `/v1/preview/artifacts/${owner}/${place}/${artifact}/versions/${number}`, version }
}

export const freshTrainingFaults: Fault[] = [
  {
    name: 'fresh-cancel-replies-before-it-acts',
    needs: ['training'],
    rule: 'cancelTrainingJob: the job, `CANCELLED` or as it had ended',
    breaks: 'The reply has the job as it was before it was cancelled.',
    onReply: onSuccess(['cancelTrainingJob'], (job, _, context) => {
      const cancelled = remembered<boolean>(context, 'cancelled')
      if (job['status'] !== 'CANCELLED' || cancelled.has(textOf(job['id']))) return job
      cancelled.set(textOf(job['id']), true)
      const status = job['training_start'] === null ? 'QUEUED' : 'RUNNING'
      return { ...job, status, training_end: null, error_message: null }
    }),
  },
  {
    name: 'fresh-empty-groups-not-skipped',
    needs: ['training'],
    rule: 'Schema TrainingEventData num_groups_skipped: number of groups that gave nothing to train; in listTrainingJobEvents',
    breaks: 'Groups without any trajectory are not counted.',
    onReply: onSuccess(['createRlTrainingJob', 'listTrainingJobEvents'], (value, request, context) => {
      const empties = remembered<number>(context, 'empties')
      if (context.operationId === 'createRlTrainingJob') {
        const groups = objectsOf(bodyOf(request)['trajectory_groups'])
        empties.set(textOf(value['id']), groups.filter(group => objectsOf(group['trajectories']).length === 0).length)
        return value
      }
      const count = empties.get((context.path['training_job_id'] ?? '').toLowerCase()) ?? 0
      const events = objectsOf(value['data']).map(event => {
        const data = event['data']
        if (!isObject(data) || typeof data['num_groups_skipped'] !== 'number') return event
        return { ...event, data: { ...data, num_groups_skipped: Math.max(0, data['num_groups_skipped'] - count) } }
      })
      return { ...value, data: events }
    }),
  },
  {
    name: 'fresh-further-histories-untrained',
    needs: ['training'],
    rule: 'createRlTrainingJob, Schema Trajectory additional_histories: they are trained with the same advantage',
    breaks: 'They are judged and then left out of the training.',
    onRequest: onBody(['createRlTrainingJob'], body =>
      withTrajectories(body, trajectory => {
        const histories = trajectory['additional_histories']
        return Array.isArray(histories) && histories.every(isObject) && histories.length > 0
          ? { ...trajectory, additional_histories: [] }
          : trajectory
      }),
    ),
  },
  {
    name: 'fresh-message-after-last-choice-refused',
    needs: ['training'],
    rule: 'createRlTrainingJob, Schema Trajectory messages_and_choices: what follows the last choice is cut off',
    breaks: 'A trajectory that goes on after its last choice is a 422.',
    onRequest(request, context) {
      if (context.operationId !== 'createRlTrainingJob' || !request.headers['authorization']) return request
      const groups = objectsOf(bodyOf(request)['trajectory_groups'])
      const goesOn = groups
        .flatMap(group => objectsOf(group['trajectories']))
        .map(trajectory => objectsOf(trajectory['messages_and_choices']))
        .some(elements => elements.some(isChoice) && !isChoice(elements.at(-1)!))
      const loc = ['body', 'trajectory_groups', '0', 'trajectories', '0', 'messages_and_choices']
      return goesOn ? refusal(request, 422, 'The last element should be a choice', loc) : request
    },
  },
  {
    name: 'fresh-refused-choices-untrained',
    needs: ['training'],
    rule: 'createRlTrainingJob, Schema TrajectoryLogprobs: training reads `content`, or `refusal` when there is no content',
    breaks: 'A choice that has only those of a refusal counts as one without log-probabilities.',
    onRequest: onBody(['createRlTrainingJob'], body =>
      withTrajectories(body, trajectory => {
        const elements = trajectory['messages_and_choices']
        const isRefused = (element: unknown) => {
          const logprobs = isObject(element) ? element['logprobs'] : undefined
          return isObject(logprobs) && !logprobs['content'] && Array.isArray(logprobs['refusal'])
        }
        if (!Array.isArray(elements) || !elements.some(isRefused)) return trajectory
        const plain = elements.map(element => (isRefused(element) ? { ...element, logprobs: null } : element))
        return { ...trajectory, messages_and_choices: plain }
      }),
    ),
  },
  {
    name: 'fresh-one-name-of-training-files',
    needs: ['training'],
    rule: 'createSftTrainingJob training_data_url: when there is no `trajectories.jsonl`, `train.jsonl` or the only other `.jsonl` file is read',
    breaks: 'A version without `trajectories.jsonl` is a 422.',
    async onRequest(request, context) {
      const data = context.operationId === 'createSftTrainingJob' ? dataOf(bodyOf(request)) : null
      if (!data) return request
      const reply = await look(request, context, beside(request, data.path))
      const files = objectsOf(bodyOf(reply)['files'])
      if (reply.status !== 200 || files.some(({ path }) => path === 'trajectories.jsonl')) return request
      return refusal(request, 422, 'There is no trajectories.jsonl.', ['body', 'training_data_url'])
    },
  },
  {
    name: 'fresh-training-data-by-number-only',
    needs: ['training'],
    rule: 'createSftTrainingJob: a URI with `<version or alias>` names a version wherever a URI is asked',
    breaks: 'Data that is named by an alias, such as `latest`, cannot be found.',
    onRequest(request, context) {
      const data = context.operationId === 'createSftTrainingJob' ? dataOf(bodyOf(request)) : null
      if (!data || /^v\d+$/.test(data.version) || !request.headers['authorization']) return request
      return refusal(request, 400, `There is no version ${data.version}.`, ['body', 'training_data_url'])
    },
  },
  {
    name: 'fresh-auto-batch-is-everything',
    needs: ['training'],
    rule: 'createSftTrainingJob, Schema SftConfig batch_size: `auto` and null are 2',
    breaks: '`auto` takes all conversations as one batch.',
    onRequest: onBody(['createSftTrainingJob'], body => {
      const config = body['config']
      if (!isObject(config) || config['batch_size'] !== 'auto') return undefined
      return { ...body, config: { ...config, batch_size: 1000 } }
    }),
  },
  {
    name: 'fresh-attempts-of-skipped-groups-uncounted',
    needs: ['training'],
    rule: "Schema TrainingEventData num_trajectories: number of trajectories in the job's data; in listTrainingJobEvents",
    breaks: 'Those of groups whose rewards are all equal are not counted.',
    onReply: onSuccess(['createRlTrainingJob', 'listTrainingJobEvents'], (value, request, context) => {
      const skipped = remembered<number>(context, 'skipped')
      if (context.operationId === 'createRlTrainingJob') {
        const groups = objectsOf(bodyOf(request)['trajectory_groups']).map(group => objectsOf(group['trajectories']))
        const equal = groups.filter(group => new Set(group.map(({ reward }) => reward ?? 0)).size < 2)
        skipped.set(textOf(value['id']), equal.flat().length)
        return value
      }
      const count = skipped.get((context.path['training_job_id'] ?? '').toLowerCase()) ?? 0
      const events = objectsOf(value['data']).map(event => {
        const data = event['data']
        if (!isObject(data) || typeof data['num_trajectories'] !== 'number') return event
        return { ...event, data: { ...data, num_trajectories: Math.max(0, data['num_trajectories'] - count) } }
      })
      return { ...value, data: events }
    }),
  },
]
