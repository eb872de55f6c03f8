/** Chat requests that are taken for others, and models that are not where they should be. */
import { isOf, type Json, replyItems, replyJson, toError } from './change-replies.ts'
import { jsonOf, requestHeaders, requestJson, requestPath, whereGood } from './change-requests.ts'
import type { Fault } from './fault.ts'

const CHAT = 'createChatCompletion createChatCompletionSlash'

function eachChoice(change: (choice: Json) => void): Pick<Fault, 'onReply'> {
  return replyJson(CHAT, body => {
    for (const choice of body.choices) change(choice)
  })
}

export const chatRequestFaults: Fault[] = [
  {
    name: 'token-ids-one-short',
    rule: 'createChatCompletion: token_ids are all of a choice',
    breaks: 'The last token id is missing.',
    ...eachChoice(choice => {
      choice.token_ids?.pop()
    }),
  },
  {
    name: 'tuned-without-token-ids',
    rule: 'createChatCompletion: on a trained model every choice carries logprobs and token_ids',
    breaks: 'Trained models give no token ids unasked.',
    ...eachChoice(choice => {
      choice.token_ids = null
    }),
  },
  {
    name: 'prompt-token-ids-missing',
    rule: 'createChatCompletion: return_token_ids gives prompt_token_ids',
    breaks: 'prompt_token_ids is always null.',
    ...replyJson(CHAT, body => ({ ...body, prompt_token_ids: null })),
  },
  {
    name: 'n-zero',
    rule: 'schema ChatCompletionRequest: n is at least 1',
    breaks: 'An n of 0 is taken for 1.',
    ...requestJson(CHAT, body => {
      if (body.n === 0) body.n = 1
    }),
  },
  {
    name: 'temp-max',
    rule: 'schema ChatCompletionRequest: temperature is at most 2',
    breaks: 'A temperature above 2 is taken for 2.',
    ...requestJson(CHAT, body => {
      if (body.temperature > 2) body.temperature = 2
    }),
  },
  {
    name: 'temp-max-refused',
    rule: 'schema ChatCompletionRequest: temperature is at most 2',
    breaks: 'A temperature of 2 is refused.',
    onRequest: (request, context) =>
      isOf(CHAT, context) && jsonOf(request)?.temperature === 2 ? toError(422, 'temperature') : request,
  },
  {
    name: 'null-stream',
    rule: 'schema ChatCompletionRequest: stream null is false',
    breaks: 'A stream of null is taken for true.',
    ...requestJson(CHAT, body => {
      if (body.stream === null) body.stream = true
    }),
  },
  {
    name: 'rules-between-fields-ignored',
    rule: 'createChatCompletion: rules between fields, each a 422',
    breaks: 'Fields that break a rule are left out of the request and nothing is said.',
    async onReply(reply, request, context) {
      if (!isOf(CHAT, context) || reply.status !== 422 || reply.body.length === 0) return reply
      const body = jsonOf(request)
      const { detail } = JSON.parse(reply.body.toString('utf8'))
      if (typeof body !== 'object' || body === null) return reply
      const { messages: _, ...rest } = body
      for (const { loc } of detail) if (loc[1] !== undefined) delete rest[loc[1]]
      const messages = [{ role: 'user', content: 'hi' }]
      const plain = { model: rest.model, messages, max_completion_tokens: 1, stream: rest.stream ?? false }
      return context.send({ ...request, body: Buffer.from(JSON.stringify(plain)) })
    },
  },
  {
    name: 'unknown-model-falls-back',
    rule: 'createChatCompletion 404: an unknown model',
    breaks: 'An unknown model is answered by the base model.',
    async onReply(reply, request, context) {
      const body = isOf(CHAT, context) && reply.status === 404 ? jsonOf(request) : undefined
      if (typeof body?.model !== 'string') return reply
      return context.send({ ...request, body: Buffer.from(JSON.stringify({ ...body, model: 'tiny-chat' })) })
    },
  },
  {
    name: 'two-slashes-unknown',
    rule: 'createChatCompletion: two slashes are understood in the URI of a model',
    breaks: 'A URI with two slashes is not found.',
    onRequest: (request, context) =>
      isOf(CHAT, context) && /:\/\/[^/]/.test(String(jsonOf(request)?.model)) ? toError(404, 'No such model') : request,
  },
  {
    name: 'inference-address-missing',
    rule: 'Addresses: the inference address is the same one followed by /v1',
    breaks: 'The model list is not at the inference address.',
    onRequest: (request, context) => (isOf('listInferenceModels', context) ? toError(404, 'Not found') : request),
  },
  {
    name: 'inference-models-without-checkpoints',
    rule: "listInferenceModels: each checkpoint of the caller's teams",
    breaks: 'The model list has base models only.',
    ...replyJson('listInferenceModels', body => ({
      ...body,
      data: body.data.filter(({ id }: Json) => !id.includes('://')),
    })),
  },
  {
    name: 'owner-unknown',
    rule: 'listInferenceModels 200, schema InferenceModel: owned_by',
    breaks: 'Models are owned by nobody.',
    ...replyItems('listInferenceModels', item => ({ ...item, owned_by: '' })),
  },
  {
    name: 'project-header-ignored',
    rule: 'createChatCompletion 403: the project header names a team that the caller is not in',
    breaks: 'The project header is not looked at.',
    ...whereGood(requestHeaders('*', () => ({ 'vendor-project': undefined, 'openai-project': undefined }))),
  },
  {
    name: 'openai-project-refused',
    rule: 'createChatCompletion: an OpenAI-Project without a slash is left alone',
    breaks: 'An OpenAI-Project of another form is a 422.',
    onRequest: (request, context) =>
      isOf(CHAT, context) && /^[^/]+$/.test(request.headers['openai-project'] ?? '')
        ? toError(422, 'OpenAI-Project')
        : request,
  },
  {
    name: 'content-parts-refused',
    rule: 'schema UserMessage: content is text or a list of parts',
    breaks: 'Content in parts is refused.',
    onRequest: (request, context) => {
      const messages = isOf(CHAT, context) ? jsonOf(request)?.messages : undefined
      return Array.isArray(messages) && messages.some((message: Json) => Array.isArray(message?.content))
        ? toError(422, 'content is a list')
        : request
    },
  },
  {
    name: 'custom-roles-refused',
    rule: 'schema ChatMessage: messages of tools and developers',
    breaks: 'Messages of the roles developer and tool are refused.',
    onRequest: (request, context) => {
      const messages = isOf(CHAT, context) ? jsonOf(request)?.messages : undefined
      const isOdd = Array.isArray(messages) && messages.some((one: Json) => ['developer', 'tool'].includes(one?.role))
      return isOdd ? toError(422, 'role') : request
    },
  },
  {
    name: 'long-prompt-cut',
    rule: 'createChatCompletion: a prompt beyond the context is a 422',
    breaks: 'A prompt beyond the context is cut.',
    ...whereGood(
      requestJson(CHAT, body => {
        for (const message of Array.isArray(body.messages) ? body.messages : [])
          if (typeof message?.content === 'string' && message.content.length > 4000 && !body.truncate_prompt_tokens)
            message.content = message.content.slice(0, 100)
      }),
    ),
  },
  {
    name: 'default-model-missing',
    rule: 'schema ChatCompletionRequest: model null or left out is the default base model',
    breaks: 'A chat without a model is a 404.',
    onRequest: (request, context) => {
      const body = isOf(CHAT, context) ? jsonOf(request) : undefined
      return Array.isArray(body?.messages) && body.model === undefined ? toError(404, 'No model') : request
    },
  },
  {
    name: 'v1-twice',
    rule: 'Addresses: the same path on both servers',
    breaks: 'Paths under /v1/v1 are answered too.',
    ...requestPath('*', path => path.replace('/v1/nothing', '/v1/health')),
  },
]
