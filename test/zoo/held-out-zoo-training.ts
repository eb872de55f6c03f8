/** Held-out faults in training jobs and their events. */
import { createHash } from 'node:crypto'
import type { Fault, ZooReply } from './fault.ts'
import {
  answer,
  asStatus,
  beside,
  bodyOf,
  isObject,
  type Json,
  look,
  objectsOf,
  onBody,
  onSuccess,
  queryOf,
  refusal,
  remembered,
  textOf,
  withItems,
  withoutKeys,
} from './held-out-zoo-tools.ts'

const creations = ['createRlTrainingJob', 'createSftTrainingJob']
const jobReplies = [...creations, 'getTrainingJob', 'cancelTrainingJob']
const ends = ['COMPLETED', 'FAILED', 'CANCELLED']

/** A reply hook that changes jobs wherever they are shown. */
function onJobs(change: (job: Json) => Json): Fault['onReply'] {
  return onSuccess([...jobReplies, 'listTrainingJobs'], (value, _, context) =>
    context.operationId === 'listTrainingJobs'
      ? { ...value, data: objectsOf(value['data']).map(change) }
      : change(value),
  )
}

function onEventList(change: (events: Json[]) => Json[]): Fault['onReply'] {
  return onSuccess(['listTrainingJobEvents'], page => withItems(page, change(objectsOf(page['data']))))
}

