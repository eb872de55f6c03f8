/** Lists of models for chats and for routers that are wrong in detail, and a system check that contradicts itself. */
import { type Json, replyItems, replyJson } from './change-replies.ts'
import type { Fault } from './fault.ts'

const LIST = 'listInferenceModels'

function isUri({ id }: Json): boolean {
  return id.includes(':///')
}

export const inferenceModelFaults: Fault[] = [
  {
    name: 'inference-checkpoints-first',
    rule: 'listInferenceModels: base models first',
    breaks: 'Checkpoints come before base models.',
    ...replyJson(LIST, body => {
      body.data.reverse()
    }),
  },
  {
    name: 'inference-checkpoint-twice',
    rule: 'listInferenceModels: each checkpoint by its URI',
    breaks: 'The last checkpoint comes twice.',
    ...replyJson(LIST, body => {
      const last = body.data.at(-1)
      if (isUri(last)) body.data.push(last)
    }),
  },
  {
    name: 'inference-newest-without-step',
    rule: 'listInferenceModels: the URI without the step is not listed of its own',
    breaks: 'Each model is listed without a step as well.',
    ...replyJson(LIST, body => {
      const firsts = body.data.filter(({ id }: Json) => id.endsWith(':step0'))
      for (const one of firsts) body.data.push({ ...one, id: one.id.slice(0, -':step0'.length) })
    }),
  },
  {
    name: 'inference-unknown-base-model',
    rule: 'listInferenceModels: the base models',
    breaks: 'A base model is listed that the router does not know.',
    ...replyJson(LIST, body => {
      body.data.unshift({ ...body.data[0], id: 'other', root: 'other' })
    }),
  },
  {
    name: 'inference-narrowed-by-project',
    rule: 'listInferenceModels: the project header narrows nothing',
    breaks: 'With the project header only checkpoints of that project are listed.',
    onReply(reply, request, context) {
      const only = request.headers['vendor-project']
      const { onReply } = replyJson(LIST, body => {
        body.data = body.data.filter((one: Json) => !isUri(one) || one.id.includes(`:///${only}/`))
      })
      return only === undefined ? reply : onReply(reply, request, context)
    },
  },
  {
    name: 'inference-created-now',
    rule: 'listInferenceModels: created is when the checkpoint came to be',
    breaks: 'Checkpoints were created a minute after they were.',
    ...replyItems(LIST, one => {
      if (isUri(one)) one.created += 60
    }),
  },
  {
    name: 'inference-keeps-deleted',
    rule: 'listInferenceModels: each checkpoint of the teams of the caller',
    breaks: 'What was listed once is listed for ever.',
    ...replyJson(LIST, (body, { memory }) => {
      const known = (memory.get('listed') as Json[] | undefined) ?? []
      const gone = known.filter(one => !body.data.some(({ id }: Json) => id === one.id))
      body.data.push(...gone)
      memory.set('listed', body.data.filter(isUri))
    }),
  },
  {
    name: 'router-price-with-exponent',
    rule: 'listRouterModels: prices are decimal strings',
    breaks: 'The price of a prompt token is written with an exponent.',
    ...replyItems('listRouterModels', ({ pricing }) => {
      pricing.prompt = '5e-8'
    }),
  },
  {
    name: 'router-output-beyond-context',
    rule: 'listRouterModels: context_length is what prompt and output may have together',
    breaks: 'An answer may have more tokens than the context.',
    ...replyItems('listRouterModels', one => {
      one.max_output_length = one.context_length + 1
    }),
  },
  {
    name: 'router-parameter-unknown',
    rule: 'listRouterModels: supported_sampling_parameters are fields of the chat request',
    breaks: 'A sampling parameter is named that no chat has.',
    ...replyItems('listRouterModels', one => {
      one.supported_sampling_parameters.push('typical_p')
    }),
  },
  {
    name: 'system-check-hides-failure',
    rule: 'getSystemCheck: 503 when one part fails',
    breaks: 'The disk fails, and the system check is a 200.',
    ...replyJson('getSystemCheck', ({ disk }) => {
      disk.success = false
      disk.errors = ['no room left']
    }),
  },
  {
    name: 'system-check-errors-of-success',
    rule: 'getSystemCheck: errors are empty when success is true',
    breaks: 'A part that works has an error.',
    ...replyJson('getSystemCheck', ({ job_worker }) => {
      job_worker.errors = ['none']
    }),
  },
]
