/** What is on record of training jobs: their fields, what they trained, and what goes with a model. */
import { isOf, type Json, replyItems, replyJson, toError } from './change-replies.ts'
import { jsonOf, requestJson } from './change-requests.ts'
import { changeJson, type Fault, type ZooContext, type ZooReply, type ZooRequest } from './fault.ts'

const CREATE = 'createRlTrainingJob createSftTrainingJob'
const UNKNOWN = '01990c5e-0000-7000-8000-000000000000'

/** What was found once is found for ever, although it is gone. */
function outlives(id: string, nameOf: (context: ZooContext, path: string) => string): Pick<Fault, 'onReply'> {
  return {
    onReply(reply, request, context) {
      if (!isOf(id, context)) return reply
      const key = nameOf(context, request.path)
      const isGone = reply.status === 404 || reply.body.includes('"data":[]')
      if (!isGone && reply.status === 200) context.memory.set(key, reply)
      return isGone && context.memory.has(key) ? (context.memory.get(key) as ZooReply) : reply
    },
  }
}

/** Uploaded texts, changed as bytes. */
function changeUpload(change: (text: string) => string): Pick<Fault, 'onRequest'> {
  return {
    onRequest(request, context) {
      if (!isOf('createArtifactVersion', context)) return request
      return { ...request, body: Buffer.from(change(request.body.toString('latin1')), 'latin1') }
    },
  }
}

const eachStep = (change: (data: Json, index: number) => void) =>
  replyJson('listTrainingJobEvents', ({ data }) => {
    const steps = data.filter(({ type }: Json) => type === 'gradient_step')
    for (const [index, event] of steps.entries()) change(event.data, index)
  })

const eachHistory = (change: (elements: Json[]) => Json[]) =>
  requestJson('createRlTrainingJob', body => {
    if (!Array.isArray(body.trajectory_groups)) return
    for (const trajectory of body.trajectory_groups.flatMap((group: Json) => group?.trajectories ?? []))
      if (Array.isArray(trajectory?.messages_and_choices))
        trajectory.messages_and_choices = change(trajectory.messages_and_choices)
  })

const toLogprobs = (ids: number[]) => ({ content: ids.map(id => ({ token: `token_id:${id}`, logprob: -0.5 })) })

/** The reply names the model that was asked for. */
function nameAsAsked(reply: ZooReply, request: ZooRequest, context: ZooContext): ZooReply {
  const model = isOf('createChatCompletion', context) && reply.status === 200 ? jsonOf(request)?.model : undefined
  return String(model).includes('://') ? changeJson<Json>(reply, body => ({ ...body, model })) : reply
}

/** Another model answers a chat, under the name of the one that was asked for. */
function answerAs(change: (model: string, context: ZooContext) => string): Pick<Fault, 'onRequest' | 'onReply'> {
  return {
    ...requestJson('createChatCompletion', (body, context) => {
      if (typeof body.model === 'string') body.model = change(body.model, context)
    }),
    onReply: nameAsAsked,
  }
}

