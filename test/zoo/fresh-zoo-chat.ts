/** Fresh faults in what chat completions take and give as one body. */
import type { Fault, ZooContext, ZooReply, ZooRequest } from './fault.ts'
import {
  bodyOf,
  changeEvents,
  chatOperations,
  isObject,
  type Json,
  numberOf,
  objectsOf,
  onBody,
  onSuccess,
  refusal,
  remembered,
  textOf,
  withBody,
  withoutKeys,
} from './held-out-zoo-tools.ts'

/** A reply hook that refuses what the service has answered, so that whatever it refuses itself stays as it was. */
function refuseWhere(loc: string[], message: string, isRefused: (body: Json) => boolean): Fault['onReply'] {
  return (reply: ZooReply, request: ZooRequest, context: ZooContext) =>
    chatOperations.includes(context.operationId) && reply.status === 200 && isRefused(bodyOf(request))
      ? refusal(request, 422, message, ['body', ...loc])
      : reply
}

/** Changes the tokens in the log-probabilities of choices, whole ones and those of chunks. */
function onTokens(change: (token: Json, body: Json) => Json): Pick<Fault, 'onReply' | 'onEvents'> {
  const inside = (completion: Json, body: Json): Json => ({
    ...completion,
    choices: objectsOf(completion['choices']).map(choice => {
      const logprobs = choice['logprobs']
      if (!isObject(logprobs)) return choice
      return { ...choice, logprobs: { ...logprobs, content: objectsOf(logprobs['content']).map(t => change(t, body)) } }
    }),
  })
  return {
    onReply: onSuccess(chatOperations, (completion, request) => inside(completion, bodyOf(request))),
    onEvents: (pieces, request) =>
      changeEvents(pieces, event => ['choices' in event ? inside(event, bodyOf(request)) : event]),
  }
}

const withAlternatives = (token: Json, change: (alternative: Json) => Json): Json => ({
  ...token,
  top_logprobs: objectsOf(token['top_logprobs']).map(change),
})

/** Team, project and name in the URI of a trained model. */
function modelIn(uri: unknown): string {
  return /^[^:/]+:\/\/\/?([^:]+)/.exec(textOf(uri))?.[1] ?? ''
}

