/** Fresh faults in models, their checkpoints, logged trajectories and runs. */
import { changeJson, type Fault } from './fault.ts'
import {
  beside,
  bodyOf,
  isObject,
  type Json,
  look,
  numberOf,
  objectsOf,
  onSuccess,
  onThings,
  refusal,
  remembered,
  textOf,
} from './held-out-zoo-tools.ts'

/** Where a metric that logTrajectories computed is shown. */
const ofMetrics = ['logTrajectories', 'listCheckpoints', 'getRunMetrics']

function groupsOf(body: Json): Json[] {
  return objectsOf(body['trajectory_groups'])
}

function sizeOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}

/** One logged metric that is computed in another way, everywhere it is shown. */
function onLogged(metric: string, compute: (value: number, groups: Json[]) => number): Fault['onReply'] {
  const restate = (metrics: unknown, change: (name: string, value: unknown) => unknown) =>
    Object.fromEntries(
      Object.entries(isObject(metrics) ? metrics : {}).map(([name, value]) => [name, change(name, value)]),
    )
  return onSuccess(ofMetrics, (value, request, context) => {
    const known = remembered<number>(context, 'values')
    const other = (name: string, one: unknown) => known.get(`${name} ${one}`) ?? one
    const name = `${value['split']}/${metric}`
    const metrics = value['metrics']
    if (context.operationId === 'logTrajectories' && isObject(metrics) && typeof metrics[name] === 'number')
      known.set(`${name} ${metrics[name]}`, compute(metrics[name], groupsOf(bodyOf(request))))
    if (context.operationId === 'listCheckpoints')
      return {
        ...value,
        data: objectsOf(value['data']).map(one => ({ ...one, metrics: restate(one['metrics'], other) })),
      }
    return {
      ...value,
      metrics: restate(metrics, (key, one) =>
        Array.isArray(one)
          ? objectsOf(one).map(point => ({ ...point, value: other(key, point['value']) }))
          : other(key, one),
      ),
    }
  })
}

