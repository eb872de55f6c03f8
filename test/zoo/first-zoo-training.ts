/** Training jobs, their events and what they leave behind. */
import { type Json, replyItems, replyJson } from './change-replies.ts'
import { requestQuery, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const JOB = 'createRlTrainingJob createSftTrainingJob getTrainingJob cancelTrainingJob listTrainingJobs'
const EVENTS = 'listTrainingJobEvents'

/** Another list of events, with the envelope that fits. */
function events(change: (data: Json[]) => Json[]): Pick<Fault, 'onReply'> {
  return replyJson(EVENTS, body => {
    const data = change(body.data)
    return { ...body, data, first_id: data.at(0)?.id ?? '', last_id: data.at(-1)?.id ?? '' }
  })
}

function eachEvent(type: string, change: (event: Json) => unknown): Pick<Fault, 'onReply'> {
  return replyItems(EVENTS, event => (event.type === type ? change(event) : event))
}

const faults: Fault[] = [
  {
    name: 'events-empty',
    rule: 'listTrainingJobEvents: the events of a job',
    breaks: 'No job has any events.',
    ...events(() => []),
  },
  {
    name: 'events-no-start',
    rule: 'listTrainingJobEvents: training_started comes first',
    breaks: 'training_started is missing.',
    ...events(data => data.filter(({ type }) => type !== 'training_started')),
  },
  {
    name: 'events-no-steps',
    rule: 'listTrainingJobEvents: one gradient_step for each optimiser step',
    breaks: 'No gradient_step comes.',
    ...events(data => data.filter(({ type }) => type !== 'gradient_step')),
  },
  {
    name: 'events-not-numeric',
    rule: 'schema TrainingEvent: every number of a gradient_step is a number',
    breaks: 'The learning_rate of a step is a string.',
    ...eachEvent('gradient_step', event => {
      event.data.learning_rate = String(event.data.learning_rate)
    }),
  },
  {
    name: 'events-sequences-off',
    rule: 'listTrainingJobEvents: num_sequences is the number of steps',
    breaks: 'num_sequences is one too many.',
    ...eachEvent('training_started', event => {
      event.data.num_sequences++
    }),
  },
  {
    name: 'events-end-twice',
    rule: 'listTrainingJobEvents: exactly one of training_ended and training_failed',
    breaks: 'training_failed comes in place of the last step of a job that ended well.',
    ...eachEvent('training_ended', event => ({ ...event, type: 'training_failed', data: { error_message: 'none' } })),
  },
  {
    name: 'events-reversed',
    rule: 'Lists: asc is the default',
    breaks: 'The newest event comes first.',
    onRequest: (request, { operationId }) =>
      operationId === EVENTS && !request.path.includes('order=')
        ? { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}order=desc` }
        : request,
  },
  {
    name: 'events-change',
    rule: 'listTrainingJobEvents: events are only ever added at the end',
    breaks: 'Events have another id at each reading.',
    ...events(data => data.map(event => ({ ...event, id: event.id.replace(/.{4}$/, rollingDigits()) }))),
  },
  {
    name: 'events-step-keys',
    rule: 'schema TrainingEventData: what a step of reinforcement learning tells',
    breaks: 'Steps tell neither the loss nor the norm of the gradient.',
    ...eachEvent('gradient_step', event => {
      const { policy_loss: _, loss: __, grad_norm: ___, ...data } = event.data
      return { ...event, data }
    }),
  },
  {
    name: 'events-of-cancelled-ended',
    rule: 'cancelTrainingJob: the job ends with training_failed',
    breaks: 'The last event of a cancelled job is training_ended.',
    ...eachEvent('training_failed', event => ({ ...event, type: 'training_ended', data: {} })),
  },
  {
    name: 'checkpoint-late',
    rule: 'listCheckpoints: a new checkpoint is listed before its training_ended can be read',
    breaks: 'The newest checkpoint is not in the list when it is asked for alone.',
    ...replyJson('listCheckpoints', body => {
      const hidden = body.data.length === 1 && body.data[0].step > 0 && body.has_more
      return hidden ? { ...body, data: [{ ...body.data[0], step: body.data[0].step - 1 }] } : body
    }),
  },
  {
    name: 'checkpoint-step-zero',
    rule: 'createRlTrainingJob: makes the next checkpoint',
    breaks: 'Every checkpoint has the step 0.',
    ...replyItems('listCheckpoints', item => ({ ...item, step: 0 })),
  },
  {
    name: 'checkpoint-without-metrics',
    rule: 'schema Checkpoint: metrics of the job that made it',
    breaks: 'Checkpoints have no metrics.',
    ...replyItems('listCheckpoints', item => ({ ...item, metrics: {} })),
  },
  {
    name: 'status-stays-queued',
    rule: 'schema TrainingJob: status',
    breaks: 'Jobs are QUEUED for ever.',
    ...replyItems('getTrainingJob listTrainingJobs', item => ({ ...item, status: 'QUEUED' })),
  },
  {
    name: 'status-lower-case',
    rule: 'schema TrainingJobStatus: one of five',
    breaks: 'States of jobs are in lower case.',
    ...replyItems(JOB, item => ({ ...item, status: item.status?.toLowerCase() })),
  },
  {
    name: 'training-end-missing',
    rule: 'schema TrainingJob: training_end is when it ended',
    breaks: 'training_end is always null.',
    ...replyItems('getTrainingJob cancelTrainingJob', item => ({ ...item, training_end: null })),
  },
  {
    name: 'times-swapped',
    rule: 'schema TrainingJob: training_start and training_end',
    breaks: 'A job ends before it starts.',
    ...replyItems('getTrainingJob', item => ({
      ...item,
      training_start: item.training_end,
      training_end: item.training_end && new Date(Date.parse(item.created_at) - 60_000).toISOString(),
    })),
  },
  {
    name: 'type-always-rl',
    rule: 'schema TrainingJob: type',
    breaks: 'Every job has the type rl.',
    ...replyItems(JOB, item => ({ ...item, ...(item.type === undefined ? {} : { type: 'rl' }) })),
  },
  {
    name: 'job-model-other',
    rule: 'schema TrainingJob: model_id is the model that it trains',
    breaks: 'The model_id of a job is its own id.',
    ...replyItems(JOB, item => ({ ...item, model_id: item.id })),
  },
  {
    name: 'error-message-always',
    rule: 'getTrainingJob: error_message is null unless the job failed or was cancelled',
    breaks: 'error_message is `none` where there was no error.',
    ...replyItems('getTrainingJob', item => ({ ...item, error_message: item.error_message ?? 'none' })),
  },
  {
    name: 'job-filter-model-ignored',
    rule: 'listTrainingJobs: narrowed by model_id',
    breaks: 'model_id narrows nothing.',
    ...whereGood(
      requestQuery('listTrainingJobs', query => {
        if (/^[0-9a-f-]{36}$/i.test(query.get('model_id') ?? '')) query.delete('model_id')
      }),
    ),
  },
  {
    name: 'job-filter-status-ignored',
    rule: 'listTrainingJobs: narrowed by status',
    breaks: 'status narrows nothing.',
    ...whereGood(
      requestQuery('listTrainingJobs', query => {
        if (/^[A-Z]+$/.test(query.get('status') ?? '')) query.delete('status')
      }),
    ),
  },
]

export const trainingFaults: Fault[] = faults.map(fault => ({ needs: ['training'], ...fault }))

let rolled = 0

/** Four digits that come again only after a long time. */
function rollingDigits(): string {
  return String(rolled++ % 10_000).padStart(4, '0')
}
