/** Models, checkpoints and health that do not do what their operations say. */
import { isOf, type Json, replyItems, replyJson, replyStatus, toError, toJsonReply } from './change-replies.ts'
import { jsonOf, requestJson, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

export const modelFaults: Fault[] = [
  {
    name: 'not-readable',
    rule: 'getModel: gives the record as createModel gave it',
    breaks: 'A model that was created is not found.',
    ...replyStatus('getModel', 200, 404),
  },
  {
    name: 'created-differs-from-read',
    rule: 'getModel: gives the record as createModel gave it',
    breaks: 'getModel gives another created_at at each reading.',
    ...replyJson('getModel', body => ({ ...body, created_at: new Date().toISOString() })),
  },
  {
    name: 'name-not-echoed',
    rule: 'createModel 200, schema Model: the name that was asked for',
    breaks: 'Names of models are in capitals.',
    ...replyItems('createModel getModel listModels', item => ({ ...item, name: item.name.toUpperCase() })),
  },
  {
    name: 'base-model-not-echoed',
    rule: 'createModel 200, schema Model: the base model that was asked for',
    breaks: 'The base_model of a model is another name.',
    ...replyItems('createModel getModel listModels', item => ({ ...item, base_model: 'base' })),
  },
  {
    name: 'created-in-the-past',
    rule: 'createModel 200, schema Model: when it was created',
    breaks: 'Every model was created on the first day of 1970.',
    ...replyItems('createModel getModel listModels', item => ({ ...item, created_at: '1970-01-01T00:00:00.000Z' })),
  },
  {
    name: 'duplicate-name-accepted',
    rule: 'createModel: a name that exists is a 400 unless return_existing is true',
    breaks: 'A duplicate name gives the model that is there.',
    ...whereGood(
      requestJson('createModel', body => {
        body.return_existing ??= true
        if (body.return_existing === false) body.return_existing = true
      }),
    ),
  },
  {
    name: 'return-existing-ignored',
    rule: 'createModel: return_existing gives the model that is there',
    breaks: 'return_existing has no effect.',
    ...whereGood(
      requestJson('createModel', body => {
        delete body.return_existing
      }),
    ),
  },
  {
    name: 'return-existing-of-another-base',
    rule: 'schema CreateModelRequest: return_existing with another base model is a 400',
    breaks: 'return_existing gives a model of another base model back.',
    async onReply(reply, request, context) {
      const body = isOf('createModel', context) ? jsonOf(request) : undefined
      if (reply.status !== 400 || body?.return_existing !== true) return reply
      return context.send({ ...request, body: Buffer.from(JSON.stringify({ ...body, base_model: 'tiny-chat' })) })
    },
  },
  {
    name: 'unknown-base-model-404',
    rule: 'createModel: an unknown base model is a 400',
    breaks: 'An unknown base model is a 404.',
    onReply: (reply, request, context) =>
      isOf('createModel', context) && reply.status === 400 && jsonOf(request)?.base_model !== 'tiny-chat'
        ? toError(404, 'No such base model')
        : reply,
  },
  {
    name: 'error-param-unnamed',
    rule: 'schema ErrorDetail: param names the field at fault',
    breaks: 'The param of an error is always null.',
    ...replyJson('*', body => ({ ...body, error: { ...body.error, param: null } }), [400, 404]),
  },
  {
    name: 'foreign-team-taken-for-own',
    rule: 'createModel 403: the request names a team that the caller is not in',
    breaks: 'createModel takes the team of the key whatever entity says.',
    ...whereGood(
      requestJson('createModel', body => {
        delete body.entity
      }),
    ),
  },
  {
    name: 'delete-404',
    rule: 'deleteModel: 200 with what was deleted',
    breaks: 'deleteModel answers 404 although it deletes.',
    onReply: (reply, _, context) =>
      isOf('deleteModel', context) && reply.status === 200 ? toError(404, 'Not found') : reply,
  },
  {
    name: 'delete-repeated-200',
    rule: 'deleteModel: a second call is a 404',
    breaks: 'deleteModel of a model that is gone is a 200.',
    onReply: (reply, _, context) =>
      isOf('deleteModel', context) && reply.status === 404
        ? toJsonReply(200, {
            model_id: context.path.model_id?.toLowerCase(),
            deleted_checkpoints: 0,
            deleted_run: false,
          })
        : reply,
  },
  {
    name: 'delete-does-nothing',
    rule: 'deleteModel: deletes the model',
    breaks: 'deleteModel answers as if it had deleted.',
    async onRequest(request, context) {
      if (!isOf('deleteModel', context)) return request
      const model_id = context.path.model_id!
      const found = await context.send({ ...request, method: 'GET' })
      return found.status === 200 ? toJsonReply(200, { model_id, deleted_checkpoints: 1, deleted_run: true }) : request
    },
  },
  {
    name: 'delete-once-only-hidden',
    rule: 'deleteModel: the name is free again',
    breaks: 'The name of a deleted model stays taken.',
    onRequest(request, { operationId, memory }) {
      if (operationId !== 'createModel') return request
      const name = jsonOf(request)?.name
      if (typeof name !== 'string') return request
      const isTaken = memory.get(`deleted ${name}`) === true
      return isTaken ? toError(400, 'The name is taken') : request
    },
    async onReply(reply, request, { operationId, memory, path }) {
      if (operationId === 'createModel' && reply.status === 200) {
        const { id, name } = JSON.parse(reply.body.toString('utf8'))
        memory.set(id, name)
      }
      if (operationId === 'deleteModel' && request.method === 'DELETE' && reply.status === 200)
        memory.set(`deleted ${memory.get(path.model_id!)}`, true)
      return reply
    },
  },
  {
    name: 'delete-count-of-checkpoints',
    rule: 'deleteModel 200: deleted_checkpoints is their number',
    breaks: 'deleted_checkpoints is always 0.',
    ...replyJson('deleteModel', body => ({ ...body, deleted_checkpoints: 0 })),
  },
  {
    name: 'deleted-twice-at-once',
    rule: 'deleteModel: a second call is a 404, also when it comes at the same time',
    breaks: 'Deletes that come at the same time are all answered 200.',
    async onReply(reply, _, context) {
      if (!isOf('deleteModel', context)) return reply
      const id = context.path.model_id!
      const last = context.memory.get(id) as { at: number; reply: typeof reply } | undefined
      if (reply.status === 200) context.memory.set(id, { at: performance.now(), reply })
      return reply.status === 404 && last && performance.now() - last.at < 5 ? last.reply : reply
    },
  },
  {
    name: 'checkpoint-missing-at-first',
    rule: 'createModel: gives it the checkpoint of step 0',
    breaks: 'A new model has no checkpoint in its list.',
    ...replyJson('listCheckpoints', body => {
      if (body.data.length === 1 && body.data[0].step === 0)
        return { ...body, data: [], first_id: '', last_id: '', has_more: false }
      return body
    }),
  },
  {
    name: 'checkpoint-artifact-relative',
    rule: 'listCheckpoints 200, schema Checkpoint: artifact is a URI',
    breaks: 'The artifact of a checkpoint has no scheme.',
    ...replyItems('listCheckpoints', item => ({ ...item, artifact: item.artifact.replace(/^[a-z-]+:\/\/\//, '') })),
  },
  {
    name: 'delete-body-ignored',
    rule: 'deleteCheckpoints: deletes the checkpoints of the given steps',
    breaks: 'deleteCheckpoints deletes nothing.',
    ...whereGood(
      requestJson('deleteCheckpoints', body => {
        if (Array.isArray(body.steps) && body.steps.every((step: Json) => Number.isInteger(step) && step >= 0))
          body.steps = []
      }),
    ),
  },
  {
    name: 'not-found-steps-hidden',
    rule: 'deleteCheckpoints 200: steps that are not there are told',
    breaks: 'not_found_steps is always empty.',
    ...replyJson('deleteCheckpoints', body => ({ ...body, not_found_steps: [] })),
  },
  {
    name: 'deleted-count-of-steps-sent',
    rule: 'deleteCheckpoints 200: deleted_count is the number of those deleted',
    breaks: 'deleted_count is the number of steps sent.',
    onReply: (reply, request, context) =>
      isOf('deleteCheckpoints', context) && reply.status === 200
        ? toJsonReply(200, {
            ...JSON.parse(reply.body.toString('utf8')),
            deleted_count: jsonOf(request).steps.length,
          })
        : reply,
  },
  {
    name: 'log-mean-is-a-sum',
    rule: 'logTrajectories: the means of reward and metrics',
    breaks: 'The reward of a log is the sum.',
    ...replyJson('logTrajectories', body => {
      for (const key of Object.keys(body.metrics)) if (key.endsWith('/reward')) body.metrics[key] *= 2
    }),
  },
  {
    name: 'log-prefix-missing',
    rule: 'logTrajectories: each under <split>/<name>',
    breaks: 'Metrics of a log have no prefix.',
    ...replyJson('logTrajectories', body => ({
      ...body,
      metrics: Object.fromEntries(Object.entries(body.metrics).map(([key, value]) => [key.split('/').at(-1)!, value])),
    })),
  },
  {
    name: 'log-not-kept',
    rule: 'logTrajectories: puts them on the latest checkpoint',
    breaks: 'The metrics of a log are not on the checkpoint.',
    ...replyItems('listCheckpoints', item => ({
      ...item,
      metrics: Object.fromEntries(Object.entries(item.metrics).filter(([key]) => !key.includes('/'))),
    })),
  },
  {
    name: 'log-count-of-groups',
    rule: 'logTrajectories 200: num_trajectories',
    breaks: 'num_trajectories counts groups.',
    onReply: (reply, request, context) =>
      isOf('logTrajectories', context) && reply.status === 200
        ? toJsonReply(200, {
            ...JSON.parse(reply.body.toString('utf8')),
            num_trajectories: jsonOf(request).trajectory_groups.length * 7,
          })
        : reply,
  },
  {
    name: 'system-check-part-missing',
    rule: 'getSystemCheck 200: each part',
    breaks: 'The system check says that its engine failed and answers 200.',
    ...replyJson('getSystemCheck', body => ({ ...body, engine: { ...body.engine, success: false } })),
  },
  {
    name: 'health-down',
    rule: 'getHealth: answers as soon as the process serves requests',
    breaks: 'Health answers 503.',
    onReply: (reply, _, context) =>
      isOf('getHealth', context)
        ? { ...toError(503, 'starting'), headers: { ...reply.headers, 'retry-after': '1' } }
        : reply,
  },
]
