import { describe, expect, test } from 'vitest'
import type { ChatChunk } from '../../src/inference/chat-types.ts'
import { delta, finish, fold, head, MARKS, promptPart, stream, token } from './chat-wire.ts'

/** Two choices that come interleaved, the second one done first. */
const two = [
  promptPart(),
  delta(1, 'y', token(20)),
  delta(0, 'x', token(10)),
  delta(1, 'es', token(21), token(22)),
  finish(1, 'stop', 22),
  delta(0, '', token(11)),
  delta(0, 'z'),
  finish(0, 'length'),
]
const thinking = [
  promptPart(),
  delta(0, '<thi', token(1)),
  delta(0, 'nk>so', token(2)),
  delta(0, '</think>ye', token(3)),
  delta(0, 's</', token(4)),
  finish(0, 'stop'),
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
      prompt_tokens_details: { cached_tokens: 2 },
    })
    expect(completion).toMatchObject({ ...head, object: 'chat.completion', prompt_token_ids: null })
    expect(completion.choices[0]).toMatchObject({ logprobs: null, token_ids: null, message: { role: 'assistant' } })
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
    const completion = await fold([promptPart(), finish(0, 'length')], { logprobs: true, tokenIds: true })
    expect(completion.choices[0]).toMatchObject({ message: { content: '' }, logprobs: { content: [] }, token_ids: [] })
  })

  test('shows an impossible token as -9999, which JSON can say', async () => {
    const impossible = delta(0, 'x', token(1, Number.NEGATIVE_INFINITY))
    const entry = { id: 1, token: 'x', bytes: [1], logprob: Number.NEGATIVE_INFINITY, rank: 9 }
    const completion = await fold([promptPart([1, 1], [null, [entry]]), impossible, finish(0, 'stop')], {
      logprobs: true,
    })
    const [shown] = completion.choices[0]!.logprobs!.content!
    expect([shown!.logprob, shown!.top_logprobs[0]!.logprob]).toEqual([-9999, -9999])
    expect(completion.prompt_logprobs![1]![1]!.logprob).toBe(-9999)
  })

  test('tells a repetition', async () => {
    expect((await fold([promptPart(), finish(0, 'repetition')])).choices[0]!.finish_reason).toBe('repetition')
  })

  test('holds reasoning apart, where the model has marks for it', async () => {
    const { message } = (await fold(thinking, { reasoning: MARKS })).choices[0]!
    expect(message).toMatchObject({ reasoning: 'so', content: 'yes</' })
    expect((await fold(thinking)).choices[0]!.message).toMatchObject({ reasoning: null })
    const open = (await fold([promptPart([1, 50]), ...thinking.slice(2)], { reasoning: MARKS })).choices[0]!
    expect(open.message.reasoning).toBe('nk>so')
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

  test('say the echoed text of each choice after all roles', async () => {
    expect(toShort(await stream(two, 2, { echo: 'I', role: 'critic' })).slice(0, 5)).toEqual([
      [0, 'critic', '', null],
      [1, 'critic', '', null],
      [0, null, 'I', null],
      [1, null, 'I', null],
      [1, null, 'y', null],
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
    for (const options of [{ tokenIds: true, logprobs: true }, { tokenIds: true }]) {
      const frames = await stream(two, 2, options)
      const idsOf = (index: number) =>
        frames.flatMap(({ choices: [choice] }) => (choice!.index === index ? (choice!.token_ids ?? []) : []))
      expect([idsOf(0), idsOf(1)]).toEqual([
        [10, 11],
        [20, 21, 22],
      ])
    }
    const tokens = (await stream(two, 2, { logprobs: true })).flatMap(
      ({ choices: [choice] }) => choice!.logprobs?.content ?? [],
    )
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

  test('hold reasoning apart, and give the last of the text with the reason of the end', async () => {
    const frames = await stream(thinking, 1, { reasoning: MARKS })
    expect(frames.map(({ choices: [choice] }) => choice!.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning: 'so' },
      { content: 'ye' },
      { content: 's</' },
      { content: '' },
    ])
    const hidden = await stream(thinking, 1, { reasoning: MARKS, showReasoning: false })
    expect(hidden.map(({ choices: [choice] }) => choice!.delta.content)).toEqual(['', 'ye', 's</', ''])
    const cut = await stream([promptPart([50]), delta(0, 'so</th'), finish(0, 'length')], 1, { reasoning: MARKS })
    expect(cut.at(-1)!.choices[0]).toMatchObject({ delta: { reasoning: '</th' }, finish_reason: 'length' })
  })

  test('end with one of usage and no choice when asked for', async () => {
    const frames = await stream(two, 2, { usageFrame: true })
    expect(frames.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, prompt_tokens_details: { cached_tokens: 2 } },
    })
    expect(frames.slice(0, -1).every(frame => !('usage' in frame))).toBe(true)
  })

  test('carry the usage so far of their own choice when asked for in each', async () => {
    const frames = await stream(two, 2, { usageFrame: true, usageInEveryFrame: true })
    expect(frames.map(frame => frame.usage!.completion_tokens)).toEqual([0, 0, 1, 1, 3, 3, 2, 2, 5])
  })
})
