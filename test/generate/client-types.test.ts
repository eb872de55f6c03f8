import { describe, expectTypeOf, test } from 'vitest'
import type { ApiError, Client, Input, Output } from '../../generated/client.ts'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  Checkpoint,
  Model,
  TrainingJobStatus,
} from '../../generated/schema.d.ts'

// These are checked by `npm run check:types`; at run time they do nothing.
describe('the types of the client', () => {
  test('tell a chat completion from its stream', () => {
    expectTypeOf<Client['createChatCompletion']>().returns.resolves.toEqualTypeOf<ChatCompletion>()
    expectTypeOf<Client['streamChatCompletion']>().returns.toExtend<AsyncIterable<ChatCompletionChunk>>()
    type JsonInput = Parameters<Client['createChatCompletion']>[0]
    type StreamInput = Parameters<Client['streamChatCompletion']>[0]
    expectTypeOf<{ messages: []; stream: false }>().toExtend<JsonInput>()
    expectTypeOf<{ messages: []; stream: true }>().not.toExtend<JsonInput>()
    expectTypeOf<{ messages: []; stream: true }>().toExtend<StreamInput>()
    expectTypeOf<{ messages: []; stream: false }>().not.toExtend<StreamInput>()
    expectTypeOf<{ model: 'tiny-chat' }>().not.toExtend<JsonInput>()
    expectTypeOf<{ messages: [{ role: 'user'; content: 'hello' }]; temperature: number }>().toExtend<JsonInput>()
    expectTypeOf<{ messages: []; temperature: string }>().not.toExtend<JsonInput>()
  })

  test('put path, query and body side by side', () => {
    expectTypeOf<{ model_id: string; steps: number[] }>().toExtend<Input<'deleteCheckpoints'>>()
    expectTypeOf<{ steps: number[] }>().not.toExtend<Input<'deleteCheckpoints'>>()
    expectTypeOf<{ model_id: string; limit: number; order: 'asc' }>().toExtend<Input<'listCheckpoints'>>()
    expectTypeOf<{ model_id: string; limit: string }>().not.toExtend<Input<'listCheckpoints'>>()
    expectTypeOf<{ entity: string; project: string; object_id: string; body: string[] }>().toExtend<
      Input<'deleteScorer'>
    >()
  })

  test('name what comes back', () => {
    expectTypeOf<Client['createModel']>().returns.resolves.toEqualTypeOf<Model>()
    expectTypeOf<Client['iterateCheckpoints']>().returns.toExtend<AsyncIterable<Checkpoint>>()
    expectTypeOf<Client['getArtifactFile']>().returns.resolves.toEqualTypeOf<Response>()
    expectTypeOf<Output<'getTrainingJob'>['status']>().toEqualTypeOf<TrainingJobStatus>()
    expectTypeOf<ApiError['status']>().toBeNumber()
  })
})