export const freshChatFaults: Fault[] = [
  {
    name: 'fresh-choices-share-their-draws',
    rule: 'createChatCompletion seed: each choice has draws of its own',
    breaks: 'With a seed all choices are drawn with the same numbers, so that they are the same.',
    onReply: onSuccess(chatOperations, (completion, request) => {
      const { seed, use_beam_search } = bodyOf(request)
      const choices = objectsOf(completion['choices'])
      const first = choices[0]
      if (!first || typeof seed !== 'number' || seed === -1 || use_beam_search === true) return completion
      const tokens = Array.isArray(first['token_ids']) ? first['token_ids'].length : 0
      const usage = isObject(completion['usage']) ? completion['usage'] : {}
      const generated = tokens > 0 ? tokens * choices.length : numberOf(usage['completion_tokens'])
      return {
        ...completion,
        choices: choices.map(({ index }) => ({ ...first, index })),
        usage: {
          ...usage,
          completion_tokens: generated,
          total_tokens: numberOf(usage['prompt_tokens']) + generated,
        },
      }
    }),
  },
  {
    name: 'fresh-seed-minus-one-is-a-seed',
    rule: 'createChatCompletion seed: omitted, null or -1 takes a random seed',
    breaks: 'The seed -1 gives the same draws each time, like any other.',
    onRequest: onBody(chatOperations, body => (body['seed'] === -1 ? { ...body, seed: 4_294_967_295 } : undefined)),
  },
  {
    name: 'fresh-tiny-temperature-is-default',
    rule: 'createChatCompletion temperature: 0 is greedy, and so does anything below 0.00001',
    breaks: 'A temperature between 0 and 0.00001 is taken for none, and draws as with 1.',
    onRequest: onBody(chatOperations, body => {
      const temperature = numberOf(body['temperature'])
      return temperature > 0 && temperature < 1e-5 ? { ...body, temperature: 1 } : undefined
    }),
  },
  {
    name: 'fresh-large-bias-refused',
    rule: 'createChatCompletion logit_bias: values are clamped to -100 to 100',
    breaks: 'A value beyond them is a 422.',
    onReply: refuseWhere(['logit_bias'], 'Input should be between -100 and 100', ({ logit_bias }) =>
      Object.values(isObject(logit_bias) ? logit_bias : {}).some(value => Math.abs(numberOf(value)) > 100),
    ),
  },
  {
    name: 'fresh-min-tokens-against-deprecated-limit',
    rule: 'createChatCompletion max_tokens: use max_completion_tokens, which wins when both are set',
    breaks: '`min_tokens` above `max_tokens` is a 422 also where `max_completion_tokens` is higher.',
    onReply: refuseWhere(['min_tokens'], 'min_tokens is above max_tokens', ({ min_tokens, max_tokens }) =>
      typeof max_tokens === 'number' ? numberOf(min_tokens) > max_tokens : false,
    ),
  },
  {
    name: 'fresh-four-stop-texts-at-most',
    rule: 'createChatCompletion stop: up to 16 texts that end a choice',
    breaks: 'More than four are a 422.',
    onReply: refuseWhere(
      ['stop'],
      'List should have at most 4 items',
      ({ stop }) => Array.isArray(stop) && stop.length > 4,
    ),
  },
  {
    name: 'fresh-bytes-of-the-token-id',
    rule: "createChatCompletion, Schema TokenLogprob bytes: the token's bytes",
    breaks: 'With `return_tokens_as_token_ids` they are the bytes of the text `token_id:<id>`.',
    ...onTokens((token, body) => {
      if (body['return_tokens_as_token_ids'] !== true) return token
      const spell = (one: Json): Json => ({ ...one, bytes: [...Buffer.from(textOf(one['token']))] })
      return withAlternatives(spell(token), spell)
    }),
  },
  {
    name: 'fresh-alternatives-keep-their-text',
    rule: 'createChatCompletion return_tokens_as_token_ids: tokens are written as `token_id:<id>`, also among the alternatives',
    breaks: 'Only the tokens themselves are, alternatives are written as text.',
    ...onTokens((token, body) => {
      if (body['return_tokens_as_token_ids'] !== true) return token
      return withAlternatives(token, one => ({
        ...one,
        token: Array.isArray(one['bytes']) ? Buffer.from(one['bytes'].map(numberOf)).toString('utf8') : one['token'],
      }))
    }),
  },
  {
    name: 'fresh-deleted-model-still-answers',
    rule: 'createChatCompletion model: an unknown one is a 404; deleteModel deletes the model with all its checkpoints',
    breaks: 'A deleted model goes on to answer, as its weights are still in memory.',
    onRequest(request, context) {
      const body = bodyOf(request)
      const owner = remembered<string>(context, 'gone').get(modelIn(body['model']))
      const isOwn = owner !== undefined && owner === request.headers['authorization']
      if (!isOwn || !chatOperations.includes(context.operationId)) return request
      const logprobs = body['logprobs'] ?? true
      return withBody(request, { return_token_ids: true, ...withoutKeys(body, 'model'), logprobs })
    },
    onReply: onSuccess([...chatOperations, 'createModel', 'deleteModel'], (value, request, context) => {
      const gone = remembered<string>(context, 'gone')
      const names = remembered<string>(context, 'names')
      if (context.operationId === 'createModel') {
        const name = [value['entity'], value['project'], value['name']].join('/')
        names.set(textOf(value['id']), name)
        gone.delete(name)
      } else if (context.operationId === 'deleteModel') {
        const name = names.get(textOf(value['model_id']))
        if (name !== undefined) gone.set(name, request.headers['authorization'] ?? '')
      } else if (gone.has(modelIn(bodyOf(request)['model']))) return { ...value, model: bodyOf(request)['model'] }
      return value
    }),
  },
  {
    name: 'fresh-rank-among-the-listed',
    rule: 'createChatCompletion, Schema PromptLogprob rank: place among all tokens by probability, from 1',
    breaks: 'It is the place among those that are listed.',
    onReply: onSuccess(chatOperations, completion => {
      const entries = completion['prompt_logprobs']
      if (!Array.isArray(entries)) return completion
      const ranked = entries.map(entry => {
        if (!isObject(entry)) return entry
        const ranks = objectsOf(Object.values(entry)).map(({ rank }) => numberOf(rank))
        const place = (rank: unknown) => ranks.filter(other => other < numberOf(rank)).length + 1
        const placed = Object.entries(entry).map(([id, one]) => [
          id,
          { ...(one as Json), rank: place((one as Json)['rank']) },
        ])
        return Object.fromEntries(placed)
      })
      return { ...completion, prompt_logprobs: ranked }
    }),
  },
  {
    name: 'fresh-limit-shared-by-choices',
    rule: 'createChatCompletion max_completion_tokens: most tokens to generate for each choice',
    breaks: 'With `n` above 1 the choices share the limit.',
    onRequest: onBody(chatOperations, body => {
      const { n, max_completion_tokens: limit } = body
      if (numberOf(n) < 2 || typeof limit !== 'number' || !Number.isInteger(limit) || limit < 2) return undefined
      const shared = Math.max(1, numberOf(body['min_tokens']), Math.floor(limit / numberOf(n)))
      return shared < limit ? { ...body, max_completion_tokens: shared } : undefined
    }),
  },
  {
    name: 'fresh-choice-as-message-dropped',
    rule: 'createChatCompletion messages: an element may also be a choice as a completion returned it, whose message is taken',
    breaks: 'Such an element is passed over, so that the prompt lacks it.',
    onRequest: onBody(chatOperations, body => {
      const messages = body['messages']
      if (!Array.isArray(messages)) return undefined
      const kept = messages.filter(message => !isObject(message) || 'role' in message || !isObject(message['message']))
      return kept.length > 0 && kept.length < messages.length ? { ...body, messages: kept } : undefined
    }),
  },
  {
    name: 'fresh-white-space-option-ignored',
    rule: 'createChatCompletion, Schema StructuredOutputs disable_any_whitespace: write JSON without optional white space',
    breaks: 'It has no effect, and blanks come all the same.',
    onRequest: onBody(chatOperations, body => {
      const rules = body['structured_outputs']
      if (!isObject(rules) || rules['disable_any_whitespace'] !== true) return undefined
      return { ...body, structured_outputs: withoutKeys(rules, 'disable_any_whitespace') }
    }),
  },
  {
    name: 'fresh-schema-format-needs-its-type',
    rule: 'createChatCompletion, Schema JsonSchemaResponseFormat: the `type` may be left out',
    breaks: 'A format without it is a 422.',
    onReply: refuseWhere(
      ['response_format', 'type'],
      'Field required',
      ({ response_format: format }) => isObject(format) && 'json_schema' in format && !('type' in format),
    ),
  },
  {
    name: 'fresh-repetition-judged-while-off',
    rule: 'createChatCompletion, Schema RepetitionDetection min_count: below 2 while the detection is on it is a 422',
    breaks: 'It is a 422 also while `max_pattern_size` 0 switches the detection off.',
    onReply: refuseWhere(
      ['repetition_detection', 'min_count'],
      'Input should be at least 2',
      ({ repetition_detection: detection }) => isObject(detection) && numberOf(detection['min_count']) < 2,
    ),
  },
]