const faults: Fault[] = [
  {
    name: 'queued-job-with-start',
    rule: 'createRlTrainingJob: training_start is null until a worker claims the job',
    breaks: 'A job that was just made has begun when it was made.',
    ...replyJson(CREATE, job => ({ ...job, training_start: job.created_at })),
  },
  {
    name: 'listed-job-with-empty-error',
    rule: 'listTrainingJobs: error_message is null where there was no error',
    breaks: 'In the list, jobs without an error have an empty message.',
    ...replyItems('listTrainingJobs', job => ({ ...job, error_message: job.error_message ?? '' })),
  },
  {
    name: 'listed-job-without-end',
    rule: 'listTrainingJobs: training_end is when the job ended',
    breaks: 'In the list, jobs never have an end.',
    ...replyItems('listTrainingJobs', job => ({ ...job, training_end: null })),
  },
  {
    name: 'listed-job-cancelled-by-whom',
    rule: 'listTrainingJobs: error_message is `cancelled` for a cancelled job',
    breaks: 'In the list, the message of a cancelled job says more than `cancelled`.',
    ...replyItems('listTrainingJobs', job => ({
      ...job,
      error_message: job.status === 'CANCELLED' ? 'cancelled by its user' : job.error_message,
    })),
  },
  {
    name: 'jobs-newest-first',
    rule: 'listTrainingJobs: asc, oldest first, is the default',
    breaks: 'Jobs come newest first, and oldest first when asked for desc.',
    onRequest(request, context) {
      if (!isOf('listTrainingJobs', context) || request.path.includes('order=asc')) return request
      if (request.path.includes('order=desc')) return { ...request, path: request.path.replace('=desc', '=asc') }
      return { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}order=desc` }
    },
  },
  {
    name: 'job-outlives-model',
    rule: 'deleteModel: its training jobs go with it',
    breaks: 'A job of a deleted model can still be looked up.',
    ...outlives('getTrainingJob', ({ path }) => path['training_job_id']!),
  },
  {
    name: 'job-events-outlive-model',
    rule: 'deleteModel: its training jobs go with it',
    breaks: 'The events of a job of a deleted model can still be read.',
    ...outlives('listTrainingJobEvents', ({ path }) => path['training_job_id']!),
  },
  {
    name: 'job-is-unfinished-in-deleted-model',
    rule: 'deleteModel: unfinished training jobs are cancelled and cannot be looked up',
    breaks: 'An unfinished job of a deleted model can still be looked up.',
    onReply(reply, _, { memory, operationId, path }) {
      if (operationId === 'createSftTrainingJob' && reply.status === 200) memory.set(jsonOf(reply).id, reply)
      const kept = memory.get(path['training_job_id'] ?? '') as ZooReply | undefined
      return operationId === 'getTrainingJob' && reply.status === 404 && kept ? kept : reply
    },
  },
  {
    name: 'next-job-trains-from-step-0',
    rule: 'createRlTrainingJob createChatCompletion: trains from the latest checkpoint',
    breaks: 'A second job begins with the untrained model again.',
    ...answerAs(model => model.replace(/:step2$/, ':step0')),
  },
  {
    name: 'plain-uri-lost-with-newest-checkpoint',
    rule: 'deleteCheckpoints createChatCompletion: the plain URI is the newest checkpoint that is left',
    breaks: 'When the newest checkpoint is deleted, the plain URI answers with step 0.',
    ...answerAs((model, { memory }) =>
      memory.has('deleted') && /:\/\/\/[^:]+$/.test(model) ? `${model}:step0` : model,
    ),
    onReply(reply, request, context) {
      const { memory, operationId } = context
      if (operationId === 'deleteCheckpoints' && String(jsonOf(request)?.steps) === '2') memory.set('deleted', true)
      return nameAsAsked(reply, request, context)
    },
  },
  {
    name: 'entropy-negative',
    rule: 'listTrainingJobEvents createRlTrainingJob: the entropy of a step',
    breaks: 'The entropy has the wrong sign.',
    ...eachStep(data => {
      if (data.entropy !== undefined) data.entropy = -data.entropy - 1e-6
    }),
  },
  {
    name: 'sft-trains-questions',
    rule: 'createSftTrainingJob: the loss is on assistant tokens only',
    breaks: 'What a user says is trained as well.',
    ...changeUpload(text =>
      text.replace(/("role":"user","content":")([^"]*)("\},\{"role":"assistant","content":")/g, '$1$2$3$2'),
    ),
  },
  {
    name: 'sft-other-file-first',
    rule: 'createSftTrainingJob: trajectories.jsonl is read where it is',
    breaks: 'train.jsonl is read although there is a trajectories.jsonl.',
    ...changeUpload(text =>
      text.includes('filename="train.jsonl"')
        ? text.replace(/filename="(?:train|trajectories)\.jsonl"/g, name =>
            name.includes('train.') ? 'filename="trajectories.jsonl"' : 'filename="other.txt"',
          )
        : text,
    ),
  },
  {
    name: 'sft-open-end-trained',
    rule: 'createSftTrainingJob: the last message is the assistant’s',
    breaks: 'A conversation that ends with a question is left out and no error.',
    ...changeUpload(text => text.replace(/^\{"messages":\[\{"role":"user","content":"[^"]*"\}\]\}\r?\n/gm, '')),
  },
  {
    name: 'sft-messages-and-choices-unread',
    rule: 'createSftTrainingJob: messages_and_choices in place of messages',
    breaks: 'Conversations under messages_and_choices are refused.',
    onRequest(request, context) {
      const { memory, operationId, path } = context
      if (operationId === 'createArtifactVersion' && request.body.includes('{"messages_and_choices"'))
        memory.set('name', path['name'])
      const url = operationId === 'createSftTrainingJob' ? jsonOf(request)?.training_data_url : undefined
      return memory.has('name') && String(url).includes(`/${memory.get('name')}:`)
        ? toError(422, 'messages is missing')
        : request
    },
  },
  {
    name: 'sft-foreign-data-400',
    rule: 'createSftTrainingJob: data of a team that the caller is not in is a 404',
    breaks: 'Data of another team is a 400 where the model exists.',
    onReply(reply, request, context) {
      const isOwn = isOf('createSftTrainingJob', context) && jsonOf(request)?.model_id !== UNKNOWN
      return isOwn && reply.status === 404 ? toError(400, 'No such artifact') : reply
    },
  },
  {
    name: 'single-learning-rate-halved',
    rule: 'createSftTrainingJob: a single learning_rate is for all steps',
    breaks: 'A single learning rate is halved.',
    ...eachStep(data => {
      if (data.loss !== undefined && data.learning_rate === 0.0015) data.learning_rate /= 2
    }),
  },
  {
    name: 'learning-rates-last-of-many',
    rule: 'createSftTrainingJob: of more learning rates than steps the rest is not used',
    breaks: 'Of more learning rates than three the last three are used.',
    ...requestJson('createSftTrainingJob', body => {
      const rates = body.config?.learning_rate
      if (Array.isArray(rates)) body.config.learning_rate = rates.slice(-3)
    }),
  },
  {
    name: 'rl-plain-answers-trained',
    rule: 'createRlTrainingJob: a plain message is context',
    breaks: 'Messages of an assistant are trained as if they were choices.',
    ...eachHistory(elements =>
      elements.map(one =>
        one?.role === 'assistant' && typeof one.content === 'string'
          ? { finish_reason: 'stop', message: one, token_ids: [1], logprobs: toLogprobs([1]) }
          : one,
      ),
    ),
  },
  {
    name: 'rl-choices-without-logprobs-trained',
    rule: 'createRlTrainingJob: only choices that carry log-probabilities are trained',
    breaks: 'Choices without log-probabilities are trained.',
    ...eachHistory(elements =>
      elements.map(one =>
        one?.logprobs === null && Array.isArray(one.token_ids) ? { ...one, logprobs: toLogprobs(one.token_ids) } : one,
      ),
    ),
  },
  {
    name: 'rl-choice-first-accepted',
    rule: 'createRlTrainingJob: a choice before any message is a 422',
    breaks: 'A choice before any message is left out and no error.',
    ...eachHistory(elements => (elements[0]?.logprobs?.content ? elements.slice(1) : elements)),
  },
  {
    name: 'rl-token-ids-cut',
    rule: 'createRlTrainingJob: more token ids than log-probabilities are a 422',
    breaks: 'Token ids without a log-probability are left out and no error.',
    ...eachHistory(elements =>
      elements.map(one => {
        const count = one?.logprobs?.content?.length
        return count > 0 && Array.isArray(one.token_ids) ? { ...one, token_ids: one.token_ids.slice(0, count) } : one
      }),
    ),
  },
]

export const jobRecordFaults: Fault[] = faults.map((fault): Fault => ({ needs: ['training'], ...fault }))
