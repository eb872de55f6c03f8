/** Held-out faults in models, their checkpoints, logged trajectories and runs. */
import { changeJson, type Fault } from './fault.ts'
import {
  bodyOf,
  isObject,
  type Json,
  look,
  numberOf,
  objectsOf,
  onSuccess,
  queryOf,
  refusal,
  remembered,
  textOf,
  withItems,
  withoutKeys,
  withParameter,
} from './held-out-zoo-tools.ts'

/** All trajectories in a request that carries groups of them. */
function trajectoriesOf(body: Json): Json[] {
  return objectsOf(body['trajectory_groups']).flatMap(group => objectsOf(group['trajectories']))
}

export const modelFaults: Fault[] = [
  {
    name: 'held-model-names-ignore-case',
    rule: 'Schema Model name: unique in the project; createModel: a name that exists already is a 400',
    breaks: 'A name that differs from one of the project in upper and lower case only is a 400.',
    onRequest(request, context) {
      if (context.operationId !== 'createModel') return request
      const body = bodyOf(request)
      const name = textOf(body['name'])
      const place = [request.headers['authorization'], body['project'], name.toLowerCase()].join('\n')
      const known = remembered<string>(context, 'names').get(place)
      return known === undefined || known === name ? request : refusal(request, 400, `There is a model ${known}.`)
    },
    onReply: onSuccess(['createModel'], (model, request, context) => {
      const name = textOf(model['name'])
      const place = [request.headers['authorization'], model['project'], name.toLowerCase()].join('\n')
      remembered<string>(context, 'names').set(place, name)
      return model
    }),
  },
  {
    name: 'held-existing-model-is-created-anew',
    rule: 'Schema CreateModelRequest return_existing: the model of that name is given back as it is',
    breaks: 'With `return_existing` the model that was there comes with a `created_at` of now.',
    onReply: onSuccess(['createModel'], (model, _, context) => {
      const known = remembered<boolean>(context, 'models')
      if (known.has(textOf(model['id']))) return { ...model, created_at: new Date().toISOString() }
      known.set(textOf(model['id']), true)
      return model
    }),
  },
  {
    name: 'held-deleted-model-in-cache',
    rule: 'deleteModel: deletes the model; getModel gives a 404 for no such thing',
    breaks: 'A model that was read once can be read after its deletion.',
    onReply(reply, request, context) {
      if (context.operationId !== 'getModel') return reply
      const cache = remembered<typeof reply>(context, 'cache')
      const key = `${request.headers['authorization']} ${context.path['model_id']}`
      if (reply.status === 200) cache.set(key, reply)
      const cached = reply.status === 404 ? cache.get(key) : undefined
      return cached
        ? { ...cached, headers: { ...cached.headers, 'x-request-id': reply.headers['x-request-id'] } }
        : reply
    },
  },
  {
    name: 'held-step-zero-not-counted',
    rule: 'Schema DeletedModel deleted_checkpoints: number of checkpoints that were deleted with it',
    breaks: 'The untrained checkpoint, step 0, is not counted.',
    onReply: onSuccess(['deleteModel'], deleted => ({
      ...deleted,
      deleted_checkpoints: Math.max(0, numberOf(deleted['deleted_checkpoints']) - 1),
    })),
  },
  {
    name: 'held-deleted-count-of-asked-steps',
    rule: 'Schema DeletedCheckpoints deleted_count: number of checkpoints that were deleted',
    breaks: 'The count is that of the steps in the request.',
    onReply: onSuccess(['deleteCheckpoints'], (deleted, request) => {
      const steps = bodyOf(request)['steps']
      return Array.isArray(steps) ? { ...deleted, deleted_count: steps.length } : deleted
    }),
  },
  {
    name: 'held-missing-steps-sorted',
    rule: 'Schema DeletedCheckpoints not_found_steps: in the order in which they were given',
    breaks: 'The steps that were not there come sorted.',
    onReply: onSuccess(['deleteCheckpoints'], deleted => ({
      ...deleted,
      not_found_steps: Array.isArray(deleted['not_found_steps'])
        ? deleted['not_found_steps'].map(numberOf).toSorted((a, b) => a - b)
        : [],
    })),
  },
  {
    name: 'held-checkpoint-steps-have-a-gap',
    needs: ['training'],
    rule: 'Schema Checkpoint step: number of training jobs behind it',
    breaks: 'The first job makes step 2, and step 1 never is.',
    onReply: onSuccess(['listCheckpoints'], page => ({
      ...page,
      data: objectsOf(page['data']).map(checkpoint =>
        numberOf(checkpoint['step']) > 0 ? { ...checkpoint, step: numberOf(checkpoint['step']) + 1 } : checkpoint,
      ),
    })),
  },
  {
    name: 'held-checkpoints-newest-first',
    needs: ['training'],
    rule: 'listCheckpoints: the lowest first unless `order` says otherwise',
    breaks: 'Without `order` the highest step comes first.',
    onRequest(request, context) {
      const isDefault = context.operationId === 'listCheckpoints' && !queryOf(request).has('order')
      return isDefault ? withParameter(request, 'order', 'desc') : request
    },
  },
  {
    name: 'held-checkpoint-listed-late',
    needs: ['training'],
    rule: "listCheckpoints: a new checkpoint is listed before its job's `training_ended` event can be read",
    breaks: 'A trained checkpoint is listed some seconds after it was made, as from a replica that lags behind.',
    async onReply(reply, request, context) {
      if (context.operationId !== 'listCheckpoints' || reply.status !== 200) return reply
      const page = bodyOf(reply)
      const isSeen = (checkpoint: Json) =>
        checkpoint['step'] === 0 || Date.now() - Date.parse(textOf(checkpoint['created_at'])) > 5000
      const items = objectsOf(page['data'])
      const newest = items[0]
      if (queryOf(request).get('order') === 'desc' && newest && !isSeen(newest)) {
        const next = withParameter(request, 'after', textOf(newest['id']))
        return { ...(await look(request, context, next.path)), headers: reply.headers }
      }
      if (items.every(isSeen)) return reply
      return changeJson<Json>(reply, () => withItems(page, items.filter(isSeen)))
    },
  },
  {
    name: 'held-boolean-metrics-dropped',
    rule: "Schema Trajectory metrics: the client's own numbers or booleans; logTrajectories averages them",
    breaks: 'Metrics that are booleans are not averaged.',
    onReply: onSuccess(['logTrajectories', 'listCheckpoints', 'getRunMetrics'], (value, request, context) => {
      const dropped = remembered<boolean>(context, 'dropped')
      if (context.operationId === 'logTrajectories') {
        for (const { metrics } of trajectoriesOf(bodyOf(request)))
          for (const [name, own] of Object.entries(isObject(metrics) ? metrics : {}))
            if (typeof own === 'boolean') dropped.set(`${value['split']}/${name}`, true)
      }
      const strip = (owner: Json, key: string): Json =>
        isObject(owner[key]) ? { ...owner, [key]: withoutKeys(owner[key], ...dropped.keys()) } : owner
      if (context.operationId !== 'listCheckpoints') return strip(strip(value, 'metrics'), 'num_points')
      return { ...value, data: objectsOf(value['data']).map(checkpoint => strip(checkpoint, 'metrics')) }
    }),
  },
  {
    name: 'held-mean-over-all-trajectories',
    rule: 'Schema LoggedTrajectories metrics: mean over the trajectories that have the metric',
    breaks: 'An own metric is divided by the number of all trajectories, also of those that lack it.',
    onReply: onSuccess(['logTrajectories'], (logged, request) => {
      const all = trajectoriesOf(bodyOf(request)).map(trajectory => trajectory['metrics'])
      const metrics = isObject(logged['metrics']) ? logged['metrics'] : {}
      const means = Object.entries(metrics).map(([name, mean]) => {
        const own = name.slice(textOf(logged['split']).length + 1)
        const having = all.filter(each => isObject(each) && own in each).length
        return [name, having > 0 ? (numberOf(mean) * having) / all.length : mean]
      })
      return { ...logged, metrics: Object.fromEntries(means) }
    }),
  },
  {
    name: 'held-reward-required',
    rule: 'Schema Trajectory reward: default 0; API conventions: a missing `reward` is 0',
    breaks: 'A trajectory without a reward is refused.',
    onRequest(request, context) {
      if (!['logTrajectories', 'createRlTrainingJob'].includes(context.operationId)) return request
      const lacks = trajectoriesOf(bodyOf(request)).some(trajectory => !('reward' in trajectory))
      const loc = ['body', 'trajectory_groups', '0', 'trajectories', '0', 'reward']
      return lacks && request.headers['authorization'] ? refusal(request, 422, 'Field required', loc) : request
    },
  },
  {
    name: 'held-split-ignored',
    operations: ['listTrajectories'],
    rule: 'listTrajectories split: gives only the trajectories of this split',
    breaks: 'The trajectories of all splits come.',
    onRequest: (request, context) =>
      context.operationId === 'listTrajectories' && (queryOf(request).get('split') ?? '') !== ''
        ? withParameter(request, 'split', undefined)
        : request,
  },
  {
    name: 'held-run-times-in-seconds',
    operations: ['listRuns'],
    rule: 'Ids, times and null: times are RFC 3339 in UTC with milliseconds',
    breaks: 'The times of runs have no fraction.',
    onReply: onSuccess(['listRuns'], page => ({
      ...page,
      data: objectsOf(page['data']).map(run => ({
        ...run,
        created_at: textOf(run['created_at']).replace(/\.\d+Z$/, 'Z'),
      })),
    })),
  },
  {
    name: 'held-runs-of-all-projects',
    operations: ['listRuns'],
    rule: 'listRuns project: gives only the runs of the project of this name',
    breaks: 'The filter by project does nothing once `entity` is sent too.',
    onRequest: (request, context) =>
      context.operationId === 'listRuns' && queryOf(request).has('entity')
        ? withParameter(request, 'project', undefined)
        : request,
  },
  {
    name: 'held-metric-name-is-a-prefix',
    operations: ['getRunMetrics'],
    rule: 'getRunMetrics name: gives only the metric of this name',
    breaks: 'All metrics whose names begin with it come.',
    async onRequest(request, context) {
      const name = queryOf(request).get('name')
      if (context.operationId !== 'getRunMetrics' || !name) return request
      const reply = await context.send(withParameter(request, 'name', undefined))
      if (reply.status !== 200) return reply
      return changeJson<Json>(reply, found => {
        const pick = (key: string) =>
          Object.fromEntries(Object.entries(found[key] as Json).filter(([other]) => other.startsWith(name)))
        const metrics = pick('metrics')
        const last = Object.keys(metrics).toSorted().at(-1) ?? ''
        return { ...found, metrics, num_points: pick('num_points'), last_name: last, has_more: false }
      })
    },
  },
  {
    name: 'held-thinned-series-lose-newest',
    operations: ['getRunMetrics'],
    rule: 'getRunMetrics: a series that is thinned out always has its first and its newest value',
    breaks: 'The newest value of a thinned series is missing.',
    onReply: onSuccess(['getRunMetrics'], found => {
      const counts = isObject(found['num_points']) ? found['num_points'] : {}
      const metrics = Object.entries(isObject(found['metrics']) ? found['metrics'] : {}).map(([name, series]) => {
        const points = objectsOf(series)
        return [name, numberOf(counts[name]) > points.length ? points.slice(0, -1) : points]
      })
      return { ...found, metrics: Object.fromEntries(metrics) }
    }),
  },
]