export const trainingFaults: Fault[] = [
  {
    name: 'held-idempotency-across-operations',
    needs: ['training'],
    rule: 'Idempotency-Key: keys are scoped to team and operation',
    breaks: 'A key that created an RL job is refused when an SFT job is created with it, and the other way round.',
    onRequest(request, context) {
      const key = request.headers['idempotency-key']
      if (!creations.includes(context.operationId) || key === undefined) return request
      const used = remembered<string>(context, 'used').get(key)
      if (used === undefined || used === context.operationId) return request
      return refusal(request, 422, 'The key was used for another request.', ['header', 'Idempotency-Key'])
    },
    onReply: onSuccess(creations, (job, request, context) => {
      const key = request.headers['idempotency-key']
      if (key !== undefined) remembered<string>(context, 'used').set(key, context.operationId)
      return job
    }),
  },
  {
    name: 'held-idempotency-compares-no-body',
    needs: ['training'],
    rule: 'Idempotency-Key: the same key with another body is a 422',
    breaks: 'Another body with a known key gives the job of the first one.',
    async onRequest(request, context) {
      const key = [request.headers['authorization'], context.operationId, request.headers['idempotency-key']].join('\n')
      if (!creations.includes(context.operationId) || !request.headers['idempotency-key']) return request
      const first = remembered<string>(context, 'jobs').get(key)
      if (first !== undefined) return look(request, context, beside(request, `/v1/preview/training-jobs/${first}`))
      const reply = await context.send(request)
      if (reply.status === 200) remembered<string>(context, 'jobs').set(key, textOf(bodyOf(reply)['id']))
      return reply
    },
  },
  {
    name: 'held-idempotency-of-each-api-key',
    needs: ['training'],
    rule: 'Idempotency-Key: keys are scoped to team and operation',
    breaks: 'The same key sent with another API key of the same team makes a second job.',
    onRequest(request, context) {
      const key = request.headers['idempotency-key']
      if (!creations.includes(context.operationId) || key === undefined || !/^[!-~]{1,255}$/.test(key)) return request
      const own = createHash('sha256').update(`${request.headers['authorization']} ${key}`).digest('hex')
      return { ...request, headers: { ...request.headers, 'idempotency-key': own } }
    },
  },
  {
    name: 'held-sft-repeat-ignores-config',
    needs: ['training'],
    rule: 'createSftTrainingJob: an unfinished job for the same model, data version and config is given back',
    breaks: 'An unfinished job for the same model and data is given back whatever its config.',
    async onRequest(request, context) {
      if (context.operationId !== 'createSftTrainingJob' || request.headers['idempotency-key']) return request
      const body = bodyOf(request)
      const jobs = remembered<string>(context, 'jobs')
      const work = [request.headers['authorization'], body['model_id'], body['training_data_url']].join('\n')
      const known = jobs.get(work)
      if (known !== undefined) {
        const reply = await look(request, context, beside(request, `/v1/preview/training-jobs/${known}`))
        if (reply.status === 200 && !ends.includes(textOf(bodyOf(reply)['status']))) return reply
      }
      const reply = await context.send(request)
      if (reply.status === 200) jobs.set(work, textOf(bodyOf(reply)['id']))
      return reply
    },
  },
  {
    name: 'held-terminal-event-twice',
    needs: ['training'],
    rule: 'listTrainingJobEvents: exactly one of `training_ended` and `training_failed`',
    breaks: 'The last event of a job is there twice.',
    onReply: onEventList(events => {
      const at = events.findIndex(event => ['training_ended', 'training_failed'].includes(textOf(event['type'])))
      if (at < 0) return events
      const id = textOf(events[at]!['id'])
      const again = { ...events[at]!, id: id.slice(0, -1) + (id.endsWith('f') ? 'e' : 'f') }
      return events.toSpliced(at + 1, 0, again)
    }),
  },
  {
    name: 'held-started-after-first-step',
    needs: ['training'],
    rule: 'Schema TrainingEvent type: the first event is `training_started`',
    breaks: 'The first gradient step comes before `training_started`.',
    onReply: onEventList(events => {
      const at = events.findIndex(event => event['type'] === 'training_started')
      const step = events[at + 1]
      return at >= 0 && step?.['type'] === 'gradient_step' ? events.toSpliced(at, 2, step, events[at]!) : events
    }),
  },
  {
    name: 'held-num-sequences-are-trajectories',
    needs: ['training'],
    rule: 'Schema TrainingEventData num_sequences: in `training_started`, the number of optimiser steps to come',
    breaks: '`num_sequences` is the number of trajectories.',
    onReply: onEventList(events =>
      events.map(event => {
        const data = event['data']
        if (event['type'] !== 'training_started' || !isObject(data)) return event
        if (data['num_sequences'] === 0 || data['num_trajectories'] === undefined) return event
        return { ...event, data: { ...data, num_sequences: data['num_trajectories'] } }
      }),
    ),
  },
  {
    name: 'held-empty-error-message',
    needs: ['training'],
    rule: 'getTrainingJob: `error_message` is null unless the job failed or was cancelled',
    breaks: '`error_message` is an empty text where nothing failed.',
    onReply: onJobs(job => ({ ...job, error_message: job['error_message'] ?? '' })),
  },
  {
    name: 'held-cancelled-in-other-words',
    needs: ['training'],
    rule: 'Schema TrainingJob error_message: `cancelled` for a cancelled one',
    breaks: 'The message of a cancelled job is a sentence.',
    onReply: onJobs(job =>
      job['status'] === 'CANCELLED' ? { ...job, error_message: 'The job was cancelled by its user.' } : job,
    ),
  },
  {
    name: 'held-cancelled-never-ends',
    needs: ['training'],
    rule: 'Schema TrainingJob training_end: when the job completed, failed or was cancelled',
    breaks: '`training_end` stays null for a cancelled job.',
    onReply: onJobs(job => (job['status'] === 'CANCELLED' ? { ...job, training_end: null } : job)),
  },
  {
    name: 'held-cancel-of-ended-job-refused',
    needs: ['training'],
    rule: 'cancelTrainingJob: a job that has ended already is given back unchanged',
    breaks: 'Cancelling a job that has ended is a 400.',
    async onRequest(request, context) {
      if (context.operationId !== 'cancelTrainingJob') return request
      const id = context.path['training_job_id'] ?? ''
      const job = await look(request, context, beside(request, `/v1/preview/training-jobs/${encodeURIComponent(id)}`))
      const isEnded = job.status === 200 && ends.includes(textOf(bodyOf(job)['status']))
      return isEnded ? refusal(request, 400, 'The job has ended.', ['path', 'training_job_id']) : request
    },
  },
  {
    name: 'held-job-of-other-team-forbidden',
    needs: ['training'],
    rule: 'Errors 404: no such thing, or it belongs to a team that the caller is not in',
    breaks: 'A job of another team is a 403, which tells that it exists.',
    onReply(reply, request, context): ZooReply {
      const makers = remembered<string | undefined>(context, 'makers')
      const caller = request.headers['authorization']
      if (creations.includes(context.operationId) && reply.status === 200)
        makers.set(textOf(bodyOf(reply)['id']), caller)
      const maker = makers.get(context.path['training_job_id'] ?? '')
      return reply.status === 404 && maker !== undefined && maker !== caller
        ? asStatus(reply, 403, 'permission_error')
        : reply
    },
  },
  {
    name: 'held-missing-training-data-not-found',
    rule: 'createSftTrainingJob: an artifact that cannot be found is a 400',
    breaks: 'It is a 404.',
    onReply: (reply, _, context) =>
      context.operationId === 'createSftTrainingJob' && reply.status === 400
        ? asStatus(reply, 404, 'not_found_error')
        : reply,
  },
  {
    name: 'held-two-taus-taken',
    needs: ['training'],
    rule: 'Schema RlExperimentalConfig kimi_k2_tau: two different values are a 422',
    breaks: '`vendor_k2_tau` silently counts.',
    onRequest: onBody(['createRlTrainingJob'], body => {
      const config = body['experimental_config']
      if (!isObject(config) || config['vendor_k2_tau'] == null || config['kimi_k2_tau'] == null) return undefined
      return { ...body, experimental_config: withoutKeys(config, 'kimi_k2_tau') }
    }),
  },
  {
    name: 'held-two-slashes-refused',
    needs: ['training'],
    rule: 'API conventions, artifact URIs: two slashes are understood; training_data_url: the pattern has `:///?`',
    breaks: 'A URI with two slashes after the scheme is refused.',
    onRequest(request, context) {
      if (context.operationId !== 'createSftTrainingJob' || !request.headers['authorization']) return request
      const hasTwo = /^[^:]+:\/\/[^/]/.test(textOf(bodyOf(request)['training_data_url']))
      return hasTwo ? refusal(request, 422, 'Not an artifact URI.', ['body', 'training_data_url']) : request
    },
  },
  {
    name: 'held-jobs-of-unknown-model-not-found',
    rule: 'listTrainingJobs model_id: an id that names no model of the caller gives an empty page',
    breaks: 'It is a 404.',
    async onRequest(request, context) {
      const id = queryOf(request).get('model_id')
      if (context.operationId !== 'listTrainingJobs' || !id) return request
      const model = await look(request, context, beside(request, `/v1/preview/models/${encodeURIComponent(id)}`))
      return model.status === 404 ? model : request
    },
  },
  {
    name: 'held-running-includes-queued',
    needs: ['training'],
    rule: 'listTrainingJobs status: gives only the jobs that are in this status now',
    breaks: '`status=RUNNING` gives queued jobs too, `status=FAILED` cancelled ones too.',
    async onRequest(request, context) {
      const query = queryOf(request)
      const more = { RUNNING: 'QUEUED', FAILED: 'CANCELLED' }[query.get('status') ?? '']
      if (context.operationId !== 'listTrainingJobs' || more === undefined) return request
      const own = await context.send(request)
      query.set('status', more)
      const others = await look(request, context, `${request.path.split('?')[0]}?${query}`)
      if (own.status !== 200 || others.status !== 200) return own
      const page = bodyOf(own)
      const data = [...objectsOf(page['data']), ...objectsOf(bodyOf(others)['data'])].slice(0, 100)
      return answer(request, withItems(page, data))
    },
  },
]
