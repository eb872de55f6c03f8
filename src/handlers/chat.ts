import type { components } from '../../generated/schema.d.ts'
import { toArtifactUri } from '../artifacts/uri.ts'
import { requireMember } from '../auth.ts'
import type { Context } from '../context.ts'
import { busy, invalidValue } from '../errors.ts'
import { checkRoom, fromChatRequest, toChatChunks, toChatCompletion } from '../inference/chat.ts'
import { findChatModel } from '../inference/chat-model.ts'
import { BusyError, type GeneratePart, PromptError } from '../inference/engine.ts'
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
  checkProject(context, headers)
  const { baseModel, adapter } = await findChatModel(context, body.model)
  const { prompt, sampling, options } = fromChatRequest(body, adapter !== null, context.settings)
  const request = { baseModel: baseModel.name, adapter, prompt, sampling }
  const parts = await begin(context.inference.generate(request, context.signal), part => {
    if (part.type === 'prompt') checkRoom(part.tokenIds.length, baseModel.contextLength, options.outputBound)
    countTokens(part, context, baseModel.name)
  })
  const head = {
    id: `chatcmpl-${crypto.randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model || baseModel.name,
  }
  if (body.stream) return { status: 200, events: toChatChunks(parts, head, sampling.n, options) }
  return { status: 200, body: await toChatCompletion(parts, head, options) }
}

export const listInferenceModels: Handler<'listInferenceModels'> = async ({ headers }, context) => {
  checkProject(context, headers)
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

/** The project header attributes usage to a team; one that the caller is not in is a 403. */
function checkProject({ principal }: Context, headers: Record<string, string | undefined>): void {
  const project = headers['vendor-project'] ?? headers['openai-project']
  if (!project?.includes('/')) return
  requireMember(principal, project.slice(0, project.indexOf('/')))
}

/**
 * Waits for the first part, so that a request at fault, or a full queue, still gets its proper status. The rest is a stream that the
 * caller must read to its end or leave. `onPart` sees each part before the caller does, and refuses the prompt by throwing.
 */
async function begin(
  parts: AsyncIterable<GeneratePart>,
  onPart: (part: GeneratePart) => void,
): Promise<AsyncIterable<GeneratePart>> {
  const iterator = parts[Symbol.asyncIterator]()
  const first = await iterator.next().catch(error => {
    throw toRequestError(error)
  })
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
    const result = isFirst ? first : await iterator.next()
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

function toRequestError(error: unknown): unknown {
  if (error instanceof PromptError) return invalidValue(['body', ...error.loc], error.message, error.type)
  if (error instanceof BusyError) return busy('Too many choices are waiting for the engine')
  return error
}

function countTokens(part: GeneratePart, { metrics }: Context, model: string): void {
  if (part.type === 'prompt') metrics.countTokens(model, 'prompt', part.tokenIds.length)
  if (part.type === 'delta') metrics.countTokens(model, 'completion', part.tokens.length)
}
