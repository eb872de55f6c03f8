/** Requests for training jobs that are mistaken, refused or made twice. */
import { isOf, replyItems, replyJson, replyStatus, toError, toJsonReply } from './change-replies.ts'
import { jsonOf, requestHeaders, requestJson, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const CREATE = 'createRlTrainingJob createSftTrainingJob'
const JOB = 'createRlTrainingJob createSftTrainingJob getTrainingJob cancelTrainingJob listTrainingJobs'

const faults: Fault[] = [
  {
    name: 'idempotency-ignored',
    rule: 'Safe repeats: the same key with the same body gives the same job',
    breaks: 'Idempotency-Key has no effect.',
    ...requestHeaders(CREATE, () => ({ 'idempotency-key': undefined })),
  },
  {
    name: 'idempotency-of-other-bodies',
    rule: 'Safe repeats: the same key with another body is a 422',
    breaks: 'The same key with another body gives the first job.',
    async onReply(reply, request, context) {
      if (!isOf(CREATE, context)) return reply
      const key = request.headers['idempotency-key']
      if (reply.status === 200 && key) context.memory.set(key, reply)
      return reply.status === 422 && key && context.memory.has(key) ? (context.memory.get(key) as typeof reply) : reply
    },
  },
  {
    name: 'idempotency-per-day-only',
    rule: 'Safe repeats: keys are kept for 24 hours',
    breaks: 'A key counts only until its job has ended.',
    async onRequest(request, context) {
      const key = request.headers['idempotency-key']
      if (!isOf(CREATE, context) || key === undefined) return request
      const id = context.memory.get(key) as string | undefined
      if (id === undefined) return request
      const path = request.path.replace(/(sft-)?training-jobs.*$/, `training-jobs/${id}`)
      const { 'content-type': _, 'content-length': __, ...headers } = request.headers
      const job = await context.send({ method: 'GET', path, headers, body: Buffer.alloc(0) })
      const { status } = JSON.parse(job.body.toString('utf8'))
      return status === 'COMPLETED'
        ? { ...request, headers: { ...request.headers, 'idempotency-key': `${key}-again` } }
        : request
    },
    onReply(reply, request, context) {
      const key = request.headers['idempotency-key']
      if (isOf(CREATE, context) && key && reply.status === 200)
        context.memory.set(key, JSON.parse(reply.body.toString('utf8')).id)
      return reply
    },
  },
  {
    name: 'cancel-does-nothing',
    rule: 'cancelTrainingJob: stops the job',
    breaks: 'Cancelling gives the job as it is, and it goes on.',
    onRequest: (request, { operationId }) =>
      operationId === 'cancelTrainingJob'
        ? { ...request, method: 'GET', path: request.path.replace(/\/cancel$/, ''), body: Buffer.alloc(0) }
        : request,
  },
  {
    name: 'cancelled-as-failed',
    rule: 'schema TrainingJobStatus: CANCELLED',
    breaks: 'A cancelled job has the status FAILED.',
    ...replyItems(JOB, item => ({ ...item, status: item.status === 'CANCELLED' ? 'FAILED' : item.status })),
  },
  {
    name: 'cancel-of-ended-refused',
    rule: 'cancelTrainingJob: a job that has ended is given back unchanged',
    breaks: 'Cancelling a job that has ended is a 404.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'cancelTrainingJob' && reply.body.includes('"COMPLETED"') ? toError(404, 'It has ended') : reply,
  },
  {
    name: 'tuned-model-unused',
    rule: 'createChatCompletion: the URI of a trained model',
    breaks: 'Every checkpoint of a model answers like its step 0.',
    ...whereGood(
      requestJson('createChatCompletion', body => {
        if (typeof body.model === 'string' && body.model.includes('://'))
          body.model = `${body.model.replace(/:(step\d+|latest)$/, '')}:step0`
      }),
    ),
  },
  {
    name: 'plain-uri-is-step-0',
    rule: 'createChatCompletion: the plain URI is the latest checkpoint',
    breaks: 'The URI without a step is the step 0.',
    ...whereGood(
      requestJson('createChatCompletion', body => {
        if (/:\/\/\/[^:]+$/.test(String(body.model))) body.model += ':step0'
      }),
    ),
  },
  {
    name: 'nothing-to-learn-refused',
    rule: 'createRlTrainingJob: a job with nothing to train still makes the next checkpoint',
    breaks: 'A job with nothing to train is a 422.',
    onRequest: (request, { operationId }) =>
      operationId === 'createRlTrainingJob' && jsonOf(request)?.trajectory_groups?.length === 0
        ? toError(422, 'no trajectories')
        : request,
  },
  {
    name: 'rl-config-refused',
    rule: 'schema RlExperimentalConfig: its keys',
    breaks: 'The key vendor_k2_tau is refused.',
    onRequest: (request, { operationId }) =>
      operationId === 'createRlTrainingJob' && jsonOf(request)?.experimental_config?.vendor_k2_tau !== undefined
        ? toError(422, 'vendor_k2_tau')
        : request,
  },
  {
    name: 'learning-rate-ignored',
    rule: 'createRlTrainingJob: learning_rate',
    breaks: 'The learning rate is always the default one.',
    ...whereGood(
      requestJson('createRlTrainingJob createSftTrainingJob', body => {
        for (const config of [body.config, body.experimental_config])
          if (typeof config?.learning_rate === 'number') delete config.learning_rate
      }),
    ),
  },
  {
    name: 'learning-rates-first-only',
    rule: 'schema SftConfig: learning_rate may be a list, one for each step',
    breaks: 'Of a list of learning rates only the first one is used.',
    ...whereGood(
      requestJson('createSftTrainingJob', body => {
        if (Array.isArray(body.config?.learning_rate)) body.config.learning_rate = body.config.learning_rate[0]
      }),
    ),
  },
  {
    name: 'batch-size-ignored',
    rule: 'schema SftConfig: batch_size',
    breaks: 'The batch size is always 1.',
    ...whereGood(
      requestJson('createSftTrainingJob', body => {
        if (Number.isInteger(body.config?.batch_size) && body.config.batch_size > 0) body.config.batch_size = 1
      }),
    ),
  },
  {
    name: 'sft-twin-made',
    rule: 'createSftTrainingJob: while the same job is unfinished, it is given back',
    breaks: 'The same fine-tuning job is made twice.',
    ...replyJson('createSftTrainingJob', (body, { memory }) => {
      if (memory.has(body.id)) return { ...body, id: body.id.replace(/.$/, body.id.endsWith('0') ? '1' : '0') }
      memory.set(body.id, true)
      return body
    }),
  },
  {
    name: 'sft-artifact-404',
    rule: 'createSftTrainingJob: an artifact that cannot be found is a 400',
    breaks: 'An artifact that cannot be found is a 404.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'createSftTrainingJob' && reply.status === 400 ? toError(404, 'No such artifact') : reply,
  },
  {
    name: 'sft-line-unnamed',
    rule: 'createSftTrainingJob: a 422 that names file, line and field',
    breaks: 'A line that cannot be trained on is not named.',
    ...replyJson('createSftTrainingJob', body => ({ ...body, detail: [{ ...body.detail[0], loc: ['body'] }] }), [422]),
  },
  {
    name: 'sft-scheme-unknown',
    rule: 'createSftTrainingJob: other forms of the URI of an artifact',
    breaks: 'Only the own scheme with three slashes is understood.',
    onRequest: (request, { operationId }) => {
      const url = operationId === 'createSftTrainingJob' ? jsonOf(request)?.training_data_url : undefined
      return typeof url === 'string' && !url.startsWith('artifact:///') ? toError(422, 'training_data_url') : request
    },
  },
  {
    name: 'rl-choice-unnamed',
    rule: 'createRlTrainingJob: a 422 says where',
    breaks: 'The place of a faulty choice ends at the group.',
    ...replyJson(
      'createRlTrainingJob',
      body => {
        for (const one of body.detail) one.loc = one.loc.slice(0, 3)
      },
      [422],
    ),
  },
  {
    name: 'large-body-refused',
    rule: 'createRlTrainingJob: a body within the limit of the deployment',
    breaks: 'A body above a million bytes is a 413.',
    onRequest: (request, { operationId }) =>
      operationId === 'createRlTrainingJob' && request.body.length > 1_000_000 ? toError(413, 'too large') : request,
  },
  {
    name: 'checkpoint-artifact-stays',
    rule: 'deleteCheckpoints: together with their artifact versions',
    breaks: 'The artifact of a deleted checkpoint is still there.',
    onReply(reply, _, { operationId, path, memory }) {
      if (operationId !== 'getArtifactVersion') return reply
      const key = `${path.name} ${path.version}`
      if (reply.status === 200) memory.set(key, reply)
      return reply.status === 404 && memory.has(key) ? (memory.get(key) as typeof reply) : reply
    },
  },
  {
    name: 'job-creation-201',
    rule: 'createSftTrainingJob: 200 is its only success',
    breaks: 'createSftTrainingJob answers 201.',
    ...replyStatus('createSftTrainingJob', 200, 201),
  },
  {
    name: 'job-location-only',
    rule: 'createRlTrainingJob 200, schema TrainingJob',
    breaks: 'createRlTrainingJob gives the id under another name.',
    ...replyJson('createRlTrainingJob', ({ id, ...rest }) => ({ job_id: id, ...rest })),
  },
  {
    name: 'busy-queue-is-500',
    rule: 'createRlTrainingJob 429: the queue of jobs is full',
    breaks: 'A full queue of jobs is a 500.',
    needs: ['inside'],
    onReply: (reply, _, { operationId }) =>
      operationId === 'createRlTrainingJob' && reply.status === 429
        ? toJsonReply(500, { detail: 'x', error: { message: 'x', type: 'server_error', param: null, code: null } })
        : reply,
  },
]

export const jobRequestFaults: Fault[] = faults.map(fault => ({ needs: ['training'], ...fault }))