export const freshModelFaults: Fault[] = [
  {
    name: 'fresh-exceptions-by-trajectory',
    rule: 'logTrajectories exception_rate, as in TrainingEventData: part of all attempts that failed',
    breaks: 'It is the number of exceptions for each trajectory, so that two of each give 1 instead of 0.5.',
    onReply: onLogged('exception_rate', (value, groups) => {
      const failed = groups.reduce((sum, group) => sum + sizeOf(group['exceptions']), 0)
      const kept = groups.reduce((sum, group) => sum + sizeOf(group['trajectories']), 0)
      return kept > 0 ? Math.min(1, failed / kept) : value
    }),
  },
  {
    name: 'fresh-lone-attempts-lower-the-spread',
    rule: 'logTrajectories reward_std_dev, as in TrainingEventData: mean over the groups, groups of one left out',
    breaks: 'Groups of one count in the mean, with a deviation of 0.',
    onReply: onLogged('reward_std_dev', (value, groups) => {
      const sizes = groups.map(group => sizeOf(group['trajectories'])).filter(size => size > 0)
      return sizes.length > 0 ? (value * sizes.filter(size => size > 1).length) / sizes.length : value
    }),
  },
  {
    name: 'fresh-reward-is-a-mean-of-groups',
    rule: 'logTrajectories reward, Schema LoggedTrajectories metrics: mean over the trajectories that have the metric',
    breaks: 'It is the mean of the means of the groups, so that attempts in small groups weigh more.',
    onReply: onLogged('reward', (value, groups) => {
      const rewards = groups.map(group => objectsOf(group['trajectories']).map(({ reward }) => numberOf(reward)))
      const means = rewards.filter(list => list.length > 0).map(list => list.reduce((a, b) => a + b, 0) / list.length)
      return means.length > 0 ? means.reduce((a, b) => a + b, 0) / means.length : value
    }),
  },
  {
    name: 'fresh-model-names-unique-in-team',
    rule: 'Schema Model name: unique in the project; createModel: a name that exists already in the project is a 400',
    breaks: 'A name that another project of the team has is a 400 too.',
    onRequest(request, context) {
      if (context.operationId !== 'createModel') return request
      const body = bodyOf(request)
      const place = `${request.headers['authorization']} ${body['entity'] ?? ''} ${body['name']}`
      const known = [...remembered<Json>(context, 'models').values()]
      const isTaken = known.some(model => model['place'] === place && model['project'] !== body['project'])
      return isTaken ? refusal(request, 400, `There is a model ${body['name']}.`, ['body', 'name']) : request
    },
    onReply: onSuccess(['createModel', 'deleteModel'], (value, request, context) => {
      const known = remembered<Json>(context, 'models')
      if (context.operationId === 'deleteModel') known.delete(textOf(value['model_id']))
      else {
        const { entity, name, project } = bodyOf(request)
        known.set(textOf(value['id']), {
          place: `${request.headers['authorization']} ${entity ?? ''} ${name}`,
          project,
        })
      }
      return value
    }),
  },
  {
    name: 'fresh-repeated-step-not-found',
    rule: 'deleteCheckpoints, Schema DeleteCheckpointsRequest steps: a step named twice counts once',
    breaks: 'Named twice, a step that was there counts as deleted and as not found.',
    onReply: onSuccess(['deleteCheckpoints'], (deleted, request) => {
      const steps: unknown = bodyOf(request)['steps']
      const missing: unknown[] = Array.isArray(deleted['not_found_steps']) ? deleted['not_found_steps'] : []
      const again = Array.isArray(steps)
        ? steps.filter((step, at) => steps.indexOf(step) < at && !missing.includes(step))
        : []
      return { ...deleted, not_found_steps: [...missing, ...again] }
    }),
  },
  {
    name: 'fresh-logged-choices-without-logprobs',
    rule: 'listTrajectories, Schema LoggedTrajectory messages_and_choices: a message or a choice, as it was sent',
    breaks: 'The log-probabilities of choices are not kept.',
    onReply: onThings(['listTrajectories'], logged => ({
      ...logged,
      messages_and_choices: objectsOf(logged['messages_and_choices']).map(element =>
        isObject(element['logprobs']) ? { ...element, logprobs: null } : element,
      ),
    })),
  },
  {
    name: 'fresh-second-split-replaces-first',
    rule: 'listCheckpoints, Schema Checkpoint metrics: what logTrajectories added under `<split>/<name>`',
    breaks: 'Logging to a second split takes the metrics of the first one off the checkpoint.',
    onReply: onSuccess(['logTrajectories', 'listCheckpoints'], (value, _, context) => {
      const splits = remembered<string[]>(context, 'splits')
      const place = (step: unknown) => `${(context.path['model_id'] ?? '').toLowerCase()} ${step}`
      if (context.operationId === 'logTrajectories') {
        const split = textOf(value['split'])
        const others = (splits.get(place(value['step'])) ?? []).filter(other => other !== split)
        splits.set(place(value['step']), [...others, split])
        return value
      }
      const checkpoints = objectsOf(value['data']).map(one => {
        const replaced = splits.get(place(one['step']))?.slice(0, -1) ?? []
        const kept = Object.entries(isObject(one['metrics']) ? one['metrics'] : {}).filter(
          ([name]) => !replaced.some(split => name.startsWith(`${split}/`)),
        )
        return { ...one, metrics: Object.fromEntries(kept) }
      })
      return { ...value, data: checkpoints }
    }),
  },
  {
    name: 'fresh-num-points-of-what-comes',
    rule: 'getRunMetrics, Schema RunMetrics num_points: for each name how many values there are',
    breaks: 'It is the number of values in the reply, so nothing tells that a series was thinned out.',
    onReply: onSuccess(['getRunMetrics'], found => ({
      ...found,
      num_points: Object.fromEntries(
        Object.entries(isObject(found['metrics']) ? found['metrics'] : {}).map(([name, points]) => [
          name,
          sizeOf(points),
        ]),
      ),
    })),
  },
  {
    name: 'fresh-run-user-is-the-reader',
    rule: 'listRuns, Schema Run user: user who created the model, and so the run',
    breaks: 'It is the user who asks.',
    async onReply(reply, request, context) {
      if (context.operationId !== 'listRuns' || reply.status !== 200) return reply
      const keys = await look(request, context, beside(request, '/v1/preview/api-keys?limit=1'))
      const user = textOf(objectsOf(bodyOf(keys)['data'])[0]?.['user'])
      return changeJson<Json>(reply, page => ({
        ...page,
        data: objectsOf(page['data']).map(run => (user === '' ? run : { ...run, user })),
      }))
    },
  },
  {
    name: 'fresh-metrics-outlive-their-model',
    rule: 'deleteModel: deletes the model with all its checkpoints, their artifacts and its run; getRunMetrics',
    breaks: 'The metrics of the run can still be read by its id.',
    async onRequest(request, context) {
      if (context.operationId !== 'deleteModel') return request
      const model = await look(request, context, beside(request, `/v1/preview/models/${context.path['model_id']}`))
      const run = textOf(bodyOf(model)['run_id'])
      if (run === '') return request
      const metrics = await look(request, context, beside(request, `/v1/preview/runs/${run}/metrics`))
      remembered<typeof metrics>(context, 'runs').set(`${request.headers['authorization']} ${run}`, metrics)
      return request
    },
    onReply(reply, request, context) {
      if (context.operationId !== 'getRunMetrics' || reply.status !== 404) return reply
      const run = `${request.headers['authorization']} ${(context.path['run_id'] ?? '').toLowerCase()}`
      const kept = remembered<typeof reply>(context, 'runs').get(run)
      return kept ? { ...kept, headers: { ...kept.headers, 'x-request-id': reply.headers['x-request-id'] } } : reply
    },
  },
  {
    name: 'fresh-checkpoints-are-their-own-root',
    rule: 'listInferenceModels, Schema InferenceModel root: id of the base model that this one is made of',
    breaks: 'The root of a checkpoint is its own id.',
    onReply: onSuccess(['listInferenceModels'], list => ({
      ...list,
      data: objectsOf(list['data']).map(model => ({ ...model, root: model['id'] })),
    })),
  },
]
