/** Fresh faults that only streams of chat completions have. */
import type { Fault } from './fault.ts'
import {
  bodyOf,
  changeEvents,
  chatOperations,
  isObject,
  type Json,
  objectsOf,
  onBody,
  textOf,
  withoutKeys,
} from './held-out-zoo-tools.ts'

/** Whether usage so far is asked for, but not the usage at the end. */
function wantsUsageSoFarAlone(body: Json): boolean {
  const options = body['stream_options']
  return isObject(options) && options['continuous_usage_stats'] === true && options['include_usage'] === false
}

export const freshStreamFaults: Fault[] = [
  {
    name: 'fresh-usage-so-far-alone',
    rule: 'createChatCompletion, Schema StreamOptions continuous_usage_stats: it acts only together with include_usage',
    breaks: 'It acts with `include_usage` false too; only the chunk at the end is left out then.',
    onRequest: onBody(chatOperations, body =>
      wantsUsageSoFarAlone(body)
        ? { ...body, stream_options: { ...(body['stream_options'] as Json), include_usage: true } }
        : undefined,
    ),
    onEvents: (pieces, request) =>
      changeEvents(pieces, event =>
        wantsUsageSoFarAlone(bodyOf(request)) && 'usage' in event && objectsOf(event['choices']).length === 0
          ? []
          : [event],
      ),
  },
  {
    name: 'fresh-echo-in-whole-replies-only',
    rule: "createChatCompletion, the stream: with `echo`, for each choice a chunk with the last message's content",
    breaks: '`echo` has no effect on streams.',
    onRequest: onBody(chatOperations, body =>
      body['stream'] === true && body['echo'] === true ? { ...body, echo: false } : undefined,
    ),
  },
  {
    name: 'fresh-stop-token-untold-in-streams',
    rule: 'createChatCompletion, Schema ChatCompletionChunkChoice stop_reason: id of the stop token, in the chunk that ends the choice',
    breaks: 'It is null in every chunk.',
    onEvents: pieces =>
      changeEvents(pieces, event =>
        'choices' in event
          ? [{ ...event, choices: objectsOf(event['choices']).map(choice => ({ ...choice, stop_reason: null })) }]
          : [event],
      ),
  },
  {
    name: 'fresh-no-to-logprobs-lost-in-streams',
    rule: 'createChatCompletion logprobs: on for trained models; an explicit `false` is respected',
    breaks: 'Streams of trained models have log-probabilities whatever the request says.',
    onRequest: onBody(chatOperations, body =>
      body['stream'] === true && body['logprobs'] === false && textOf(body['model']).includes(':/')
        ? withoutKeys(body, 'logprobs')
        : undefined,
    ),
  },
  {
    name: 'fresh-alternatives-missing-in-streams',
    rule: 'createChatCompletion, the stream: put together, the chunks are what the same request gives as one body',
    breaks: 'The lists of alternatives are empty in streams, whatever `top_logprobs` asks for.',
    onRequest: onBody(chatOperations, body =>
      body['stream'] === true && body['logprobs'] === true ? { ...body, top_logprobs: 0 } : undefined,
    ),
  },
]
