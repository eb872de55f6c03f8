import type { components } from '../../generated/schema.d.ts'
import { toArtifactUri } from '../artifacts/uri.ts'
import { toAttribution } from '../attribution.ts'
import type { Context } from '../context.ts'
import { busy, invalidValue } from '../errors.ts'
import { toConstraintLoc } from '../inference/chat-constraint.ts'
import { findChatModel } from '../inference/chat-model.ts'
import { toChatCompletion } from '../inference/chat-reply.ts'
import { fromChatRequest } from '../inference/chat-request.ts'
import { checkRoom } from '../inference/chat-rules.ts'
import { toChatChunks } from '../inference/chat-stream.ts'
import type { ChatRequest } from '../inference/chat-types.ts'
import { BusyError, type GeneratePart, PromptError } from '../inference/engine.ts'
import { toModelName } from '../inference/model-name.ts'
import type { Handler, Input, Reply } from '../spec/handler.ts'
import { listServedCheckpoints } from '../storage/models.ts'

export const createChatCompletion: Handler<'createChatCompletion'> = (input, context) => complete(input, context)

/** The same operation under the other path (seed: Endpoints). */
export const createChatCompletionSlash: Handler<'createChatCompletionSlash'> = (input, context) =>
  complete(input, context)

async function complete(
  { body, headers }: Pick<Input<'createChatCompletion'>, 'body' | 'headers'>,
  context: Context,
): Promise<Reply<'createChatCompletion'>> {
  const attribution = toAttribution(context.principal, headers)
  const { baseModel, adapter } = await findChatModel(context, body.model)
  const { contextLength, reasoning } = baseModel
  const task = fromChatRequest(body, { trained: adapter !== null, contextLength, reasoning }, context.settings)
  const { prompt, sampling, priority, options } = task
  const cacheScope = JSON.stringify([context.principal.team, body.cache_salt ?? null])
  const request = { baseModel: baseModel.name, adapter, prompt, sampling, priority, cacheScope }
  const model = toModelName(body.model || baseModel.name, context.settings.artifactScheme)
  const countUsage = context.usage.open({ ...attribution, model, api_key_id: context.principal.keyId })
  const toError = (error: unknown) => toRequestError(error, task.constraintLoc)
  const parts = await begin(context.inference.generate(request, context.signal), toError, part => {
    if (part.type === 'prompt') checkRoom(part.tokenIds.length, contextLength, task.outputBound)
    countTokens(part, context, baseModel.name)
    countUsage(part)
  })
  const head = {
    id: `chatcmpl-${toReplyId(body, context)}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model || baseModel.name,
  }
  if (body.stream) return { status: 200, events: toChatChunks(parts, head, sampling.n, options) }
  return { status: 200, body: await toChatCompletion(parts, head, options) }
}

export const listInferenceModels: Handler<'listInferenceModels'> = async ({ headers }, context) => {
  toAttribution(context.principal, headers)
  const { baseModels, database, principal, settings } = context
  const base = [...baseModels.values()].map(({ name, created }) => toEntry(name, created, name))
  const checkpoints = await listServedCheckpoints(database, [...principal.teams.keys()])
  const trained = checkpoints.map(checkpoint => {
    const created = Math.floor(Date.parse(checkpoint.created_at) / 1000)
    return toEntry(
      toArtifactUri(settings.artifactScheme, checkpoint, `step${checkpoint.step}`),
      created,
      checkpoint.base_model,
    )
  })
  return { status: 200, body: { object: 'list', data: [...base, ...trained] } }
}

function toEntry(id: string, created: number, root: string): components['schemas']['InferenceModel'] {
  return { id, object: 'model', created, owned_by: 'system', root }
}

/** The id that came as a header, else the one in the body, else the one that the reply's header has. */
function toReplyId({ request_id: sent }: ChatRequest, { requestId, isRequestIdSent }: Context): string {
  return isRequestIdSent ? requestId : sent || requestId
}

/**
 * Waits for the first part, so that a request at fault, or a full queue, still gets its proper status. The rest is a stream that the
 * caller must read to its end or leave. `onPart` sees each part before the caller does, and refuses the prompt by throwing.
 */
async function begin(
  parts: AsyncIterable<GeneratePart>,
  toError: (error: unknown) => unknown,
  onPart: (part: GeneratePart) => void,
): Promise<AsyncIterable<GeneratePart>> {
  const iterator = parts[Symbol.asyncIterator]()
  const take = async () => {
    try {
      return await iterator.next()
    } catch (error) {
      throw toError(error)
    }
  }
  const first = await take()
  try {
    if (first.done || first.value.type !== 'prompt') throw new Error('The engine gave no prompt')
    onPart(first.value)
  } catch (error) {
    await iterator.return?.()
    throw error
  }
  // Not a generator, whose promises would be felt with every token.
  let isFirst = true
  const next = async () => {
    const result = isFirst ? first : await take()
    if (!isFirst && !result.done) onPart(result.value)
    isFirst = false
    return result
  }
  const leave = async () => {
    await iterator.return?.()
    return { done: true as const, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) }
}

/** A fault in the rule for the text is told where the request has the rule. */
function toRequestError(error: unknown, constraintLoc: string[]): unknown {
  if (error instanceof BusyError) return busy('Too many choices are waiting for the engine')
  if (!(error instanceof PromptError)) return error
  const [first, ...path] = error.loc
  const loc = first === 'constraint' ? toConstraintLoc(constraintLoc, path) : error.loc
  return invalidValue(['body', ...loc], error.message, error.type)
}

function countTokens(part: GeneratePart, { metrics }: Context, model: string): void {
  if (part.type === 'prompt') metrics.countTokens(model, 'prompt', part.tokenIds.length)
  if (part.type === 'delta') metrics.countTokens(model, 'completion', part.tokens.length)
}
