/** A streamed completion, read event by event as it arrives. */
import { expect } from 'vitest'
import type { components } from '../../generated/schema.d.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { DONE } from '../../src/contract/conform.ts'
import { createSseByteParser } from '../../src/contract/sse-events.ts'
import { client } from './setup.ts'

export type Chunk = components['schemas']['ChatCompletionChunk']
type Choice = components['schemas']['ChatCompletionChoice']

/** Stop tokens of which whatever comes first ends an answer. */
export const ANY_TOKENS = Array.from({ length: 500 }, (_, id) => id)

export interface Streamed {
  chunks: Chunk[]
  /** The content of each choice, by index. */
  texts: string[]
  /** How often bytes arrived. */
  arrivals: number
  /** When each chunk with content, token ids or a reason to finish arrived, in milliseconds since the request was sent. */
  contentTimes: number[]
  headers: Headers
}

/** Throws where the answer is not a stream; that its events conform is checked by the client. */
export async function streamChat(body: object, options: CallOptions & { id?: OperationId } = {}): Promise<Streamed> {
  const { id = 'createChatCompletion', ...rest } = options
  const start = performance.now()
  const response = await client.open(id, { ...rest, body: { ...body, stream: true } })
  const type = response.headers.get('content-type') ?? ''
  if (response.status !== 200 || !type.startsWith('text/event-stream')) {
    throw new Error(`No stream but ${response.status} ${type}: ${await response.text()}`)
  }
  const parser = createSseByteParser()
  const chunks: Chunk[] = []
  const contentTimes: number[] = []
  let arrivals = 0
  for await (const bytes of response.body!) {
    arrivals++
    const at = performance.now() - start
    for (const { data } of parser.push(bytes)) {
      if (data === DONE) continue
      const chunk = JSON.parse(data) as Chunk
      chunks.push(chunk)
      if (chunk.choices?.some(({ delta }) => delta.content || delta.reasoning)) contentTimes.push(at)
    }
  }
  const texts: string[] = []
  for (const { index, delta } of chunks.flatMap(chunk => chunk.choices ?? []))
    texts[index] = (texts[index] ?? '') + (delta.content ?? '')
  return { chunks, texts, arrivals, contentTimes, headers: response.headers }
}

/** What a choice says, whether it came in one body or in pieces. */
export interface Whole {
  role: unknown
  content: string
  /** Null where none came. */
  tokens: { token: string; bytes: unknown; alternatives: number }[] | null
  /** Of the tokens. They are not compared exactly: what else a machine computes at the same time may change their last digits. */
  logprobs: number[]
  token_ids: number[] | null
  finish_reason: unknown
  stop_reason: unknown
}

type Logprobs = NonNullable<Choice['logprobs']>

export function fromChoices(choices: readonly Choice[]): Whole[] {
  return choices.map(({ message, logprobs, token_ids, finish_reason, stop_reason }) => {
    const whole: Whole = {
      ...emptyWhole(),
      token_ids: token_ids ?? null,
      finish_reason,
      stop_reason: stop_reason ?? null,
    }
    whole.role = message.role
    whole.content = message.content ?? ''
    addLogprobs(whole, logprobs)
    return whole
  })
}

/** The pieces put together, by the index of the choice. */
export function fromChunks(chunks: readonly Chunk[]): Whole[] {
  const wholes: Whole[] = []
  for (const choice of chunks.flatMap(({ choices }) => choices)) {
    const whole = wholes[choice.index] ?? emptyWhole()
    wholes[choice.index] = whole
    whole.role ??= choice.delta.role ?? null
    whole.content += choice.delta.content ?? ''
    addLogprobs(whole, choice.logprobs)
    if (choice.token_ids) whole.token_ids = [...(whole.token_ids ?? []), ...choice.token_ids]
    whole.finish_reason ??= choice.finish_reason
    whole.stop_reason ??= choice.stop_reason ?? null
  }
  return wholes
}

function emptyWhole(): Whole {
  return {
    role: null,
    content: '',
    tokens: null,
    logprobs: [],
    token_ids: null,
    finish_reason: null,
    stop_reason: null,
  }
}

function addLogprobs(whole: Whole, logprobs: Logprobs | null | undefined): void {
  if (!logprobs?.content) return
  const tokens = logprobs.content.map(({ token, bytes, top_logprobs }) => {
    return { token, bytes, alternatives: top_logprobs?.length ?? 0 }
  })
  whole.tokens = [...(whole.tokens ?? []), ...tokens]
  whole.logprobs.push(...logprobs.content.map(({ logprob }) => logprob))
}

/** Throws where the two say different things. */
export function expectSameWholes(streamed: readonly Whole[], whole: readonly Whole[]): void {
  const exact = (wholes: readonly Whole[]) => wholes.map(one => ({ ...one, logprobs: one.logprobs.length }))
  expect(exact(streamed)).toEqual(exact(whole))
  for (const [index, { logprobs }] of whole.entries())
    for (const [at, logprob] of logprobs.entries())
      expect(streamed[index]!.logprobs[at], `the log-probability of token ${at}`).toBeCloseTo(logprob, 1)
}
