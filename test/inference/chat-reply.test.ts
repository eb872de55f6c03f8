import { describe, expect, test } from 'vitest'
import { type ChatChunk, type ReplyOptions, toChatChunks, toChatCompletion } from '../../src/inference/chat.ts'
import type { GeneratedToken, GeneratePart } from '../../src/inference/engine.ts'

const head = { id: 'chatcmpl-1', created: 1, model: 'm' }
const plain: ReplyOptions = {
  logprobs: false,
  tokenIds: false,
  promptTokenIds: false,
  usageFrame: false,
  usageInEveryFrame: false,
  outputBound: null,
}

function token(id: number, logprob = -0.5): GeneratedToken {
  return { id, token: `t${id}`, bytes: [id], logprob, top: [{ id, token: `t${id}`, bytes: [id], logprob }] }
}

const prompt: GeneratePart = { type: 'prompt', tokenIds: [1, 2, 3] }
const delta = (index: number, text: string, ...tokens: GeneratedToken[]): GeneratePart => ({
  type: 'delta',
  index,
  text,
  tokens,
})
const finish = (index: number, reason: 'stop' | 'length', stopTokenId: number | null): GeneratePart => ({
  type: 'finish',
  index,
  reason,
  stopTokenId,
})

async function* toParts(...parts: GeneratePart[]): AsyncGenerator<GeneratePart> {
  yield* parts
}

const fold = (parts: GeneratePart[], options: Partial<ReplyOptions> = {}) =>
  toChatCompletion(toParts(...parts), head, { ...plain, ...options })

async function stream(
  parts: GeneratePart[],
  choices: number,
  options: Partial<ReplyOptions> = {},
): Promise<ChatChunk[]> {
  const chunks: ChatChunk[] = []
  for await (const chunk of toChatChunks(toParts(...parts), head, choices, { ...plain, ...options })) chunks.push(chunk)
  return chunks
}

/** Two choices that come interleaved, the second one done first. */
const two = [
  prompt,
  delta(1, 'y', token(20)),
  delta(0, 'x', token(10)),
  delta(1, 'es', token(21), token(22)),
  finish(1, 'stop', 22),
  delta(0, '', token(11)),
  delta(0, 'z'),
  finish(0, 'length', null),
]

describe('one completion of all parts', () => {
  test('has every choice in order, and counts every token once', async () => {
    const completion = await fold(two)
    expect(
      completion.choices.map(({ index, message, finish_reason, stop_reason }) => [
        index,
        message.content,
        finish_reason,
        stop_reason,
      ]),
    ).toEqual([
      [0, 'xz', 'length', null],
      [1, 'yes', 'stop', 22],
    ])
    expect(completion.usage).toEqual({
      prompt_tokens: 3,
      completion_tokens: 5,
      total_tokens: 8,
      prompt_tokens_details: null,
    })
    expect(completion).toMatchObject({ ...head, object: 'chat.completion', prompt_token_ids: null })
    expect(completion.choices[0]).toMatchObject({ logprobs: null, token_ids: null })
  })

  test('shows log-probabilities and ids of all tokens when asked to', async () => {
    const completion = await fold(two, { logprobs: true, tokenIds: true, promptTokenIds: true })
    expect(completion.prompt_token_ids).toEqual([1, 2, 3])
    expect(completion.choices.map(({ token_ids }) => token_ids)).toEqual([
      [10, 11],
      [20, 21, 22],
    ])
    expect(completion.choices[0]!.logprobs!.content).toEqual([
      { token: 't10', bytes: [10], logprob: -0.5, top_logprobs: [{ token: 't10', bytes: [10], logprob: -0.5 }] },
      { token: 't11', bytes: [11], logprob: -0.5, top_logprobs: [{ token: 't11', bytes: [11], logprob: -0.5 }] },
    ])
  })

  test('has an empty text where nothing was generated', async () => {
    const completion = await fold([prompt, finish(0, 'length', null)], { logprobs: true, tokenIds: true })
    expect(completion.choices[0]).toMatchObject({ message: { content: '' }, logprobs: { content: [] }, token_ids: [] })
  })

  test('shows an impossible token as -9999, which JSON can say', async () => {
    const completion = await fold(
      [prompt, delta(0, 'x', token(1, Number.NEGATIVE_INFINITY)), finish(0, 'stop', null)],
      {
        logprobs: true,
      },
    )
    const [entry] = completion.choices[0]!.logprobs!.content!
    expect([entry!.logprob, entry!.top_logprobs[0]!.logprob]).toEqual([-9999, -9999])
  })
})

describe('frames of a stream', () => {
  const toShort = (frames: ChatChunk[]) =>
    frames.map(
      ({ choices: [choice] }) =>
        choice && [choice.index, choice.delta.role ?? null, choice.delta.content, choice.finish_reason],
    )

  test('open with a role for each choice, then come as the parts do, each choice ended once', async () => {
    expect(toShort(await stream(two, 2))).toEqual([
      [0, 'assistant', '', null],
      [1, 'assistant', '', null],
      [1, null, 'y', null],
      [0, null, 'x', null],
      [1, null, 'es', null],
      [1, null, '', 'stop'],
      [0, null, 'z', null],
      [0, null, '', 'length'],
    ])
  })

  test('share their head, and say what stopped them', async () => {
    const frames = await stream(two, 2)
    for (const frame of frames) {
      expect(frame).toMatchObject({ ...head, object: 'chat.completion.chunk' })
      expect(frame).not.toHaveProperty('usage')
    }
    expect(frames[5]!.choices[0]!.stop_reason).toBe(22)
  })

  test('hold each token once, those without text too, when ids or log-probabilities are asked for', async () => {
    const frames = await stream(two, 2, { tokenIds: true, logprobs: true })
    const idsOf = (index: number) =>
      frames.flatMap(({ choices: [choice] }) => (choice!.index === index ? (choice!.token_ids ?? []) : []))
    expect([idsOf(0), idsOf(1)]).toEqual([
      [10, 11],
      [20, 21, 22],
    ])
    const tokens = frames.flatMap(({ choices: [choice] }) => choice!.logprobs?.content ?? [])
    expect(tokens.map(({ token }) => token)).toEqual(['t20', 't10', 't21', 't22', 't11'])
  })

  test('give the prompt’s ids in the first one only', async () => {
    const frames = await stream(two, 2, { promptTokenIds: true })
    expect(frames.map(frame => frame.prompt_token_ids)).toEqual([
      [1, 2, 3],
      ...Array(frames.length - 1).fill(undefined),
    ])
    expect((await stream(two, 2))[0]!.prompt_token_ids).toBeNull()
  })

  test('end with one of usage and no choice when asked for', async () => {
    const frames = await stream(two, 2, { usageFrame: true })
    expect(frames.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
    })
    expect(frames.slice(0, -1).every(frame => !('usage' in frame))).toBe(true)
  })

  test('carry the usage so far of their own choice when asked for in each', async () => {
    const frames = await stream(two, 2, { usageFrame: true, usageInEveryFrame: true })
    expect(frames.map(frame => frame.usage!.completion_tokens)).toEqual([0, 0, 1, 1, 3, 3, 2, 2, 5])
  })
})
